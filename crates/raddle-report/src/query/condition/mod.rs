//! Conditions on objects and locations, and when they hold.
//!
//! `queue.len > 1`, `Node#1.next == null && !Node#1.freed`: the language is described in `QUERY.md`.
//!
//! - `parse`: the text of a condition as a tree.
//! - `evaluate`: the value of a tree at one time of the execution.

mod evaluate;
mod parse;

use super::answer::{Span, When};
use super::{Index, NoAnswer};
use crate::failure::Action;

use evaluate::State;
use parse::Names;

/// Whether a text is a condition and not the name of a location.
pub(super) fn is_condition(text: &str) -> bool {
    let compares = ["==", "!=", "<=", ">=", " < ", " > ", " is ", "&&", "||"];
    compares.iter().any(|sign| text.contains(sign)) || text.starts_with('!') || text.ends_with(".freed")
}

/// The spans of time in which a condition holds.
pub(super) fn when(index: &Index<'_>, text: &str) -> Result<When, NoAnswer> {
    let condition = parse::parse(text, &Names::of(index)).map_err(NoAnswer)?;
    let mut state = State::before_first_event(index);
    let mut spans: Vec<Span> = Vec::new();
    let mut holds = state.holds(&condition);
    if holds {
        spans.push(Span { from: None, until: None });
    }
    for (number, event) in index.events().iter().enumerate() {
        state.apply(number, event);
        // Other events change nothing that a condition can mention.
        let is_quiet = event.changes.is_empty()
            && event.action.written().is_none()
            && !matches!(event.action, Action::Free { .. })
            && !state.has_freed();
        if is_quiet {
            continue;
        }
        let now = state.holds(&condition);
        match (holds, now) {
            (false, true) => spans.push(Span { from: Some(index.moment(number)), until: None }),
            (true, false) => {
                let open = spans.last_mut().expect("a condition that holds has a span");
                open.until = Some(index.moment(number));
            }
            _ => {}
        }
        holds = now;
    }
    if let Some(path) = state.never_known() {
        return Err(NoAnswer(format!(
            "`{path}` has no value at any event: the object has no such field, or its values are not recorded"
        )));
    }
    Ok(When { condition: text.trim().to_owned(), spans })
}
