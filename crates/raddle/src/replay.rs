//! Replays of failure files, and what is said when an execution cannot be repeated.

use std::panic::Location;
use std::path::PathBuf;
use std::sync::OnceLock;

use raddle_engine::execution::Backend;
use raddle_engine::exploration::Found;
use raddle_engine::strategy::Scripted;
use raddle_engine::trace::{Event, Trace};
use raddle_engine::{Config, Judge, Outcome, Schedule, Search};
use raddle_options::{list, paths};
use raddle_reflect::Program;
use raddle_report::{Failure, Kind, render};

use crate::build;
use crate::explain::explain;
use crate::explorer::{TRACE_LIMIT, classifier, namer, style};
use crate::options::{Allocation, Also, Memory, is_on};
use crate::suppress::{Suppressed, suppress};

/// Exit codes of a replay, as `cargo raddle replay` documents them.
const PASSED: i32 = 0;
const REPRODUCED: i32 = 1;
const REFUSED: i32 = 2;
const DIVERGED: i32 = 3;

/// A failure that is to be replayed.
pub(crate) struct Request {
    pub(crate) path: PathBuf,
    pub(crate) failure: Failure,
    force: bool,
}

impl Request {
    /// The memory model under which the failure was found.
    pub(crate) fn memory(&self) -> Memory {
        self.parse(self.failure.found_by.memory.as_deref(), Memory::Sc, "a memory model")
    }

    /// What happened to freed memory when the failure was found.
    pub(crate) fn allocation(&self) -> Allocation {
        self.parse(
            self.failure.found_by.allocation.as_deref(),
            Allocation::Quarantine,
            "a way to allocate memory",
        )
    }

    /// What else could happen when the failure was found.
    pub(crate) fn also(&self) -> Vec<Also> {
        self.failure.found_by.also.as_deref().and_then(|also| list(also).ok()).unwrap_or_default()
    }

    /// The code that was known to count references.
    pub(crate) fn reference_counts(&self) -> Vec<String> {
        self.failure.found_by.reference_counts.iter().flat_map(|counts| paths(counts)).collect()
    }

    fn parse<T: std::str::FromStr>(&self, text: Option<&str>, default: T, what: &str) -> T {
        match text.map_or(Ok(default), str::parse) {
            Ok(value) => value,
            Err(_) => end(
                REFUSED,
                &format!("error: {} names {what} that this Raddle does not have", self.path.display()),
            ),
        }
    }
}

/// What `RADDLE_REPLAY` asks for. A file that cannot be used ends the process with one sentence.
pub(crate) fn requested() -> Option<&'static Request> {
    static REQUEST: OnceLock<Option<Request>> = OnceLock::new();
    let request = REQUEST.get_or_init(|| {
        let path = PathBuf::from(std::env::var_os("RADDLE_REPLAY")?);
        let failure = Failure::read(&path).unwrap_or_else(|error| end(REFUSED, &format!("error: {error}")));
        Some(Request { path, failure, force: is_on("RADDLE_FORCE") })
    });
    request.as_ref()
}

/// Replays a failure, says how it went, and ends the process.
pub(crate) fn replay(
    request: &Request,
    config: &Config,
    suppressed: &[Suppressed],
    at: &Location<'_>,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
) -> ! {
    replay_with(request, config, suppressed, at, run, judge, &|_| ())
}

