//! Documentation tests, which `cargo test` runs and `cargo raddle test` does not: who has some is told.

use std::fs;
use std::path::Path;

use crate::cargo::metadata::Package;
use crate::session::Session;

/// The selected packages whose documentation has tests that `cargo test` would run.
pub(crate) fn packages(session: &Session) -> Vec<&str> {
    let options = &session.options;
    if !options.targets.to_args().is_empty() {
        return Vec::new();
    }
    let selected: Vec<&Package> = match options.packages.is_default() {
        true => session.default_packages(),
        false => session.metadata.members().collect(),
    };
    let packages = &options.packages;
    let is_selected = |package: &&Package| {
        (packages.package.is_empty() || packages.package.contains(&package.name))
            && !packages.exclude.contains(&package.name)
    };
    let is_tested = |package: &&Package| {
        let library = package.library().filter(|library| library.doctest);
        library.and_then(|library| library.src_path.parent()).is_some_and(has_examples)
    };
    selected.into_iter().filter(is_selected).filter(is_tested).map(|package| &*package.name).collect()
}

/// Whether a file below a directory has an example in its documentation.
fn has_examples(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => has_examples(&path),
            _ if path.extension().is_some_and(|extension| extension == "rs") => {
                fs::read_to_string(&path).is_ok_and(|text| has_example(&text))
            }
            _ => false,
        }
    })
}

/// Whether a comment of documentation has a block of code that is tested.
fn has_example(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let mut fences = comments.filter_map(|comment| comment.trim_start().strip_prefix("```"));
    // Blocks have two fences.
    while let Some(opening) = fences.next() {
        let mut words = opening.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
        let is_tested =
            |word: &str| matches!(word, "rust" | "should_panic" | "no_run") || word.starts_with("edition");
        if words.all(is_tested) {
            return true;
        }
        fences.next();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_code_are_told_from_other_blocks() {
        for tested in
            ["/// ```\n/// f();\n/// ```", "  //! ```rust,no_run\n", "/// ```text\n/// ```\n/// ```\n"]
        {
            assert!(has_example(tested), "{tested}");
        }
        for other in ["", "/// f();", "/// ```text\n/// ```", "/// ```ignore\n/// ```", "// ```\n// ```"] {
            assert!(!has_example(other), "{other}");
        }
    }
}
