//! The end of an execution in words: the class of the failure, its source line, the states of the threads, memory errors.

use std::path::Path;

use super::calls::{Lines, calls, short};
use super::locations::Naming;
use super::words;
use crate::failure::{Action, Did, Event, Failure, Fault, FaultStep, Kind, ThreadEnd, Trace, WaitingFor};

/// The class of a failure in words.
pub(crate) fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Panic => "panic",
        Kind::Deadlock => "deadlock",
        Kind::Livelock => "livelock",
        Kind::TimeLimit => "time limit reached",
        Kind::ThreadLeak => "thread leak",
        Kind::Crash => "crash",
        Kind::StackOverflow => "stack overflow",
        Kind::Exit => "exit",
        Kind::IncorrectResults => "incorrect results",
        Kind::Validation => "validation failed",
        Kind::LostWakeUp => "lost wake-up",
        Kind::NotObstructionFree => "not obstruction-free",
        Kind::NotLockFree => "not lock-free",
        Kind::DataRace => "data race",
        Kind::UseAfterFree => "use after free",
        Kind::DoubleFree => "double free",
        Kind::InvalidFree => "invalid free",
        Kind::MemoryLeak => "memory leak",
    }
}

/// The thread that failed, and the line of the user's code.
pub(crate) fn scene(failure: &Failure) -> Option<(u32, String)> {
    let trace = &failure.trace;
    if let Some(fault) = &failure.fault {
        // The last step is the error; of a leak, the first one is the allocation.
        let step = match failure.kind {
            Kind::MemoryLeak => fault.steps.first()?,
            _ => fault.steps.last()?,
        };
        return source_line(trace, step.at).map(|source| (step.thread, source));
    }
    let event = match failure.kind {
        // The panic that the message is of: others may follow from it.
        Kind::Panic => {
            let is_panic = |event: &&Event| matches!(event.action, Action::Panic { .. });
            let is_meant = |event: &&Event| matches!(&event.action, Action::Panic { message } if *message == failure.message);
            let mut latest = trace.events.iter().rev();
            latest.clone().find(is_meant).or_else(|| latest.find(is_panic))?
        }
        Kind::Crash | Kind::StackOverflow | Kind::Exit => {
            let by = |event: &&Event| failure.thread.is_none_or(|thread| event.thread == thread);
            trace.events.iter().rev().filter(by).find(|event| event.at.is_some())?
        }
        _ => return None,
    };
    source_line(trace, event.at).map(|source| (event.thread, source))
}

/// The innermost line of the user's code on a stack.
fn source_line(trace: &Trace, mut at: Option<u32>) -> Option<String> {
    while let Some(node) = at.and_then(|index| trace.stacks.get(index as usize)) {
        let frame = trace.frames.get(node.frame as usize)?;
        if !frame.internal {
            let file = frame.file.as_deref()?;
            let source = frame.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
            return Some(source);
        }
        at = node.caller.filter(|&caller| Some(caller) < at);
    }
    None
}

/// The state of a thread in words.
pub(crate) fn state(failure: &Failure, thread: u32, end: &ThreadEnd, naming: &Naming<'_>) -> String {
    let target = |on: &str, awaited: &Option<WaitingFor>| words::target(on, awaited.as_ref(), naming);
    match end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Thread(other)), .. } => {
            format!("waits for {} to end", words::tag(*other))
        }
        ThreadEnd::Waiting { on, awaited, held_by: Some(holder), .. } if *holder == thread => {
            format!("waits for {}, which it holds itself", target(on, awaited))
        }
        ThreadEnd::Waiting { on, awaited, held_by: Some(holder), .. } => {
            format!("waits for {}, held by {}", target(on, awaited), words::tag(*holder))
        }
        ThreadEnd::Waiting { on, awaited, held_by: None, .. } => {
            format!("waits for {}", target(on, awaited))
        }
        ThreadEnd::Runnable if failure.kind == Kind::ThreadLeak => {
            "was still running when the test had returned".to_owned()
        }
        ThreadEnd::Runnable if failure.kind == Kind::Livelock => "spins".to_owned(),
        ThreadEnd::Runnable => "could go on".to_owned(),
        ThreadEnd::Finished | ThreadEnd::Panicked => String::new(),
    }
}

/// The line and function where a thread stands: `at bank.rs:12 in Bank::transfer`.
pub(crate) fn position(failure: &Failure, thread: u32, end: &ThreadEnd, lines: &Lines) -> Option<String> {
    let at = match end {
        ThreadEnd::Waiting { at: Some(at), .. } => Some(*at),
        _ => failure.trace.events.iter().rev().find(|event| event.thread == thread && event.at.is_some())?.at,
    };
    let around = calls(&failure.trace, at, lines);
    let line = around.line?;
    Some(match around.own.checked_sub(1).map(|innermost| &around.levels[innermost]) {
        Some(level) => format!("at {line} in {}", short(&level.function)),
        None => format!("at {line}"),
    })
}

/// A cycle of the wait-for graph: threads that wait for each other, each with the lock that it waits for; none for a join.
pub(crate) fn wait_cycle(failure: &Failure, naming: &Naming<'_>) -> Option<Vec<(u32, Option<String>)>> {
    let next = |thread: u32| match &failure.threads.get(thread as usize)?.end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Thread(other)), .. } => Some((None, *other)),
        ThreadEnd::Waiting { on, awaited, held_by: Some(holder), .. } => {
            Some((Some(words::target(on, awaited.as_ref(), naming)), *holder))
        }
        _ => None,
    };
    (0..failure.threads.len() as u32).find_map(|start| {
        let mut cycle = Vec::new();
        let mut thread = start;
        loop {
            let (lock, holder) = next(thread)?;
            cycle.push((thread, lock));
            if holder == start {
                return Some(cycle);
            }
            if cycle.iter().any(|(seen, _)| *seen == holder) {
                return None;
            }
            thread = holder;
        }
    })
}

/// A step towards a memory error in words.
pub(crate) fn fault_step(fault: &Fault, step: &FaultStep) -> String {
    let does = words::does(step.did);
    let block = fault.blocks.iter().find(|block| block.address == step.address);
    match step.did {
        Did::Allocate => {
            let holds = block.and_then(|block| block.holds.as_deref());
            let size = words::counted(step.size, "byte");
            match holds {
                Some(holds) => format!("{does} {holds} ({size})"),
                None => format!("{does} {size}"),
            }
        }
        Did::Free => format!("{does} it"),
        _ => format!("{does} {}", words::counted(step.size, "byte")),
    }
}

/// The command that replays a failure; none for failures of real threads, which have no schedule.
pub(crate) fn replay_command(failure: &Failure, file: &Path) -> Option<String> {
    let is_replayable = !failure.found_by.is_stress();
    is_replayable.then(|| format!("cargo raddle replay {}", shell_word(&file.display().to_string())))
}

/// A text as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
