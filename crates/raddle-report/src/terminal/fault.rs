//! The steps towards a memory error or data race, with their call stacks.

use crate::failure::{Failure, Fault};
use crate::narrative::calls::{Lines, calls, short};
use crate::narrative::{ending, words};
use crate::page::{Line, Page, Paint};

/// The largest number of printed steps: a leak may be of many blocks.
const MAX_STEPS: usize = 8;

/// Prints each step with its thread, source line and calls.
pub(super) fn steps(failure: &Failure, fault: &Fault, page: &mut Page) {
    let lines = Lines::of(&failure.trace);
    page.blank();
    let names = fault.steps.iter().map(|step| words::full_name(failure, step.thread).chars().count());
    let name = names.max().unwrap_or(0);
    for step in fault.steps.iter().take(MAX_STEPS) {
        let mut line = Line::of(Paint::ThreadName(step.thread), words::full_name(failure, step.thread));
        line.pad_to(name + 2);
        line.push(Paint::Plain, ending::fault_step(fault, step));
        let around = calls(&failure.trace, step.at, &lines);
        if let Some(source) = &around.line {
            line.push(Paint::Dim, format!(", at {source}"));
        }
        page.wrapped(2, name + 2, line);
        for (depth, level) in around.levels.iter().take(around.own).rev().enumerate() {
            let function = short(&level.function);
            let text = match &level.called_at {
                Some(source) if depth + 1 < around.own => format!("in {function}, called at {source}"),
                _ => format!("in {function}"),
            };
            page.wrapped(2 + name + 2 + 2, 2, Line::of(Paint::Dim, text));
        }
    }
    if let Some(more) = fault.steps.len().checked_sub(MAX_STEPS).filter(|&more| more > 0) {
        page.wrapped(2, 2, Line::of(Paint::Dim, format!("and {more} more")));
    }
}
