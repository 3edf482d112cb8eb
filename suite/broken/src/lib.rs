//! Helpers of the tests of broken programs: every strategy that claims a bug must find it, as the right kind of failure, with
//! the information that a person needs to understand it.

use raddle::{Explorer, Failure, Kind, Strategy};
use raddle_report::failure::{Action, Event, ThreadEnd};
/// Strategies that must find obvious bugs, those of nearly every schedule.
pub use support::basic as all;
/// Strategies that must find every bug of this package.
pub use support::searching;

/// Executions in which a strategy must have found a bug.
pub const EXECUTIONS: u64 = 20_000;

/// Checks that each strategy finds a failure of this kind, and inspects the failure. The strategies take turns in one process,
/// which must survive every failure, even a crash.
#[track_caller]
pub fn finds(strategies: &[Strategy], kind: Kind, body: impl Fn(), look: impl Fn(&Failure)) {
    finds_with(&Explorer::new().executions(EXECUTIONS), strategies, kind, body, look);
}

/// [`finds`] with other options.
#[track_caller]
pub fn finds_with(
    explorer: &Explorer,
    strategies: &[Strategy],
    kind: Kind,
    body: impl Fn(),
    look: impl Fn(&Failure),
) {
    for strategy in strategies {
        match explorer.clone().strategy(strategy.clone()).try_run(&body) {
            Ok(report) => panic!("{strategy}: no failure in {} executions", report.executions),
            Err(failure) => {
                assert_eq!(failure.kind, kind, "{strategy}: {}", failure.message);
                assert_eq!(failure.found_by.strategy, strategy.to_string());
                assert!(!failure.message.is_empty(), "{strategy}: says nothing");
                check_trace(&failure);
                check_file(&failure);
                look(&failure);
            }
        }
    }
    // The process is still good for an exploration that passes.
    Explorer::new().executions(3).run(|| std::thread::spawn(|| ()).join().unwrap());
}

/// Checks that a program without bug passes under each strategy.
#[track_caller]
pub fn passes(body: impl Fn()) {
    passes_with(&Explorer::new().executions(300), body);
}

/// [`passes`] with other options.
#[track_caller]
pub fn passes_with(explorer: &Explorer, body: impl Fn()) {
    support::passes(explorer, &all(), body);
}

/// What a thread waits for at the end, and who holds it. None if it does not wait.
pub fn wait(failure: &Failure, thread: usize) -> Option<(&str, Option<u32>)> {
    match &failure.threads[thread].end {
        ThreadEnd::Waiting { on, held_by, .. } => Some((on, *held_by)),
        _ => None,
    }
}

/// The last event of a thread.
#[track_caller]
pub fn last(failure: &Failure, thread: u32) -> &Event {
    failure.trace.events.iter().rev().find(|event| event.thread == thread).expect("the thread did something")
}

/// The functions on the stack where a thread waits, innermost first.
pub fn waits_in(failure: &Failure, thread: usize) -> Vec<&str> {
    match failure.threads[thread].end {
        ThreadEnd::Waiting { at, .. } => functions(failure, at),
        _ => Vec::new(),
    }
}

/// The functions on a stack, innermost first.
pub fn functions(failure: &Failure, mut at: Option<u32>) -> Vec<&str> {
    let mut functions = Vec::new();
    while let Some(id) = at {
        let node = failure.trace.stacks[id as usize];
        functions.push(failure.trace.frames[node.frame as usize].function.as_str());
        at = node.caller;
    }
    functions
}

/// Every trace, whatever it is of, begins with the closure, names only threads that exist and spawns each but the first.
#[track_caller]
fn check_trace(failure: &Failure) {
    let events = &failure.trace.events;
    let threads = failure.threads.len() as u32;
    assert!(events.iter().all(|event| event.thread < threads), "a thread that does not exist");
    if failure.trace.omitted == 0 {
        assert!(matches!(events[0], Event { thread: 0, action: Action::Begin, .. }));
        let spawned = events.iter().filter(|event| matches!(event.action, Action::Spawn { .. })).count();
        assert_eq!(spawned as u32, threads - 1, "threads spawned");
    }
    let mut current = events[0].thread;
    for event in &events[1..] {
        assert_eq!(event.switch.is_some(), event.thread != current, "{event:?} after thread {current}");
        current = event.thread;
    }
}

/// The file that was written says the same as the failure that was returned.
#[track_caller]
fn check_file(failure: &Failure) {
    let file = failure.file.as_ref().expect("a failure has a file");
    let mut read = Failure::read(file).expect("the file can be read");
    read.file.clone_from(&failure.file);
    assert!(read == *failure, "the file differs from the failure");
}
