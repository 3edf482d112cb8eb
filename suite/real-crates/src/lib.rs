//! What the tests of this package share: how a correct use is explored, and how a failure is shown to be repeatable.

use std::time::Duration;

use raddle::{Explorer, Failure, Strategy};
use raddle_report::failure::{Frame, Trace};

/// The strategies that every crate is run under.
pub fn strategies() -> [Strategy; 4] {
    [Strategy::Random, Strategy::Pct(3), Strategy::Pos, Strategy::Bounded(2)]
}

/// Explores a correct use under every strategy, and as people get it who choose none, which takes in exhaustive search, weak
/// memory and reuse of memory: no execution may fail.
#[track_caller]
pub fn passes(executions: u64, body: impl Fn()) {
    for strategy in strategies().into_iter().chain([Strategy::Auto]) {
        let label = strategy.to_string();
        let explorer = Explorer::new().strategy(strategy.clone()).executions(executions);
        // An exhaustive search may look for executions for long.
        let report = match strategy {
            Strategy::Auto => explorer.budget(Duration::from_secs(5)).run(&body),
            _ => explorer.run(&body),
        };
        // Some searches may come to their end, or to that of their time; the others make as many executions as asked for.
        assert!(
            report.executions == executions
                || matches!(strategy, Strategy::Auto | Strategy::Bounded(_))
                || report.complete,
            "{label}: {} executions",
            report.executions
        );
        assert!(report.executions > 0 && report.events > 0, "{label}: nothing was explored");
    }
}

/// Finds a failure that is made on purpose, under every strategy, and makes it again by its schedule: it must come out the
/// same to the event, as often as one likes.
#[track_caller]
pub fn repeats(executions: u64, body: impl Fn()) {
    for strategy in strategies() {
        let label = strategy.to_string();
        let found = fails(Explorer::new().strategy(strategy).executions(executions), &body);
        assert!(!found.trace.events.is_empty(), "{label}: no trace");
        for _ in 0..4 {
            let schedule = Strategy::Schedule(found.schedule.0.clone());
            let again = fails(Explorer::new().strategy(schedule).executions(1), &body);
            assert_same(&label, &found, &again);
        }
    }
}

/// The failure of an exploration that must fail.
#[track_caller]
pub fn fails(explorer: Explorer, body: impl Fn()) -> Box<Failure> {
    match explorer.try_run(body) {
        Ok(report) => panic!("no failure in {} executions", report.executions),
        Err(failure) => failure,
    }
}

/// Checks that two failures are the same execution: to the event, and each event at the same place in the code.
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
