//! The first and last sections of the page: headline, blocked threads, replay command.

use std::path::Path;

use crate::failure::{Action, Certainty, Event, Failure, Kind, ThreadEnd, Trace, WaitingFor};
use crate::narrative::calls::{Lines, calls, short};
use crate::narrative::words;
use crate::page::{Line, Page, Paint};

/// Prints the class of the failure, its source line and its message.
pub(super) fn headline(failure: &Failure, page: &mut Page) {
    let what = match failure.kind {
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
    };
    let test = format!(" in test `{}`", failure.test);
    page.wrapped(0, 2, Line::of(Paint::Error, format!("error: {what}")).with(Paint::Bold, test));
    if let Some((thread, source)) = scene(failure) {
        let arrow = if page.style.unicode { "──▶" } else { "-->" };
        let thread = words::full_name(failure, thread);
        page.wrapped(
            1,
            4,
            Line::of(Paint::Dim, format!("{arrow} ")).with(Paint::Plain, format!("{source}, in {thread}")),
        );
    }
    for line in failure.message.lines() {
        page.wrapped(2, 2, Line::of(Paint::Plain, line));
    }
    if let Certainty::Limit { reason } = &failure.certainty {
        page.wrapped(2, 4, Line::of(Paint::Bold, "not proven: ").with(Paint::Plain, reason.as_str()));
    }
}

/// Prints the states of the unfinished threads, and the cycle of the wait-for graph if there is one.
pub(super) fn threads(failure: &Failure, page: &mut Page) {
    let lines = Lines::of(&failure.trace);
    let unfinished: Vec<(u32, &ThreadEnd)> = failure
        .threads
        .iter()
        .enumerate()
        .map(|(thread, state)| (thread as u32, &state.end))
        .filter(|(_, end)| !matches!(end, ThreadEnd::Finished | ThreadEnd::Panicked))
        .collect();
    // After a panic or memory error the states of other threads explain nothing.
    if unfinished.is_empty() || failure.fault.is_some() || matches!(failure.kind, Kind::Panic) {
        return;
    }
    page.blank();
    let texts: Vec<_> =
        unfinished.iter().map(|&(thread, end)| (thread, state(failure, thread, end))).collect();
    let name = texts.iter().map(|(thread, _)| words::full_name(failure, *thread).len()).max().unwrap_or(0);
    let stands: Vec<_> =
        unfinished.iter().map(|&(thread, end)| position(failure, thread, end, &lines)).collect();
    let width = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let longest = stands.iter().flatten().map(|source| source.chars().count()).max().unwrap_or(0);
    let aligned = 2 + name + 2 + width + 2 + longest <= page.style.width;
    for ((thread, text), source) in texts.into_iter().zip(stands) {
        let mut line = Line::of(Paint::ThreadName(thread), words::full_name(failure, thread));
        line.pad_to(name + 2);
        line.push(Paint::Plain, text);
        if let Some(source) = source {
            if aligned {
                line.pad_to(name + 2 + width + 2);
            } else {
                line.push(Paint::Plain, ", ");
            }
            line.push(Paint::Dim, source);
        }
        page.wrapped(2, name + 2, line);
    }
    if let Some(cycle) = wait_cycle(failure) {
        let arrow = page.style.glyphs().arrow;
        let mut line = Line::of(Paint::Bold, "cycle: ");
        for (thread, lock) in &cycle {
            line.push(Paint::ThreadName(*thread), words::tag(*thread));
            line.push(Paint::Plain, format!(" {arrow} "));
            if let Some(lock) = lock {
                line.push(Paint::Plain, format!("{lock} {arrow} "));
            }
        }
        line.push(Paint::ThreadName(cycle[0].0), words::tag(cycle[0].0));
        page.wrapped(2, 4, line);
    }
}

/// Prints the search that found the failure, and the command that replays it.
pub(super) fn how_to_replay(failure: &Failure, file: Option<&Path>, page: &mut Page) {
    let found = &failure.found_by;
    page.blank();
    let text = format!(
        "strategy {}{}, seed {}, execution {}",
        found.strategy,
        found.memory.as_ref().map(|memory| format!(", memory {memory}")).unwrap_or_default(),
        found.seed,
        words::counted(found.execution, "").trim_end_matches(['s', ' '])
    );
    page.wrapped(0, 10, Line::of(Paint::Bold, "found by: ").with(Paint::Plain, text));
    if found.is_stress() {
        let text = "no schedule: found on real threads; run `cargo raddle test` to search for one";
        page.wrapped(0, 10, Line::of(Paint::Bold, "replay:   ").with(Paint::Plain, text));
    } else if let Some(file) = file {
        // Not wrapped, so that it can be copied.
        let text = format!("cargo raddle replay {}", shell_word(&file.display().to_string()));
        page.line(Line::of(Paint::Bold, "replay:   ").with(Paint::Plain, text));
    }
}

/// The thread that failed, and the line of the user's code.
fn scene(failure: &Failure) -> Option<(u32, String)> {
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
        Kind::Panic => {
            trace.events.iter().rev().find(|event| matches!(event.action, Action::Panic { .. }))?
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
fn state(failure: &Failure, thread: u32, end: &ThreadEnd) -> String {
    match end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Thread(other)), .. } => {
            format!("waits for {} to end", words::tag(*other))
        }
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } if *holder == thread => {
            format!("waits for {on}, which it holds itself")
        }
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } => {
            format!("waits for {on}, held by {}", words::tag(*holder))
        }
        ThreadEnd::Waiting { on, held_by: None, .. } => format!("waits for {on}"),
        ThreadEnd::Runnable if failure.kind == Kind::ThreadLeak => {
            "was still running when the test had returned".to_owned()
        }
        ThreadEnd::Runnable if failure.kind == Kind::Livelock => "spins".to_owned(),
        ThreadEnd::Runnable => "could go on".to_owned(),
        ThreadEnd::Finished | ThreadEnd::Panicked => String::new(),
    }
}

/// The line and function where a thread stands: `at bank.rs:12 in Bank::transfer`.
fn position(failure: &Failure, thread: u32, end: &ThreadEnd, lines: &Lines) -> Option<String> {
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
fn wait_cycle(failure: &Failure) -> Option<Vec<(u32, Option<&str>)>> {
    let next = |thread: u32| match &failure.threads.get(thread as usize)?.end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Thread(other)), .. } => Some((None, *other)),
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } => Some((Some(on.as_str()), *holder)),
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

/// A text as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