/// [`replay`], for those who know more about the failure than the engine.
pub(crate) fn replay_with(
    request: &Request,
    config: &Config,
    suppressed: &[Suppressed],
    at: &Location<'_>,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    decorate: &dyn Fn(&mut Failure),
) -> ! {
    let recorded = &request.failure;
    let program = Program::current().ok();
    let own = build::identity(program.as_ref());
    if own.id != recorded.build.id && !request.force {
        end(
            REFUSED,
            &format!(
                "error: {} was written by another build of {} (its code has changed since): run the test again, or \
                 replay it all the same with --force",
                request.path.display(),
                own.binary
            ),
        );
    }
    let schedule = Schedule {
        threads: recorded.schedule.0.clone(),
        mo_offsets: recorded.look_back.0.clone(),
        counts: recorded.counts.0.clone(),
        fair_since: recorded.fair_since,
        random: recorded.random,
    };
    let mut search = Search::new(config, || Box::new(Scripted::new(Schedule::default())), classifier(config));
    search.suppress(|| suppress(suppressed, None));
    // How it ends decides what is recorded; under a debugger it is made only once.
    let trace = match config.backend {
        Backend::Coroutines => {
            let found = search.rerun(&schedule, run, judge);
            Trace::new(TRACE_LIMIT, found.steps).watching(&found.outcome)
        }
        Backend::OsThreads => Trace::new(TRACE_LIMIT, 0),
    };
    let limit_time = recorded.kind == Kind::TimeLimit;
    let (found, trace) = search.replay(&schedule, run, judge, trace, namer(), limit_time);
    drop(search);
    match found.outcome {
        Outcome::Passed => {
            end(PASSED, "the replay passed: this build does not fail under the recorded schedule")
        }
        Outcome::Diverged { choice } => end(DIVERGED, &diverged(recorded, choice, &trace)),
        _ => {}
    }
    let mut failure = explain(&found, &trace, program.as_ref(), build::test_name(at));
    decorate(&mut failure);
    failure.found_by = recorded.found_by.clone();
    failure.file = Some(request.path.clone());
    let inexact = matches!(failure.kind, Kind::TimeLimit | Kind::StackOverflow | Kind::Livelock);
    let as_long = failure.trace.events.len() == recorded.trace.events.len();
    let same = failure.kind == recorded.kind && (as_long || inexact);
    let text = render(&failure, style(), Some(&request.path));
    match same {
        true => end(REPRODUCED, &text),
        false => {
            let choice =
                failure.schedule.0.iter().zip(&recorded.schedule.0).take_while(|(a, b)| a == b).count();
            end(DIVERGED, &format!("{text}\n{}", diverged(recorded, choice, &trace)))
        }
    }
}

/// What to say when an execution that has just failed ends differently when it is made again.
pub(crate) fn explain_divergence(
    found: &Found,
    second: &Found,
    second_trace: &Trace,
    third: &Found,
    third_trace: &Trace,
) -> String {
    let parted = second_trace.events.iter().zip(&third_trace.events).position(|(a, b)| a != b);
    let streams = match parted {
        Some(at) => format!(
            "two replays part at event {at}:\n{}\n  --- and ---\n{}",
            around(&second_trace.events, at),
            around(&third_trace.events, at)
        ),
        None => format!("the last events of the replay:\n{}", around(&second_trace.events, usize::MAX)),
    };
    format!(
        "raddle: this test is not deterministic, so nothing can be said about it: execution {} ended with {:?} after {} \
         events, and with {:?} after {} and {:?} after {} when it was repeated under the same schedule. \
         Something it depends on is neither rolled back nor controlled: files, the network, the environment, another OS \
         thread, or uninitialised memory. Try isolation `fork`.\n{streams}",
        found.execution + 1,
        found.outcome,
        found.steps,
        second.outcome,
        second.steps,
        third.outcome,
        third.steps,
    )
}

fn diverged(recorded: &Failure, choice: usize, trace: &Trace) -> String {
    let kept = &recorded.trace.events;
    let parted = kept
        .iter()
        .zip(&trace.events)
        .position(|(old, new)| old.thread != u32::from(new.thread))
        .unwrap_or(kept.len().min(trace.events.len()));
    let from = parted.saturating_sub(3);
    let old: Vec<String> =
        kept[from..].iter().take(6).map(|event| format!("  T{} {:?}", event.thread, event.action)).collect();
    format!(
        "error: the replay parted from the recorded execution (at choice {choice}, event {parted}): the program behaves \
         differently now, or is not deterministic.\nrecorded:\n{}\nnow:\n{}",
        old.join("\n"),
        around(&trace.events, parted)
    )
}

fn around(events: &[Event], at: usize) -> String {
    let at = at.min(events.len());
    let shown = &events[at.saturating_sub(3)..(at + 3).min(events.len())];
    shown.iter().map(|event| format!("  T{} {:?}", event.thread, event.action)).collect::<Vec<_>>().join("\n")
}

fn end(code: i32, text: &str) -> ! {
    eprintln!("{text}");
    std::process::exit(code)
}
