//! Explorations of a closure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_engine::coverage;
use raddle_engine::exploration::Found;
use raddle_engine::{Config, EndedExecution, Judge, Outcome, SearchReport};
use raddle_reflect::Program;
use raddle_report::{Failure, Kind};

use crate::build;
use crate::expected;
use crate::explain::{self, explain};
use crate::explored;
use crate::options::{Isolation, Options, Strategy};
use crate::output::{check_threads, print_suppressed, say, tell_passed, warn_of_limits};
use crate::replay;
use crate::search::attempt::{Attempt, Searched, Workload, gives_up, may_give_up};
use crate::search::config::{config, override_by_environment, strategy};
use crate::search::coverage::send_coverage;
use crate::search::exploration::Exploration;
use crate::search::portfolio::{self, Explored};
use crate::search::promise::Promise;
use crate::search::reach::Reach;
use crate::search::resume::Saved;
use crate::search::summary::{SearchSummary, in_a_line};
use crate::suppress::Suppressed;
use crate::suppressions::{Suppressions, suppress};

/// The result of exploring a closure that did not fail.
pub(crate) struct Passed {
    pub(crate) report: SearchReport,
    pub(crate) seed: u64,
    /// The searches of strategy `auto`.
    pub(crate) searches: Vec<SearchSummary>,
    pub(crate) reach: Reach,
    pub(crate) left_out: Vec<&'static str>,
    pub(crate) suppressed: Vec<Suppressed>,
}

/// What a kind of test adds to the exploration of a closure.
pub(crate) trait Client {
    /// The constructor of the engine's strategy.
    fn strategy(&self, options: &Options) -> Box<dyn FnOnce() -> Box<dyn raddle_engine::Strategy> + '_> {
        Box::new(strategy(options))
    }

    /// Makes an execution that fails simpler, if the test knows how. The mistake of the test that it is, if it is one.
    fn simplify(
        &self,
        _: &Options,
        _: &mut Attempt<'_>,
        found: Found,
        _: &mut Workload<'_>,
    ) -> Result<Found, String> {
        Ok(found)
    }

    /// Adds what the test knows and the engine does not.
    fn decorate(&self, _: &mut Failure) {}
}

/// A test that adds nothing.
pub(crate) struct Plain;

impl Client for Plain {}

/// Explores a closure, which returns nothing or a value that is compared. The caller's frame pointer separates what the closure may
/// borrow from what the exploration keeps.
pub(crate) fn explore(
    mut options: Options,
    at: &'static std::panic::Location<'static>,
    frame_pointer: usize,
    returns_nothing: bool,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    client: &dyn Client,
) -> Result<Passed, Box<Failure>> {
    raddle_intercept::link();
    override_by_environment(&mut options);
    // Values that a child process returns stay there.
    assert!(
        returns_nothing || options.isolation != Isolation::Fork,
        "raddle: isolation `fork` cannot bring outcomes back from its processes; let the closure return nothing"
    );
    let exploration = Exploration::begin(at, Some(frame_pointer));
    warn_of_limits(explored::is_instrumented(&options), exploration.owned);
    if let Some(file) = replay::requested()
        && file.failure.found_by.exploration == exploration.number
    {
        let config = config(&options, &exploration);
        let decorate = |failure: &mut Failure| client.decorate(failure);
        replay::replay(file, &config, &options.suppressed, at, run, judge, &decorate);
    }
    if options.resume && options.strategy != Strategy::Exhaustive {
        say("raddle: only an exhaustive search can be resumed; ask for one with `--strategy exhaustive`");
    }
    let mut suppressed = options.suppressed.clone();
    coverage::begin();
    let explored = portfolio::explore(&options, None, |options| {
        search(options, &exploration, run, judge, &mut suppressed, client)
    });
    let Explored { mut searches, report, failure, quiet } = explored;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let reach = Reach::current();
    check_threads(&options, reach);
    expected::check(report.executions);
    send_coverage(at, &report);
    let left_out = left_out(&report, &suppressed);
    let ended = match quiet {
        Some(quiet) => format!("; nothing new for the last {:.1} s", quiet.as_secs_f64()),
        None => String::new(),
    };
    tell_passed(&format!("{}, {reach}{ended}", executions(&report, &searches)));
    match options.strategy {
        Strategy::Auto => {
            let not_tried = match left_out.is_empty() {
                true => String::new(),
                false => format!("; not tried: {}", left_out.join(", ")),
            };
            let made = made(&report, &searches);
            let (how, seed) = (in_a_line(&searches), options.seed);
            println!("raddle: {made}{not_tried}; {reach}{ended}; searched by {how}; seed {seed}");
        }
        _ => searches.clear(),
    }
    print_suppressed(&suppressed);
    Ok(Passed { report, seed: options.seed, searches, reach, left_out, suppressed })
}

