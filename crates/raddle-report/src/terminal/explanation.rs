//! The section "why it could happen": the diagnosis of an execution in words.

use crate::failure::Failure;
use crate::narrative::explanation::{ExplainedStep, Explanation, explanation};
use crate::narrative::words;
use crate::page::{Line, Page, Paint};

/// Prints the cycles of an execution and its data race, each with the repairs that would forbid it.
pub(super) fn print(failure: &Failure, page: &mut Page) {
    let walks = match explanation(failure) {
        None => return,
        Some(Explanation::Interleaving) => {
            page.blank();
            let text = "Weak memory has no part in this: every read sees the newest write.";
            return page.wrapped(0, 0, Line::of(Paint::Dim, text));
        }
        Some(Explanation::Walks(walks)) => walks,
    };
    page.blank();
    page.text(Paint::Bold, "why it could happen");
    for walk in walks {
        page.wrapped(2, 0, Line::of(Paint::Plain, walk.opening));
        steps(&walk.steps, page);
        for note in walk.notes {
            page.wrapped(2, 0, Line::of(Paint::Plain, note));
        }
        if let Some(repairs) = walk.repairs {
            page.wrapped(2, 0, Line::of(Paint::Bold, repairs));
        }
    }
}

/// Prints a row for each step of a walk: thread, event, source line and relation to the row above.
fn steps(steps: &[ExplainedStep], page: &mut Page) {
    let rows: Vec<[String; 4]> = steps
        .iter()
        .map(|step| {
            [
                words::tag(step.thread),
                step.text.clone(),
                step.line.clone().unwrap_or_default(),
                step.relation.clone(),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let event_column = 4 + width(0) + 2;
    let line_column = event_column + width(1) + 2;
    let relation_column = line_column + width(2) + 2;
    let fits = relation_column + width(3) <= page.style.width;
    for ([tag, event, line, relation], step) in rows.iter().zip(steps) {
        let thread = step.thread;
        if fits {
            let mut row = Line::of(Paint::Plain, "    ").with(Paint::ThreadName(thread), tag);
            row.pad_to(event_column);
            row.push(Paint::Thread(thread), event);
            row.pad_to(line_column);
            row.push(Paint::Dim, line);
            row.pad_to(relation_column);
            row.push(Paint::Plain, relation);
            page.line(row);
            continue;
        }
        let mut row = Line::of(Paint::ThreadName(thread), tag);
        row.pad_to(width(0) + 2);
        row.push(Paint::Thread(thread), event);
        if !line.is_empty() {
            row.push(Paint::Dim, format!(", {line}"));
        }
        page.wrapped(4, width(0) + 4, row);
        if !relation.is_empty() {
            page.wrapped(event_column + 2, 0, Line::of(Paint::Plain, relation));
        }
    }
}
