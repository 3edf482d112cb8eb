//! Other executions beside a failing one: the point of no return, and the nearest execution that passes.
//!
//! From the last choice of the failing schedule backwards, executions are made that take another choice there and go on: all of them, if
//! they are not too many, and otherwise some, first with each thread running as long as it can, then at random. The first one that passes
//! has the longest prefix in common with the failing one, as far as was tried. Failures of exhaustive searches are continued along
//! execution graphs. Whether a prefix can still pass is not monotone, so that no prefix is left out.

use std::collections::{BTreeMap, VecDeque};
use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use raddle_engine::exploration::{ContinuationLimits, Found};
use raddle_engine::strategy::Scripted;
use raddle_engine::trace::{self, Trace};
use raddle_engine::{Config, Judge, Outcome, Schedule, Search};
use raddle_reflect::Program;
use raddle_report::Failure;
use raddle_report::failure::{self, Action, Event, NearestPass, PointOfNoReturn, Value};

use crate::explain::{self, explain};
use crate::replay::{DIVERGED, PASSED, REFUSED, Request, end};
use crate::search::attempt::{TRACE_LIMIT, record};
use crate::search::classifier::classifier;
use crate::search::reproduce;
use crate::search::snapshots::Snapshots;
use crate::suppress::Suppressed;
use crate::suppressions::suppress;

/// The number of executions with the same prefix, if they are not all: those that are enumerated, and those that go on at random.
const ENUMERATED: u64 = 200;
const SAMPLED: u64 = 24;
/// The longest time for all of them.
const MAX_TIME: Duration = Duration::from_secs(20);

/// The result of trying other executions.
enum Tried {
    /// This execution passes, and has this many choices in common with the failing one.
    Passes(Box<Found>, usize),
    /// No execution passes, whatever its prefix.
    AllFail,
    /// The limits ended the search.
    GivenUp,
}

/// The result of leaving the failing execution at its choices.
struct Prefixes {
    tried: Tried,
    /// The number of executions that were made.
    executions: u64,
    /// Whether these are all that have more choices in common with the failing one than the one that passes.
    all: bool,
}

/// Looks for executions that pass, adds them to the failure file, and ends the process.
pub(crate) fn find(
    request: &Request,
    config: &Config,
    suppressed: &[Suppressed],
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    decorate: &dyn Fn(&mut Failure),
) -> ! {
    let recorded = &request.failure;
    let path = request.path.display();
    let schedule = reproduce::schedule(recorded);
    let mut search = Search::new(config, || Box::new(Scripted::new(Schedule::default())), classifier(config));
    search.suppress(|| suppress(suppressed, None));
    let failing = search.rerun(&schedule, run, judge);
    if failing.outcome == Outcome::Passed || explain::kind(&failing.outcome).is_none() {
        end(
            DIVERGED,
            &format!(
                "error: {path} does not fail any more under its schedule: run the test again to get a new failure file"
            ),
        );
    }
    let Prefixes { tried, executions, all } = try_prefixes(&mut search, &failing, run, judge);
    let passing = match tried {
        Tried::GivenUp => end(
            REFUSED,
            &format!(
                "error: no execution that passes was found beside {path} ({executions} were tried, the limit): nothing was changed"
            ),
        ),
        Tried::AllFail => None,
        Tried::Passes(found, prefix) => {
            let found = search.as_interleaving(*found, prefix, run, judge);
            // The same events are recorded as of the failure.
            let trace = Trace::new(TRACE_LIMIT, found.steps).watching(&failing.outcome);
            let (again, mut trace, snapshots) =
                record(&mut search, &found.schedule, run, judge, trace, false);
            // Which plain writes are recorded may differ between executions.
            trace.events.retain(|event| !matches!(event.action, trace::Action::Write { .. }));
            if again.outcome != Outcome::Passed {
                end(
                    DIVERGED,
                    &format!(
                        "error: an execution beside {path} passed once and failed when it was repeated: the test is not deterministic"
                    ),
                );
            }
            Some((again, trace, snapshots.names))
        }
    };
    drop(search);
    let mut failure = recorded.clone();
    failure.nearest_pass =
        passing.map(|(found, trace, names)| Box::new(nearest_pass(recorded, found, &trace, names, decorate)));
    let common = failure.nearest_pass.as_ref().map_or(0, |pass| pass.common);
    failure.point_of_no_return = ((common as usize) < recorded.trace.events.len())
        .then_some(PointOfNoReturn { event: common, executions, exhaustive: all });
    match failure.rewrite(&request.path) {
        Ok(()) => end(PASSED, &format!("{executions} other executions were tried")),
        Err(error) => end(REFUSED, &format!("error: cannot write {path}: {error}")),
    }
}

