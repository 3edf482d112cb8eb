//! The kind of mistake behind a failure, in words for students, and the cause by which failures are grouped.
//!
//! Both read the failure alone. A hint says where to look, not what to write. A cause has no line numbers: the same mistake stands on
//! other lines in other submissions; functions have the names that the handout gives them.

use std::collections::BTreeSet;

use raddle_report::failure::{Action, Primitive, ThreadEnd, WaitingFor};
use raddle_report::{Failure, Kind};

/// The hint for a failure.
pub fn hint(failure: &Failure) -> String {
    let text = match failure.kind {
        Kind::Deadlock | Kind::LostWakeUp => return waiting_hint(failure),
        Kind::Livelock => {
            "Threads loop for a change that no thread can make any more. Which write does the loop wait for, and who was to make it?"
        }
        Kind::DataRace => {
            "Two threads access the same memory, and nothing orders the accesses. Which release and which acquire were to do so? Look at the memory orders on both sides."
        }
        Kind::UseAfterFree | Kind::DoubleFree | Kind::InvalidFree => {
            "Memory is freed while another thread can still reach it, or twice. When is it certain that nobody has a pointer to it any more?"
        }
        Kind::MemoryLeak => "Memory that nobody can reach any more was not freed.",
        Kind::IncorrectResults => {
            "No order of the operations explains their results. Look for a decision that rests on a value which has changed meanwhile: two reads of the same field need not agree, and a check is worth nothing after the lock was given up."
        }
        Kind::Validation => {
            "After all operations the object is in a state that it may never be in. Look for an update that is made in several steps, or lost."
        }
        Kind::Panic => {
            "In this order of events an assertion fails. Read the execution from its end: where does the wrong value come from, and what happened between the read and the use of it?"
        }
        Kind::NotObstructionFree | Kind::NotLockFree => {
            "An operation has to wait for another thread. Lock-free operations go on whatever the others do."
        }
        Kind::ThreadLeak => "Threads are left that can never end.",
        Kind::TimeLimit => "An execution takes far too long. Is there a loop that does not end?",
        Kind::Crash => "The program crashed: an invalid pointer, or an abort.",
        Kind::StackOverflow => "The stack overflowed: a recursion does not end.",
        Kind::Exit => "The code ended the process. A test is passed by returning.",
    };
    text.to_owned()
}

/// A deadlock is a lost notification, a cycle of locks, or something else.
fn waiting_hint(failure: &Failure) -> String {
    let primitives: Vec<Primitive> =
        failure.threads.iter().filter_map(|thread| primitive(&thread.end)).collect();
    let text = if primitives.contains(&Primitive::Condvar) {
        "A thread waits for a notification that nobody will give. Was it given before the thread waited, or to a thread that could not use it? Compare notify with notify-all, and look whether the check and the wait are one critical section."
    } else if primitives.iter().any(|primitive| primitive.has_holder()) {
        "Threads hold a lock each and wait for the other's. In which order are the locks taken?"
    } else {
        "Every thread waits. Who was to wake whom?"
    };
    text.to_owned()
}

fn primitive(end: &ThreadEnd) -> Option<Primitive> {
    match end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Primitive { kind, .. }), .. } => Some(*kind),
        _ => None,
    }
}

/// The cause of a failure: its kind, and the functions of the submission in which it shows.
pub fn cause(failure: &Failure, crate_name: &str) -> String {
    let kind = failure.kind.name().replace('-', " ");
    let places = match failure.kind {
        Kind::Deadlock | Kind::LostWakeUp | Kind::Livelock => waiting_places(failure, crate_name),
        _ => match &failure.fault {
            Some(fault) => {
                let steps = fault.steps.iter().filter_map(|step| function(failure, step.at?, crate_name));
                steps.collect()
            }
            None => BTreeSet::new(),
        },
    };
    if !places.is_empty() {
        return format!("{kind} in {}", places.into_iter().collect::<Vec<_>>().join(" and "));
    }
    if let Some(scenario) = &failure.scenario {
        let calls = scenario.parallel.iter().flatten().map(|operation| name_of(&operation.call));
        let calls: BTreeSet<&str> = calls.collect();
        return format!("{kind} of {}", calls.into_iter().collect::<Vec<_>>().join(" and "));
    }
    // The first panic is the cause; whoever joins the thread may panic in turn.
    let mut panics = failure.trace.events.iter().filter_map(|event| match &event.action {
        Action::Panic { message } => Some(message),
        _ => None,
    });
    let message = panics.next().unwrap_or(&failure.message).lines().next().unwrap_or_default();
    // Numbers differ between executions of the same mistake.
    let mut text = String::new();
    for character in message.chars() {
        let number = character.is_ascii_digit();
        if !(number && text.ends_with('N')) {
            text.push(if number { 'N' } else { character });
        }
    }
    format!("{kind} in test {}: {text}", failure.test)
}

fn waiting_places(failure: &Failure, crate_name: &str) -> BTreeSet<String> {
    let stacks = failure.threads.iter().filter_map(|thread| match &thread.end {
        ThreadEnd::Waiting { at, .. } => *at,
        _ => None,
    });
    stacks.filter_map(|at| function(failure, at, crate_name)).collect()
}

/// The outermost function of the submission on a stack: the one that the handout asks for, whatever helpers it has.
fn function(failure: &Failure, at: u32, crate_name: &str) -> Option<String> {
    let own = format!("{crate_name}::");
    let mut found = None;
    let mut next = Some(at);
    while let Some(node) = next.and_then(|at| failure.trace.stacks.get(at as usize)) {
        let frame = failure.trace.frames.get(node.frame as usize)?;
        if let Some(name) = frame.function.trim_start_matches('<').strip_prefix(&own) {
            found = Some(name.split("::{").next().unwrap_or(name).replace(&own, ""));
        }
        next = node.caller;
    }
    found
}

fn name_of(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}
