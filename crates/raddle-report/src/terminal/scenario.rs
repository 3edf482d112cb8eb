//! The scenario as a table: a column for each thread, its calls with their results.

use crate::failure::{Failure, Operation, Scenario};
use crate::narrative::words;
use crate::page::{Line, Page, Paint};

/// Prints the scenario.
pub(super) fn table(scenario: &Scenario, page: &mut Page) {
    page.blank();
    page.text(Paint::Bold, "scenario");
    sequence("before", &scenario.init, page);
    parallel(&scenario.parallel, page);
    sequence("after", &scenario.post, page);
}

/// Prints why the results are wrong.
pub(super) fn reasons(failure: &Failure, page: &mut Page) {
    if failure.reasons.is_empty() {
        return;
    }
    page.blank();
    page.text(Paint::Bold, "why it is wrong");
    for reason in &failure.reasons {
        let text = reason.trim_start();
        page.wrapped(2 + reason.len() - text.len(), 4, Line::of(Paint::Plain, text));
    }
}

/// Prints the code that asks for the scenario.
pub(super) fn code(scenario: &Scenario, page: &mut Page) {
    let Some(code) = &scenario.code else { return };
    page.blank();
    page.text(Paint::Bold, "to test this scenario first");
    for line in code.lines() {
        // Not wrapped: it is there to be copied.
        page.line(Line::of(Paint::Plain, format!("  {line}")));
    }
}

fn sequence(when: &str, operations: &[Operation], page: &mut Page) {
    if operations.is_empty() {
        return;
    }
    let mut line = Line::of(Paint::Dim, format!("{when}: "));
    for (number, operation) in operations.iter().enumerate() {
        line.push(Paint::Plain, if number == 0 { "" } else { "; " });
        line.push(Paint::Plain, in_words(operation));
    }
    page.wrapped(2, 8, line);
}

fn parallel(threads: &[Vec<Operation>], page: &mut Page) {
    let cells: Vec<Vec<String>> =
        threads.iter().map(|thread| thread.iter().map(in_words).collect()).collect();
    let widths: Vec<usize> = cells
        .iter()
        .map(|cells| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(4))
        .collect();
    // The scenario's threads are numbered from 1: 0 is the one that starts them.
    let thread = |column: usize| column as u32 + 1;
    let glyphs = page.style.glyphs();
    let total = 2 + widths.iter().map(|width| width + 3).sum::<usize>() + 1;
    if total > page.style.width {
        for (column, cells) in cells.iter().enumerate() {
            let mut line = Line::of(Paint::ThreadName(thread(column)), words::tag(thread(column)));
            line.push(Paint::Plain, format!("  {}", cells.join("; ")));
            page.wrapped(2, 4, line);
        }
        return;
    }
    let rule = |page: &mut Page, [left, middle, right]: [&str; 3]| {
        let rules: Vec<String> = widths.iter().map(|width| glyphs.rule.repeat(width + 2)).collect();
        page.text(Paint::Dim, format!("  {left}{}{right}", rules.join(middle)));
    };
    let row = |page: &mut Page, cell: &dyn Fn(usize) -> (Paint, String)| {
        let mut line = Line::of(Paint::Plain, "  ");
        let mut end = 2;
        for (column, width) in widths.iter().enumerate() {
            line.push(Paint::Dim, glyphs.bar);
            let (paint, text) = cell(column);
            line.push(Paint::Plain, " ");
            line.push(paint, text);
            end += width + 3;
            line.pad_to(end);
        }
        line.push(Paint::Dim, glyphs.bar);
        page.line(line);
    };
    rule(page, glyphs.table[0]);
    row(page, &|column| (Paint::ThreadName(thread(column)), words::tag(thread(column))));
    rule(page, glyphs.table[1]);
    for number in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        row(page, &|column| {
            let text = cells[column].get(number).cloned().unwrap_or_default();
            (Paint::Plain, text)
        });
    }
    rule(page, glyphs.table[2]);
}

fn in_words(operation: &Operation) -> String {
    match &operation.result {
        Some(result) => format!("{} -> {result}", operation.call),
        None => format!("{} did not return", operation.call),
    }
}
