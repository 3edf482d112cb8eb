//! Specification files.

use std::fs;
use std::path::Path;

use raddle_refine::spec::{Language, Loaded, Spec};

use crate::error::{Error, Result};

/// Reads a specification. All its mistakes are in the error, one a line.
pub(crate) fn load(path: &Path) -> Result<Loaded> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let language = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Language::Toml,
        _ => Language::Json,
    };
    Spec::read(&text, language).map_err(|mistakes| {
        let lines: Vec<String> =
            mistakes.iter().map(|mistake| format!("{}: {mistake}", path.display())).collect();
        Error::usage(lines.join("\n"))
    })
}
