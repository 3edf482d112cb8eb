//! A story for the terminal.

use std::fmt::Write;

use super::closest::why_not;
use super::{Attempt, Operation, Part, Story, Violation};

/// More wrong parts than this are counted, not shown.
const MOST_PARTS: usize = 3;

/// How much of an order is shown: its end.
const MOST_OPERATIONS: usize = 12;

/// The story in plain text, each line ended. With `explain`, it says how each part was decided.
pub fn render(story: &Story, explain: bool) -> String {
    let mut out = String::new();
    let is = match story.verdict {
        "accepted" => format!("is {}", story.contract),
        "violation" => format!("is not {}", story.contract),
        _ => format!("may or may not be {}", story.contract),
    };
    line(&mut out, format_args!("{}: {} {is}", story.verdict, story.name));
    let count = |verdict: &str| story.parts.iter().filter(|part| part.verdict == verdict).count();
    if story.parts.len() > 1 {
        line(
            &mut out,
            format_args!(
                "{} parts: {} accepted, {} wrong, {} unknown",
                story.parts.len(),
                count("accepted"),
                count("violation"),
                count("unknown")
            ),
        );
    }
    for (part, violation) in story.violations().take(MOST_PARTS) {
        out.push('\n');
        render_violation(&mut out, story, part, violation);
    }
    let hidden = story.violations().skip(MOST_PARTS).filter_map(|(part, _)| part.key.as_deref());
    let hidden: Vec<&str> = hidden.collect();
    if !hidden.is_empty() {
        out.push('\n');
        line(&mut out, format_args!("Wrong as well: {}", hidden.join(", ")));
    }
    for part in story.parts.iter().filter(|part| part.progress.is_some()) {
        out.push('\n');
        line(&mut out, format_args!("{}: {}", title(part), part.progress.as_deref().unwrap_or_default()));
    }
    if explain {
        out.push('\n');
        render_methods(&mut out, story);
    }
    out
}

fn render_violation(out: &mut String, story: &Story, part: &Part, violation: &Violation) {
    line(
        out,
        format_args!(
            "{}: the first {} of {} events are already wrong",
            title(part),
            violation.prefix,
            violation.events
        ),
    );
    line(out, format_args!("  {}", violation.summary));
    if !violation.core.is_empty() {
        out.push('\n');
        line(out, format_args!("  These operations are wrong by themselves:"));
        let mut core: Vec<&Operation> = violation.core.iter().map(|&op| &story.operations[&op]).collect();
        core.sort_by_key(|operation| operation.call);
        for operation in core {
            line(out, format_args!("    {}", describe(operation)));
        }
    }
    for (number, attempt) in violation.attempts.iter().enumerate() {
        out.push('\n');
        let longest = match number {
            0 => "The longest order that fits",
            _ => "Another order that fits",
        };
        line(out, format_args!("  {longest}:"));
        render_attempt(out, story, attempt);
    }
}

fn render_attempt(out: &mut String, story: &Story, attempt: &Attempt) {
    let hidden = attempt.order.len().saturating_sub(MOST_OPERATIONS);
    if hidden > 0 {
        line(out, format_args!("    … {hidden} operations before"));
    }
    if attempt.order.is_empty() {
        line(out, format_args!("    none: no operation can be the first"));
    }
    let shown: Vec<String> =
        attempt.order[hidden..].iter().map(|operation| describe(&story.operations[operation])).collect();
    let width = shown.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let without_state = shown.len().saturating_sub(attempt.states.len());
    let skipped = attempt.states.len().saturating_sub(shown.len());
    let states =
        std::iter::repeat_n("", without_state).chain(attempt.states.iter().skip(skipped).map(String::as_str));
    for (text, state) in shown.iter().zip(states) {
        let row = format!(
            "    {text:<width$}  {}",
            if state.is_empty() { String::new() } else { format!("=> {state}") }
        );
        line(out, format_args!("{}", row.trim_end()));
    }
    if !attempt.next.is_empty() {
        line(out, format_args!("  after which there is no place for"));
    }
    for next in &attempt.next {
        line(
            out,
            format_args!(
                "    {}  ({})",
                describe(&story.operations[&next.operation]),
                why_not(next.fits, &next.expected)
            ),
        );
    }
}

fn render_methods(out: &mut String, story: &Story) {
    line(out, format_args!("How it was decided: {}", story.partitioning));
    for part in &story.parts {
        let work = match part.steps {
            0 => String::new(),
            steps => format!("; {steps} steps, at most {} configurations", part.widest.max(1)),
        };
        line(
            out,
            format_args!("  {}: {} by {} ({}{work})", title(part), part.verdict, part.method, part.reason),
        );
    }
}

fn title(part: &Part) -> String {
    let operations = if part.size == 1 { "operation" } else { "operations" };
    match &part.key {
        Some(key) => format!("key {key} ({} {operations})", part.size),
        None => format!("{} {operations}", part.size),
    }
}

fn describe(operation: &Operation) -> String {
    let mut text = format!("#{} process {}: {}", operation.index, operation.process, operation.text);
    if let Some(line) = operation.line {
        let _ = write!(text, " [line {line}]");
    }
    text
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}