/// Whether every execution was made, in words.
fn made(report: &SearchReport, searches: &[SearchSummary]) -> String {
    match report.complete {
        true => format!("every execution was made: {}", executions(report, searches)),
        false => format!("not every execution was made, but {}", report.executions),
    }
}

/// The executions that a search without failure made, in words.
fn executions(report: &SearchReport, searches: &[SearchSummary]) -> String {
    let all = searches.iter().find(|search| search.is_exhaustive() && search.preemptions.is_none());
    match all.filter(|_| report.complete) {
        Some(all) if all.executions == 1 => format!("its only execution ({})", all.memory),
        Some(all) => format!("all {} executions ({})", all.executions, all.memory),
        None => format!("{} executions", report.executions),
    }
}

/// The behaviours that were not tried.
fn left_out(report: &SearchReport, suppressed: &[Suppressed]) -> Vec<&'static str> {
    let ended = suppressed.iter().any(|suppressed| suppressed.kind != Kind::DataRace && suppressed.count > 0);
    let ended = ended.then_some("what executions do after failures that are suppressed");
    report.left_out.iter().map(|reason| reason.text()).chain(ended).collect()
}

/// Makes one search, and a report of the failure that it finds.
fn search(
    options: &Options,
    exploration: &Exploration,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    suppressed: &mut [Suppressed],
    client: &dyn Client,
) -> Searched<Box<Failure>> {
    let config = config(options, exploration);
    let config = Config {
        // Without races, equal orders of events are equal executions. Suppressed failures are counted where they are made.
        recognises: options.recognise && config.races && options.suppressed.is_empty(),
        ..config
    };
    let mut saved = Saved::of(options, exploration);
    let promise = Promise::to_search(&config);
    let mut attempt = Attempt::new(options, &config, client.strategy(options));
    // The counts change during the search, so they must be the engine's memory: the rest is rolled back.
    let suppressions = Suppressions::new(&options.suppressed);
    attempt.search.suppress(|| suppress(&options.suppressed, Some(suppressions.counts.clone())));
    let mut judge = |ended: &EndedExecution<'_>| match judge(ended) {
        outcome if suppressions.cover(&outcome, ended) => Outcome::Passed,
        outcome => outcome,
    };
    let mut work = Workload { run, judge: &mut judge, kind: &explain::kind };
    if let Some(saved) = &mut saved {
        saved.restore(&mut attempt.search);
    }
    let mut report = attempt.run(&mut work);
    if let Some(saved) = &saved {
        saved.end(&attempt.search, &mut report);
    }
    for (suppressed, count) in suppressed.iter_mut().zip(&*suppressions.counts) {
        suppressed.count += count.get();
    }
    // A suppressed failure ended its execution: the rest of that execution was not tried.
    report.complete &= !suppressions.have_ended_executions();
    if gives_up(options, &report) {
        return Searched::new(options, report, true, None);
    }
    let Some(found) = report.failure.take() else { return Searched::new(options, report, false, None) };
    promise.extend();
    let found = match client.simplify(options, &mut attempt, found, &mut work) {
        Ok(found) => found,
        Err(mistake) => {
            drop(attempt);
            panic!("{mistake}");
        }
    };
    let kind = explain::kind(&found.outcome);
    let replay = attempt.record(kind, &found, &mut work);
    if !replay.reproduces {
        if may_give_up(options) {
            return Searched::new(options, report, true, None);
        }
        attempt.diverge(kind, &found, &replay, &mut work);
    }
    drop(attempt);
    let test = build::test_name(exploration.at);
    let program = Program::current().ok();
    let mut failure = explain(&replay.found, &replay.trace, replay.snapshots, program.as_ref(), test);
    failure.found_by = exploration.found_by(options, found.execution);
    client.decorate(&mut failure);
    failure.file = failure.write_new(&build::failures_directory()).ok();
    Searched::new(options, report, false, Some(Box::new(failure)))
}

/// Calls a function. None if it panics.
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Option<T> {
    // Not inlined: whether a panic is caught by the body is told from the frames that catch (raddle-intercept, endings.rs), so handlers of the
    // body must not be in the same frame as the one here.
    #[inline(never)]
    fn apart<T>(body: impl FnOnce() -> T) -> T {
        let result = body();
        // The last call of the body is no jump: then it would be missing in stacks.
        std::hint::black_box(());
        result
    }
    catch_unwind(AssertUnwindSafe(|| apart(body))).ok()
}

#[cfg(test)]
mod tests {
    use raddle_options::Values;

    use super::*;

    #[test]
    fn a_pass_says_whether_every_execution_was_made() {
        let options = Options::from(Values { strategy: Strategy::Exhaustive, ..Values::default() });
        let said = |complete| {
            let report = SearchReport { executions: 7, complete, ..SearchReport::default() };
            made(&report, &[SearchSummary::of(&options, &report, false)])
        };
        assert_eq!(said(true), "every execution was made: all 7 executions (rc11)");
        assert_eq!(said(false), "not every execution was made, but 7");
    }
}
