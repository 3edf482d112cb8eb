//! Helpers that the tests of the suites share.
#![forbid(unsafe_code)]

use raddle::{Explorer, Failure, Report, Strategy};
use raddle_report::failure::{Event, Frame, Thread, ThreadEnd, Trace, Write};
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
        // Some programs are about one thread.
        let report = explorer.clone().allow_one_thread(true).strategy(strategy.clone()).run(&body);
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
    let threads =
        |failure: &Failure| failure.threads.iter().map(|thread| end(failure, thread)).collect::<Vec<_>>();
    assert_eq!(threads(again), threads(found), "{label}");
    // Which plain writes are recorded, and so the numbers of events and stacks, may differ.
    let steps = |failure: &Failure| -> Vec<(Event, Vec<Frame>)> {
        let events = failure.trace.events.iter().filter(|event| !event.is_plain_write());
        events.map(|event| (step(failure, event), stack(&failure.trace, event.at))).collect()
    };
    let (new, old) = (steps(again), steps(found));
    assert_eq!(new.len(), old.len(), "{label}: number of events");
    for (index, ((new, new_stack), (old, old_stack))) in new.iter().zip(&old).enumerate() {
        assert_eq!(new, old, "{label}: event {index}");
        assert_eq!(new_stack, old_stack, "{label}: stack of event {index}");
    }
}

/// An event with the edges of the execution graph as numbers among the events besides plain writes, without
/// its stack and its changes.
fn step(failure: &Failure, event: &Event) -> Event {
    let events = &failure.trace.events;
    // A plain write stands for the last step of its thread before it.
    let number = |at: u32| {
        let thread = events[at as usize].thread;
        let is_step = |event: &&Event| event.thread == thread && !event.is_plain_write();
        let steps = events[..=at as usize].iter().filter(|event| !event.is_plain_write());
        let last = steps.enumerate().filter(|(_, event)| is_step(event)).last();
        last.map(|(number, _)| number as u32)
    };
    let write = |write: Write| match write {
        Write::Event(at) if events[at as usize].is_plain_write() => Write::Unseen,
        Write::Event(at) => number(at).map_or(Write::Unseen, Write::Event),
        other => other,
    };
    Event {
        reads_from: event.reads_from.map(write),
        overwrites: event.overwrites.map(write),
        synchronises_with: event.synchronises_with.iter().filter_map(|&at| number(at)).collect(),
        changes: Vec::new(),
        at: None,
        ..event.clone()
    }
}

/// The end of a thread, with the stack of one that waits.
fn end(failure: &Failure, thread: &Thread) -> (Thread, Vec<Frame>) {
    let mut thread = thread.clone();
    let at = match &mut thread.end {
        ThreadEnd::Waiting { at, .. } => at.take(),
        _ => None,
    };
    (thread, stack(&failure.trace, at))
}

/// The frames of a stack, innermost first.
fn stack(trace: &Trace, mut at: Option<u32>) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some(id) = at {
        let node = trace.stacks[id as usize];
        frames.push(trace.frames[node.frame as usize].clone());
        at = node.caller;
    }
    frames
}
