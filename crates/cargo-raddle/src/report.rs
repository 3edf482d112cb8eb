//! Failure files, as the commands use them.

use std::path::Path;

use raddle_report::{Failure, Style};

use crate::error::{Error, Result};
use crate::terminal::Terminal;

/// Reads a failure file; what is wrong with it is one sentence.
pub(crate) fn read(path: &Path) -> Result<Failure> {
    Failure::read(path).map_err(Error::usage)
}

/// The report of a failure from `path`.
pub(crate) fn render(failure: &Failure, path: &Path, terminal: &Terminal) -> String {
    raddle_report::render(failure, style(terminal), Some(path))
}

/// How pages look on a terminal.
pub(crate) fn style(terminal: &Terminal) -> Style {
    Style { width: terminal.columns.into(), colour: terminal.color, ..Style::detect() }
}
