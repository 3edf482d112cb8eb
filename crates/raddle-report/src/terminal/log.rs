//! The log of a failing execution in the manner of Muscat's traces: one line per operation, indented by thread, and why threads
//! that wait can never go on.

use std::path::Path;

use super::summary;
use crate::failure::{Action, Event, Failure, Kind, Primitive, ThreadEnd, WaitingFor};
use crate::narrative::calls::{Calls, Lines, calls};
use crate::narrative::interest::{Interest, interest};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::words::{self, Spelling};
use crate::page::{Line, Page, Paint, Style};

/// Renders a failure as a log: the headline, one line per operation (`2:synchronized -> enter`, indented by thread), and how to
/// replay it. `file` is the path of the failure file.
pub fn render_log(failure: &Failure, style: Style, file: Option<&Path>) -> String {
    let mut page = Page::new(style);
    summary::headline(failure, &mut page);
    page.blank();
    for (thread, text) in lines(failure) {
        let text = if style.unicode { text.replace(" -> ", " → ") } else { text };
        let indent = 2 * thread.saturating_sub(1) as usize;
        page.line(Line::of(Paint::ThreadName(thread), format!("{}{thread}:{text}", " ".repeat(indent))));
    }
    summary::how_to_replay(failure, file, &mut page);
    page.finish()
}

/// Why the threads of a deadlock can never go on, in one sentence. None if the failure is no deadlock.
pub fn deadlock_sentence(failure: &Failure) -> Option<String> {
    if failure.kind != Kind::Deadlock {
        return None;
    }
    // The thread that runs the test waits for all others.
    let waiting: Vec<(u32, &ThreadEnd)> = (0u32..)
        .zip(failure.threads.iter().map(|thread| &thread.end))
        .filter(|(thread, end)| *thread > 0 && matches!(end, ThreadEnd::Waiting { .. }))
        .collect();
    let names: Vec<String> = waiting.iter().map(|(thread, _)| thread.to_string()).collect();
    if waiting.is_empty() {
        return None;
    }
    let one = names.len() == 1;
    let who = format!("{} {}", if one { "thread" } else { "threads" }, names.join(", "));
    if waiting.iter().all(|(_, end)| is_for_notification(end)) {
        let (are, them) = if one { ("is", "it") } else { ("are", "them") };
        return Some(format!(
            "Deadlock: {who} {are} waiting to be notified, but all others have ended and cannot notify {them}"
        ));
    }
    let reasons: Vec<String> = waiting.iter().map(|(thread, end)| reason(failure, *thread, end)).collect();
    Some(format!("Deadlock: {who} {} interlocked: {}", if one { "is" } else { "are" }, reasons.join("; ")))
}

fn is_for_notification(end: &ThreadEnd) -> bool {
    let ThreadEnd::Waiting { awaited: Some(WaitingFor::Primitive { kind, .. }), .. } = end else {
        return false;
    };
    *kind == Primitive::Condvar
}

/// What a thread waits for, and why it does not happen.
fn reason(failure: &Failure, thread: u32, end: &ThreadEnd) -> String {
    let ended = |thread: u32| {
        failure.threads.get(thread as usize).is_some_and(|thread| matches!(thread.end, ThreadEnd::Finished))
    };
    match end {
        ThreadEnd::Waiting { awaited: Some(WaitingFor::Thread(other)), .. } => {
            format!("thread {thread} waits for thread {other} to end")
        }
        ThreadEnd::Waiting { .. } if is_for_notification(end) => {
            format!("thread {thread} waits to be notified, which no other thread can do any more")
        }
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } if *holder == thread => {
            format!("thread {thread} waits for {on}, which it holds itself")
        }
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } if ended(*holder) => {
            format!("thread {thread} waits for {on}, which thread {holder} held when it ended")
        }
        ThreadEnd::Waiting { on, held_by: Some(holder), .. } => {
            format!("thread {thread} waits for {on}, which thread {holder} holds")
        }
        ThreadEnd::Waiting { on, .. } => format!("thread {thread} waits for {on}"),
        _ => format!("thread {thread} does not go on"),
    }
}

/// The lines of the log, each with its thread.
fn lines(failure: &Failure) -> Vec<(u32, String)> {
    let trace = &failure.trace;
    let names = Lines::of(trace);
    let locations = Locations::of(failure);
    let around: Vec<Calls> = trace.events.iter().map(|event| calls(trace, event.at, &names)).collect();
    let interest = interest(failure, &around, &locations);
    let mut lines: Vec<LogLine> = Vec::new();
    for ((event, around), interest) in trace.events.iter().zip(&around).zip(interest) {
        let naming = Naming::of(&locations);
        let Some(text) = text(event, around, &naming).filter(|_| interest == Interest::Shown) else {
            continue;
        };
        let is_note = matches!(event.action, Action::Note { .. });
        if let Some(at) = lines.iter().rposition(|line| line.begins(event.thread, &text)).filter(|_| is_note)
            && lines[at + 1..].iter().all(|line| line.thread == event.thread)
        {
            // A marked operation that nothing interrupts is one line.
            lines.truncate(at);
            let text = text.strip_suffix(DONE).unwrap_or(&text).to_owned();
            lines.push(LogLine { thread: event.thread, text, is_note: false });
            continue;
        }
        lines.push(LogLine { thread: event.thread, text, is_note });
    }
    lines.into_iter().map(|line| (line.thread, line.text)).collect()
}

/// The end of a marked operation without a result.
const DONE: &str = ": done";

struct LogLine {
    thread: u32,
    text: String,
    is_note: bool,
}

impl LogLine {
    /// Whether the line is the beginning of the marked operation that ends with this text.
    fn begins(&self, thread: u32, text: &str) -> bool {
        let rest = text.strip_prefix(&self.text);
        self.is_note
            && self.thread == thread
            && rest.is_some_and(|rest| rest.starts_with(" -> ") || rest == DONE)
    }
}

/// The line of an event; none if it has none.
fn text(event: &Event, around: &Calls, naming: &Naming<'_>) -> Option<String> {
    if event.thread == 0 && !matches!(event.action, Action::Panic { .. }) {
        return None;
    }
    let threads = |woken: &[u32]| woken.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let in_std = around.in_std().unwrap_or_default();
    Some(match &event.action {
        Action::Begin
        | Action::End
        | Action::Spawn { .. }
        | Action::Join { .. }
        | Action::Write { .. }
        | Action::Fence { .. } => return None,
        Action::Wait { .. } | Action::Woken { .. } | Action::Wake { .. } if around.ends_scope => return None,
        Action::Panic { message } => format!("panic: {}", words::one_line(message)),
        Action::Wait { blocks: true, .. } if in_std.starts_with("Condvar::wait") => "wait".to_owned(),
        Action::Woken { timed_out: false, .. } if in_std.starts_with("Condvar::wait") => {
            "wait -> woken".to_owned()
        }
        // Whether one thread or all were meant is not recorded.
        Action::Wake { woken, .. } if in_std.is_empty() || in_std.starts_with("Condvar::") => {
            match &woken[..] {
                [] => "notify -> nobody".to_owned(),
                [one] => format!("notify -> thread {one}"),
                several => format!("notify -> threads {}", threads(several)),
            }
        }
        action => words::event(action, around, naming, Spelling::Interleaved),
    })
}
