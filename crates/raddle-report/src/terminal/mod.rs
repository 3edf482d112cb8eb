//! A failure as a page in the terminal: what went wrong, who waits for whom, and how it came about.

pub(crate) mod calls;
mod fault;
pub(crate) mod interest;
mod interleaving;
mod layout;
pub(crate) mod places;
mod scenario;
mod starter;
mod style;
mod summary;
pub(crate) mod text;
mod tidy;
mod why;
pub(crate) mod words;

use std::path::Path;

use crate::failure::Failure;

pub use style::Style;

/// Renders a failure; `file` is where it was written, for the line that tells how to replay it.
///
/// ```
/// # let example = include_str!("../../tests/example.json");
/// # let failure: raddle_report::Failure = serde_json::from_str(example).unwrap();
/// use raddle_report::{Style, render};
///
/// let page = render(&failure, Style { width: 80, colour: false, unicode: true }, None);
/// assert!(page.starts_with("error: panic in test `counter::lost_update`"));
/// ```
pub fn render(failure: &Failure, style: Style, file: Option<&Path>) -> String {
    let mut page = text::Page::new(style);
    summary::headline(failure, &mut page);
    if let Some(fault) = &failure.fault {
        fault::steps(failure, fault, &mut page);
    }
    summary::threads(failure, &mut page);
    if let Some(scenario) = &failure.scenario {
        scenario::table(scenario, &mut page);
        scenario::reasons(failure, &mut page);
    }
    why::why_it_could_happen(failure, &mut page);
    let shown = starter::without_starter(failure);
    layout::interleaving(shown.as_ref().unwrap_or(failure), &mut page);
    if let Some(scenario) = &failure.scenario {
        scenario::code(scenario, &mut page);
    }
    summary::how_to_replay(failure, file, &mut page);
    page.finish()
}

/// Renders why a failing execution was possible: which of its reads and writes no order explains, which synchronisation is
/// missing, and which memory orders would have ruled it out. Empty if there is nothing to explain.
pub fn render_why(failure: &Failure, style: Style) -> String {
    let mut page = text::Page::new(style);
    why::why_it_could_happen(failure, &mut page);
    page.finish().trim_start().to_owned()
}
