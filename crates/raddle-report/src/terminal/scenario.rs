//! The section "scenario": a table with a column for each thread, and the explanation of incorrect results.

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

/// Prints the explanation of incorrect results.
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

/// Prints the code that makes a test run the scenario first.
pub(super) fn code(scenario: &Scenario, page: &mut Page) {
    let Some(code) = &scenario.code else { return };
    page.blank();
    // A setting of the attribute is no code by itself.
    let is_setting = code.starts_with("scenario = ");
    let place = if is_setting { ", add this to `#[raddle::test(..)]`" } else { "" };
    page.text(Paint::Bold, format!("to test this scenario first{place}"));
    for line in code.lines() {
        // Not wrapped, so that it can be copied.
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
    // Thread 0 starts the threads of the scenario, which are numbered from 1.
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
