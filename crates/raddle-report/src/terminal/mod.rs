//! The report in the terminal. Each section of the page has a file.

mod explanation;
mod fault;
mod interleaving;
mod log;
mod scenario;
mod summary;

pub use log::{deadlock_sentence, render_log};

use std::path::Path;

use crate::failure::Failure;
use crate::narrative::starter;
use crate::page::{Page, Style};

/// Renders the report of a failure. `file` is the path of the failure file, for the command that replays it.
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
    report(failure, style, file, false)
}

/// Renders the report of a failure with the numbers of its events, by which questions name them.
pub fn render_numbered(failure: &Failure, style: Style, file: Option<&Path>) -> String {
    report(failure, style, file, true)
}

fn report(failure: &Failure, style: Style, file: Option<&Path>, numbered: bool) -> String {
    let mut page = Page::new(style);
    summary::headline(failure, &mut page);
    if let Some(fault) = &failure.fault {
        fault::steps(failure, fault, &mut page);
    }
    summary::threads(failure, &mut page);
    if let Some(scenario) = &failure.scenario {
        scenario::table(scenario, &mut page);
        scenario::reasons(failure, &mut page);
    }
    explanation::print(failure, &mut page);
    let shown = starter::without_starter(failure);
    let numbers = numbered.then(|| starter::kept(failure));
    interleaving::print(shown.as_ref().unwrap_or(failure), numbers.as_deref(), &mut page);
    if let Some(scenario) = &failure.scenario {
        scenario::code(scenario, &mut page);
    }
    summary::how_to_replay(failure, file, &mut page);
    page.finish()
}

/// Renders the diagnosis of a failing execution: cycles of reads and writes, missing synchronisation, and the memory orders that
/// would have forbidden the execution. Empty if there is nothing to explain.
pub fn render_why(failure: &Failure, style: Style) -> String {
    let mut page = Page::new(style);
    explanation::print(failure, &mut page);
    page.finish().trim_start().to_owned()
}
