//! Helpers that the tests of the suites share.
#![forbid(unsafe_code)]

use raddle::{Explorer, Failure, Report, Strategy};
use raddle_report::failure::{Frame, Trace};
pub use strategies::{Entry, Finds, Scope, basic, complete, entry, list, portfolios, sampling, searching};

/// The failure of an exploration that must fail.
///
/// # Panics
/// If the exploration passes.
#[track_caller]
pub fn fails<T: Ord + Clone>(explorer: Explorer, body: impl Fn() -> T) -> Box<Failure> {
    match explorer.try_run(body) {
        Ok(report) => panic!("no failure in {} executions", report.executions),
        Err(failure) => failure,
    }
}

/// Checks that a program passes under each of the strategies, with the options of the explorer, and returns the reports.
///
/// # Panics
/// If an execution fails, or none is made.
#[track_caller]
pub fn passes<T: Ord + Clone>(
    explorer: &Explorer,
    strategies: &[Strategy],
    body: impl Fn() -> T,
) -> Vec<Report<T>> {
    let explore = |strategy: &Strategy| {
        let report = explorer.clone().strategy(strategy.clone()).run(&body);
        assert!(report.executions > 0 && report.events > 0, "{strategy}: nothing was explored");
        report
    };
    strategies.iter().map(explore).collect()
}

/// Checks that two failures are of the same execution, event for event, each event at the same position in the code.
///
/// # Panics
/// If the failures differ.
#[track_caller]
pub fn assert_same(label: &str, found: &Failure, again: &Failure) {
    assert_eq!(again.kind, found.kind, "{label}");
    assert_eq!(again.message, found.message, "{label}");
    assert_eq!(again.schedule, found.schedule, "{label}");
    assert_eq!(again.threads, found.threads, "{label}");
    assert_eq!(again.trace.events.len(), found.trace.events.len(), "{label}: number of events");
    for (index, (new, old)) in again.trace.events.iter().zip(&found.trace.events).enumerate() {
        assert_eq!(new, old, "{label}: event {index}");
        assert_eq!(
            stack(&again.trace, new.at),
            stack(&found.trace, old.at),
            "{label}: stack of event {index}"
        );
    }
}

/// The frames of a stack, innermost first.
fn stack(trace: &Trace, mut at: Option<u32>) -> Vec<&Frame> {
    let mut frames = Vec::new();
    while let Some(id) = at {
        let node = trace.stacks[id as usize];
        frames.push(&trace.frames[node.frame as usize]);
        at = node.caller;
    }
    frames
}
