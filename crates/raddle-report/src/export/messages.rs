//! Sequence diagrams: threads are participants, reads from other threads, spawning, joining and waking are messages.

use std::collections::BTreeMap;

use super::text::shortened;
use crate::failure::{Action, Failure, Write};
use crate::narrative::locations::Locations;
use crate::narrative::rows::{Row, RowKind, rows};
use crate::narrative::words;

/// Texts are no longer than this.
const MAX_TEXT: usize = 100;
/// The distance of lifelines in the text diagram.
const COLUMN: usize = 26;

/// A step of the diagram.
enum Step {
    /// A thread does something.
    Note { thread: u32, text: String },
    /// Something of one thread reaches another one.
    Message { from: u32, to: u32, text: String },
}

/// A sequence diagram in the language of Mermaid, which code hosts draw.
pub fn mermaid(failure: &Failure) -> String {
    let (threads, steps) = steps(failure);
    let mut out = String::from("sequenceDiagram\n");
    for &thread in &threads {
        let name = plain(&words::full_name(failure, thread));
        out.push_str(&format!("    participant {} as {name}\n", words::tag(thread)));
    }
    for step in steps {
        let line = match step {
            Step::Note { thread, text } => {
                format!("    Note over {}: {}\n", words::tag(thread), plain(&text))
            }
            Step::Message { from, to, text } => {
                format!("    {}->>{}: {}\n", words::tag(from), words::tag(to), plain(&text))
            }
        };
        out.push_str(&line);
    }
    out
}

/// A sequence diagram as plain text.
pub fn sequence(failure: &Failure) -> String {
    let (threads, steps) = steps(failure);
    let column: BTreeMap<u32, usize> =
        threads.iter().enumerate().map(|(at, &thread)| (thread, 2 + at * COLUMN)).collect();
    let mut out = String::new();
    let mut header = String::new();
    for &thread in &threads {
        pad(&mut header, column[&thread] - 1);
        header.push_str(&shortened(&words::full_name(failure, thread), COLUMN - 6));
    }
    push_line(&mut out, &header);
    for step in steps {
        match step {
            Step::Note { thread, text } => {
                let mut line = lifelines(&column, |other| other < column[&thread]);
                pad(&mut line, column[&thread]);
                line.push_str("* ");
                line.push_str(&text);
                // Lifelines go on where the text ends before them.
                for &at in column.values().filter(|&&at| at > column[&thread]) {
                    if line.chars().count() < at {
                        pad(&mut line, at);
                        line.push('|');
                    }
                }
                push_line(&mut out, &line);
            }
            Step::Message { from, to, text } => {
                let (left, right) = (column[&from].min(column[&to]), column[&from].max(column[&to]));
                let mut line = lifelines(&column, |at| at < left);
                pad(&mut line, left);
                let length = right - left - 1;
                let text = format!(" {} ", shortened(&text, length.saturating_sub(10)));
                let dashes = "-".repeat(length.saturating_sub(text.chars().count() + 3));
                line.push('|');
                line.push_str(&match column[&from] < column[&to] {
                    true => format!("--{text}{dashes}>"),
                    false => format!("<{dashes}{text}--"),
                });
                line.push('|');
                for &at in column.values().filter(|&&at| at > right) {
                    pad(&mut line, at);
                    line.push('|');
                }
                push_line(&mut out, &line);
            }
        }
    }
    out
}

/// The threads that take part, and what happens.
fn steps(failure: &Failure) -> (Vec<u32>, Vec<Step>) {
    let locations = Locations::of(failure);
    let rows = rows(failure, &locations, ">");
    let mut steps = Vec::new();
    for row in &rows {
        steps.extend(message(failure, row));
        if let Some(text) = note(row) {
            steps.push(Step::Note { thread: row.thread, text });
        }
    }
    let mut threads: Vec<u32> = steps
        .iter()
        .flat_map(|step| match step {
            Step::Note { thread, .. } => [*thread, *thread],
            Step::Message { from, to, .. } => [*from, *to],
        })
        .collect();
    threads.sort_unstable();
    threads.dedup();
    (threads, steps)
}

fn note(row: &Row) -> Option<String> {
    let text = match (row.kind, &row.within) {
        (RowKind::Switch | RowKind::Call, _) => return None,
        (_, Some(call)) => format!("{call}: {}", row.text),
        (_, None) => row.text.clone(),
    };
    let spoken = text.starts_with("spawns ") || text.starts_with("joins ");
    (!spoken).then(|| shortened(&words::one_line(&text), MAX_TEXT))
}

/// The message that reaches or leaves the thread of a row.
fn message(failure: &Failure, row: &Row) -> Vec<Step> {
    let events = &failure.trace.events;
    let Some(event) = row.first().and_then(|first| events.get(first)) else { return Vec::new() };
    let me = event.thread;
    let message = |from: u32, to: u32, text: &str| Step::Message { from, to, text: text.to_owned() };
    match (&event.action, event.reads_from) {
        (Action::Spawn { thread }, _) if *thread != me => vec![message(me, *thread, "spawns")],
        (Action::Join { thread }, _) if *thread != me => vec![message(*thread, me, "joined")],
        (Action::Wake { woken, .. }, _) => {
            woken.iter().filter(|&&thread| thread != me).map(|&thread| message(me, thread, "wakes")).collect()
        }
        (_, Some(Write::Event(write))) => match events.get(write as usize) {
            Some(write) if write.thread != me && row.kind == RowKind::Event => {
                vec![message(write.thread, me, "is read")]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn lifelines(columns: &BTreeMap<u32, usize>, shown: impl Fn(usize) -> bool) -> String {
    let mut line = String::new();
    for &at in columns.values().filter(|&&at| shown(at)) {
        pad(&mut line, at);
        line.push('|');
    }
    line
}

fn pad(line: &mut String, width: usize) {
    let now = line.chars().count();
    line.extend(std::iter::repeat_n(' ', width.saturating_sub(now)));
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// A text in which Mermaid finds nothing to interpret.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '#' | ';' | '<' | '>' | '&' | '"' | '%' | '{' | '}' | '\\' => {
                out.push_str(&format!("#{};", u32::from(c)));
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
