//! Everything of Raddle that reads text from outside, as functions that must not panic.
//!
//! `cargo xtask fuzz` calls them with inputs that libFuzzer makes up; `tests/corpus.rs` with the files in `corpus/`, which are inputs that
//! reach much of the code, and all that ever failed. Regressions files are read by `raddle` itself: its unit tests have that target.
#![forbid(unsafe_code)]

mod failure;
mod history;
mod text;

/// A parser, fed with any bytes: it must neither panic nor hang.
pub type Target = fn(&[u8]);

/// The targets by name. Each has a directory in `corpus/`.
pub const TARGETS: [(&str, Target); 6] = [
    ("failure", failure::failure),
    ("history", history::history),
    ("manifest", text::manifest),
    ("options", text::options),
    ("query", failure::query),
    ("schedule", text::schedule),
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}
