//! Outcomes in the terms of the report: the class of a failure, its message, and the strength of the evidence.

use raddle_engine::Outcome;
use raddle_engine::exploration::Found;
use raddle_engine::op::ThreadId;
use raddle_report::failure::{self, Action, Certainty, Event, Kind, Location, ThreadEnd};

use super::fault;

/// The class of an outcome; none if the outcome is no failure of the code under test.
pub(crate) fn kind(outcome: &Outcome) -> Option<Kind> {
    Some(match outcome {
        Outcome::Passed
        | Outcome::Discarded(_)
        | Outcome::Diverged { .. }
        | Outcome::Asymmetric { .. }
        | Outcome::Unsupported { .. } => return None,
        Outcome::Panic { .. } => Kind::Panic,
        Outcome::Deadlock => Kind::Deadlock,
        Outcome::Livelock => Kind::Livelock,
        Outcome::Endless => Kind::Livelock,
        Outcome::TimeLimit => Kind::TimeLimit,
        Outcome::ThreadLeak => Kind::ThreadLeak,
        Outcome::Crash { .. } => Kind::Crash,
        Outcome::StackOverflow { .. } => Kind::StackOverflow,
        Outcome::Exit { .. } => Kind::Exit,
        Outcome::Rejected => Kind::IncorrectResults,
        Outcome::Fault(fault) => fault::kind(fault),
    })
}

/// The message of the report: one sentence.
pub(super) fn message(found: &Found, threads: &[failure::Thread], place: Option<&Location>) -> String {
    let said =
        || found.panic.as_ref().map_or("a panic without a message", |(_, text)| text.as_str()).to_owned();
    let left = || threads.iter().filter(|thread| matches!(thread.end, ThreadEnd::Waiting { .. })).count();
    match &found.outcome {
        Outcome::Panic { .. } => said(),
        Outcome::Deadlock => match left() {
            1 => "a thread waits for ever".to_owned(),
            n => format!("{n} threads wait, and none of them can ever go on"),
        },
        Outcome::Livelock => "threads spin in loops whose condition no thread can change any more".to_owned(),
        Outcome::Endless => {
            let before = found.schedule.fair_since.map_or(0, |since| since - 1);
            format!(
                "the execution does not end: after {before} events it made {} more, in which every thread that could go on did, \
                 again and again; raise `max_steps` if it only needs longer",
                found.steps - 1 - before
            )
        }
        Outcome::TimeLimit => {
            "the execution did not end in time: it runs long between two events, or waits for something outside the \
             process; raise `time_limit` if it only needs longer"
                .to_owned()
        }
        Outcome::ThreadLeak => format!(
            "the closure returned, but {} still waits and can never go on; join it, or use `allow_leaked_threads`",
            match left() {
                1 => "a thread".to_owned(),
                n => format!("each of {n} threads"),
            }
        ),
        Outcome::Crash { signal, address, .. } => match signal_name(*signal) {
            "SIGABRT" => match &found.panic {
                Some((_, text)) => format!("the code under test aborted: {text}"),
                None => "the code under test aborted".to_owned(),
            },
            name @ ("SIGSEGV" | "SIGBUS") => format!("{name}: invalid memory access at {address:#x}"),
            name => format!("the code under test was stopped by {name}"),
        },
        Outcome::StackOverflow { .. } => {
            "a thread ran over the end of its stack; raise `stack_size` if it is not an endless recursion".to_owned()
        }
        Outcome::Rejected => "no order of the operations explains their results".to_owned(),
        Outcome::Fault(fault) => fault::message(fault, place),
        Outcome::Exit { code, .. } => format!("the code under test ended the process with exit code {code}"),
        // No failure: see `kind`.
        _ => String::new(),
    }
}

/// The message of an abort because an allocation failed. The reason is not the memory of the machine: blocks come from address space that
/// each thread has.
const OUT_OF_MEMORY: &str = "an allocation failed, by a limit of Raddle: in an exploration each thread has 4 GiB for blocks of 128 KiB or more, \
                             touched or not, and 4 GiB for smaller ones; allocate less in tests";

/// The message of an execution that was aborted because an allocation failed.
pub(super) fn out_of_memory(found: &Found, last_stack: &[&str]) -> Option<&'static str> {
    let aborted = matches!(&found.outcome, Outcome::Crash { signal: SIGABRT, .. }) && found.panic.is_none();
    let failed = |function: &&str| *function == "alloc::alloc::handle_alloc_error";
    (aborted && last_stack.iter().any(failed)).then_some(OUT_OF_MEMORY)
}

/// The signal of `abort`.
pub(super) const SIGABRT: i32 = 6;

/// The panic of the thread for which a scope panics at its end, if the message is that of the scope.
pub(super) fn cause<'e>(events: &'e [Event], message: &str) -> Option<&'e str> {
    const SCOPE: &str = "a scoped thread panicked";
    if !message.starts_with(SCOPE) {
        return None;
    }
    // The first panic is the one that others follow from.
    events.iter().find_map(|event| match &event.action {
        Action::Panic { message } if !message.starts_with(SCOPE) => Some(message.as_str()),
        _ => None,
    })
}

/// The thread that panicked, crashed, overflowed its stack or ended the process.
pub(crate) fn thread(outcome: &Outcome) -> Option<ThreadId> {
    match outcome {
        Outcome::Panic { thread }
        | Outcome::Crash { thread, .. }
        | Outcome::StackOverflow { thread }
        | Outcome::Exit { thread, .. } => Some(*thread),
        _ => None,
    }
}

/// The strength of the evidence: a proof, or a limit that ended the execution.
pub(super) fn certainty(found: &Found) -> Certainty {
    let reason = match &found.outcome {
        Outcome::Endless => {
            let since = found.schedule.fair_since.map_or(0, |since| since - 1);
            format!(
                "the execution was ended after {} events in which all threads took turns",
                found.steps.saturating_sub(1 + since)
            )
        }
        Outcome::TimeLimit => "the execution was ended when its time was over".to_owned(),
        _ => return Certainty::Proven,
    };
    Certainty::Limit { reason }
}

pub(super) fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => "SIGILL",
        5 => "SIGTRAP",
        SIGABRT => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        _ => "a signal",
    }
}
