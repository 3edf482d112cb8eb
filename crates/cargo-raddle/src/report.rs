//! Failure files, as the commands use them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use raddle_report::{Failure, Style};

use crate::error::{Error, Result};
use crate::terminal::Terminal;

/// Reads a failure file; what is wrong with it is one sentence.
pub(crate) fn read(path: &Path) -> Result<Failure> {
    Failure::read(path).map_err(Error::usage)
}

/// The failure files of a directory that were written since a moment, in the order of their names.
pub(crate) fn written_since(directory: &Path, since: SystemTime) -> Vec<PathBuf> {
    let is_new = |path: &PathBuf| {
        let written = std::fs::metadata(path).and_then(|data| data.modified());
        // File times are coarser than the clock.
        written.is_ok_and(|time| time + Duration::from_secs(1) >= since)
    };
    let is_failure = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let files = std::fs::read_dir(directory).into_iter().flatten();
    let mut files: Vec<PathBuf> =
        files.filter_map(|entry| Some(entry.ok()?.path())).filter(is_failure).filter(is_new).collect();
    files.sort();
    files
}

/// The report of a failure from `path`.
pub(crate) fn render(failure: &Failure, path: &Path, terminal: &Terminal) -> String {
    raddle_report::render(failure, style(terminal), Some(path))
}

/// How pages look on a terminal.
pub(crate) fn style(terminal: &Terminal) -> Style {
    Style { width: terminal.columns.into(), colour: terminal.color, ..Style::detect() }
}
