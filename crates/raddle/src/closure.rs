//! Explorations of a closure.

use raddle_engine::{EndedExecution, Judge, Outcome, SearchReport};
use raddle_reflect::Program;
use raddle_report::{Failure, Kind};

use crate::build;
use crate::explain::{self, explain};
use crate::options::{Isolation, Options, Strategy};
use crate::output::{print_suppressed, say, warn_of_limits};
use crate::replay;
use crate::search::attempt::{Attempt, Searched, Workload, gives_up, may_give_up};
use crate::search::config::{config, override_by_environment, strategy};
use crate::search::exploration::Exploration;
use crate::search::portfolio::{self, Explored};
use crate::search::promise::Promise;
use crate::search::resume::Saved;
use crate::search::summary::{SearchSummary, in_a_line};
use crate::suppress::{Suppressed, Suppressions, suppress};

/// The result of exploring a closure that did not fail.
pub(crate) struct Passed {
    pub(crate) report: SearchReport,
    pub(crate) seed: u64,
    /// The searches of strategy `auto`.
    pub(crate) searches: Vec<SearchSummary>,
    pub(crate) left_out: Vec<&'static str>,
    pub(crate) suppressed: Vec<Suppressed>,
}

/// Explores a closure, which returns nothing or a value that is compared. The caller's frame pointer separates what the closure may
/// borrow from what the exploration keeps.
pub(crate) fn explore(
    mut options: Options,
    at: &'static std::panic::Location<'static>,
    frame_pointer: usize,
    returns_nothing: bool,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
) -> Result<Passed, Box<Failure>> {
    raddle_intercept::link();
    override_by_environment(&mut options);
    // Values that a child process returns stay there.
    assert!(
        returns_nothing || options.isolation != Isolation::Fork,
        "raddle: isolation `fork` cannot bring outcomes back from its processes; let the closure return nothing"
    );
    let exploration = Exploration::begin(at, Some(frame_pointer));
    warn_of_limits(exploration.owned);
    if let Some(file) = replay::requested()
        && file.failure.found_by.exploration == exploration.number
    {
        let config = config(&options, &exploration);
        replay::replay(file, &config, &options.suppressed, at, run, judge, &|_| ());
    }
    if options.resume && options.strategy != Strategy::Exhaustive {
        say("raddle: only an exhaustive search can be resumed; ask for one with `--strategy exhaustive`");
    }
    let mut suppressed = options.suppressed.clone();
    let explored = portfolio::explore(&options, None, |options| {
        search(options, &exploration, run, judge, &mut suppressed)
    });
    let Explored { mut searches, report, failure } = explored;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let left_out = left_out(&report, &suppressed);
    match options.strategy {
        Strategy::Auto => {
            let not_tried = match left_out.is_empty() {
                true => String::new(),
                false => format!("; not tried: {}", left_out.join(", ")),
            };
            println!("raddle: {}{not_tried}; seed {}", in_a_line(&searches), options.seed);
        }
        _ => searches.clear(),
    }
    print_suppressed(&suppressed);
    Ok(Passed { report, seed: options.seed, searches, left_out, suppressed })
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
) -> Searched<Box<Failure>> {
    let config = config(options, exploration);
    let mut saved = Saved::of(options, exploration);
    let promise = Promise::to_search(&config);
    let mut attempt = Attempt::new(options, &config, strategy(options));
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
    let mut failure = explain(&replay.found, &replay.trace, Program::current().ok().as_ref(), test);
    failure.found_by = exploration.found_by(options, found.execution);
    failure.file = failure.write_new(&build::failures_directory()).ok();
    Searched::new(options, report, false, Some(Box::new(failure)))
}
