//! The failure as one HTML file: no network, no build step, opens from disk.
//!
//! | part | contents |
//! |---|---|
//! | `view` | the words of the narrative as data, which the page shows beside the failure itself |
//! | `sources` | the lines of source code that the trace mentions |
//! | `embed` | text and JSON inside of HTML; hashes for the content security policy |
//! | `app/` | template, style sheet and plain JavaScript, a file for each idea |
//!
//! **Invariant:** the page shows the failure model and the narrative. Names, values and source text are data: JavaScript sets
//! them as text, never as HTML.

mod embed;
mod sha256;
mod sources;
#[cfg(test)]
mod tests;
mod view;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use crate::failure::Failure;
use crate::page::Style;
use crate::terminal::render;

pub use sources::{SourceFile, Sources};
pub use view::{RowView, Spot, TraceView};

const TEMPLATE: &str = include_str!("app/page.html");
const STYLE: &str = include_str!("app/style.css");
/// The parts of the program, in the order in which they are defined.
const SCRIPT: [&str; 15] = [
    include_str!("app/dom.js"),
    include_str!("app/model.js"),
    include_str!("app/objects.js"),
    include_str!("app/index.js"),
    include_str!("app/rows.js"),
    include_str!("app/trace.js"),
    include_str!("app/scenario.js"),
    include_str!("app/layout.js"),
    include_str!("app/diagram.js"),
    include_str!("app/source.js"),
    include_str!("app/why.js"),
    include_str!("app/questions.js"),
    include_str!("app/passing.js"),
    include_str!("app/timeline.js"),
    include_str!("app/main.js"),
];

/// The page of a failure. The command that replays the failure is shown if [`Failure::file`] is known.
///
/// ```
/// # let example = include_str!("../../tests/example.json");
/// # let failure: raddle_report::Failure = serde_json::from_str(example).unwrap();
/// use raddle_report::html::{Sources, page};
///
/// let sources = Sources::of(&failure, |file| std::fs::read_to_string(file).ok());
/// assert!(page(&failure, &sources).starts_with("<!DOCTYPE html>"));
/// ```
pub fn page(failure: &Failure, sources: &Sources) -> String {
    let script = script();
    let plain = Style { width: 100, colour: false, unicode: true };
    let parts: [(&str, &str); 8] = [
        ("{{title}}", &embed::text(&format!("{}: {}", view::class(failure), failure.test))),
        ("{{script-hash}}", &embed::csp_hash(&script)),
        ("{{style-hash}}", &embed::csp_hash(STYLE)),
        ("{{style}}", STYLE),
        ("{{report}}", &embed::text(&render(failure, plain, failure.file.as_deref()))),
        ("{{failure}}", &embed::json(failure)),
        ("{{view}}", &embed::json(&view::View::of(failure, sources))),
        ("{{script}}", &script),
    ];
    embed::fill(TEMPLATE, &parts)
}

/// Writes the page of a failure. The page takes the place of an older one at once: no reader sees half of it.
///
/// # Errors
/// If the system refuses to write the file.
pub fn write(failure: &Failure, sources: &Sources, path: &Path) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Other processes and other threads may be writing the same page.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()));
    let written = fs::write(&temporary, page(failure, sources)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // There may be nothing to remove.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPT.concat())
}