/// Leaves the failing execution at each choice, from the last one on backwards, until an execution passes.
fn try_prefixes(
    search: &mut Search<'_>,
    failing: &Found,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
) -> Prefixes {
    let deadline = Instant::now() + MAX_TIME;
    let limits = ContinuationLimits { executions: ENUMERATED, samples: SAMPLED, deadline };
    let mut continuations = search.continuations(failing);
    let (mut executions, mut all) = (0, true);
    for prefix in (0..continuations.len()).rev() {
        if Instant::now() > deadline {
            return Prefixes { tried: Tried::GivenUp, executions, all: false };
        }
        let continued = search.continue_after(&mut continuations, prefix, limits, run, judge);
        executions += continued.executions;
        if let Some(found) = continued.passes {
            return Prefixes { tried: Tried::Passes(Box::new(found), prefix), executions, all };
        }
        all &= continued.all;
    }
    Prefixes { tried: Tried::AllFail, executions, all }
}

/// The passing execution, compared with the failing one.
fn nearest_pass(
    recorded: &Failure,
    found: Found,
    trace: &Trace,
    names: BTreeMap<usize, String>,
    decorate: &dyn Fn(&mut Failure),
) -> NearestPass {
    // The translation is that of failures; the class is not looked at.
    let explained = Found { outcome: Outcome::Deadlock, ..found.clone() };
    // Objects have other numbers in other executions, so the passing one is shown without.
    let snapshots = Snapshots { names, ..Snapshots::default() };
    let program = Program::current().ok();
    let mut passing = explain(&explained, trace, snapshots, program.as_ref(), recorded.test.clone());
    decorate(&mut passing);
    let (fails, passes) = (&recorded.trace.events, &passing.trace.events);
    let newest = |choices: &[u16]| choices.iter().all(|&choice| choice == 0);
    let are_interleavings = newest(&recorded.look_back.0) && newest(&found.schedule.mo_offsets);
    let (common, common_of_pass) = match are_interleavings {
        true => common_in_time(fails, passes),
        false => common_by_thread(fails, passes),
    };
    let thread =
        |events: &[Event], at: usize| events.get(at).or(events.last()).map_or(0, |event| event.thread);
    NearestPass {
        common: common as u32,
        common_of_pass: common_of_pass as u32,
        failing_thread: thread(fails, common),
        passing_thread: thread(passes, common_of_pass),
        schedule: failure::Schedule(found.schedule.threads),
        look_back: failure::Schedule(found.schedule.mo_offsets),
        scenario: passing.scenario,
        trace: passing.trace,
    }
}

/// The number of events that two interleavings begin with, plain writes of the first one included.
fn common_in_time(fails: &[Event], passes: &[Event]) -> (usize, usize) {
    let compared: Vec<usize> = (0..fails.len()).filter(|&event| !fails[event].is_plain_write()).collect();
    let same =
        compared.iter().zip(passes).take_while(|(one, other)| essence(&fails[**one]) == essence(other));
    let common = same.count();
    (compared.get(common).copied().unwrap_or(fails.len()), common)
}

/// The same for executions whose events have no order in time: up to the first event that the other execution does not have at this
/// place of its thread.
fn common_by_thread(fails: &[Event], passes: &[Event]) -> (usize, usize) {
    let mut rest: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
    for (number, event) in passes.iter().enumerate() {
        rest.entry(event.thread).or_default().push_back(number);
    }
    let mut is_same = |event: &Event| {
        event.is_plain_write()
            || rest.get_mut(&event.thread).is_some_and(|rest| {
                rest.pop_front_if(|&mut number| essence(&passes[number]) == essence(event)).is_some()
            })
    };
    let common = fails.iter().position(|event| !is_same(event)).unwrap_or(fails.len());
    let common_of_pass = rest.values().filter_map(|rest| rest.front()).min();
    (common, common_of_pass.copied().unwrap_or(passes.len()))
}

/// The parts of an event that are equal in executions that are equal so far. Names come from the code that was run later, too.
fn essence(event: &Event) -> (u32, Discriminant<Action>, Option<u64>, Option<Value>, Option<Value>) {
    let read = match event.action {
        Action::Load { value, .. } => Some(value),
        Action::Rmw { read, .. } | Action::Cas { read, .. } => Some(read),
        _ => None,
    };
    let address = event.action.place().map(|place| place.address);
    (event.thread, discriminant(&event.action), address, read, event.action.written())
}
