//! Announcements of plain accesses: once each.
//!
//! The thread sanitizer's pass has to run twice (see [`crate::instrument::FLAGS`]), and in optimised code each run announces every
//! plain access. What the first run announces is removed between the two: its calls are renamed, functions of the new names
//! are said to do nothing, so that calls of them are dead code, and dead code is deleted. The second run announces by the
//! usual names, of which nothing is said.
//!
//! Where a compiler did not do all of that, accesses would be announced twice, which costs time and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::instrument::key;

/// What a function that does nothing is like. `memory` without more means that it touches none.
const DOES_NOTHING: [&str; 3] = ["memory", "willreturn", "nounwind"];

/// Writes down how the first run's announcements are renamed; returns the file.
pub(crate) fn write_renames(directory: &Path) -> Result<PathBuf> {
    let line = |name: String| format!("function: {{ source: __tsan_{name}, target: {} }}\n", renamed(&name));
    let text: String = announcements().map(line).collect();
    let file = directory.join(format!("renames-{}.yaml", key(&[&text])));
    if !file.exists() {
        // In one step: another build may be reading it.
        let scratch = directory.join(format!("renames.{}", std::process::id()));
        fs::write(&scratch, text).map_err(Error::file("write", &scratch))?;
        fs::rename(&scratch, &file).map_err(Error::file("write", &file))?;
    }
    Ok(file)
}

/// The arguments that have the first run's announcements removed.
pub(crate) fn flags(renames: &Path) -> impl Iterator<Item = String> {
    let attributes = announcements().flat_map(|name| {
        DOES_NOTHING.map(|attribute| format!("llvm-args=-force-attribute={}:{attribute}", renamed(&name)))
    });
    let file = format!("llvm-args=-rewrite-map-file={}", renames.display());
    attributes.chain([file]).flat_map(|argument| ["-C".to_owned(), argument])
}

fn renamed(name: &str) -> String {
    format!("__raddle_first_{name}")
}

/// What plain accesses are announced by, after `__tsan_`.
fn announcements() -> impl Iterator<Item = String> {
    let kinds = ["", "unaligned_", "volatile_", "unaligned_volatile_"];
    let accesses = kinds.into_iter().flat_map(|kind| ["read", "write"].map(|access| (kind, access)));
    accesses.flat_map(|(kind, access)| [1, 2, 4, 8, 16].map(|size| format!("{kind}{access}{size}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument;
    use std::process::Command;

    /// Compiles a function that reads and writes, and one with an operation that the first run leaves alone.
    fn assembly(options: &[&str]) -> String {
        const SOURCE: &str = "
            #![crate_type = \"lib\"]
            use std::sync::atomic::{AtomicU64, Ordering};
            #[unsafe(no_mangle)] pub fn copy(to: &mut u64, from: &u64) { *to = *from; }
            #[unsafe(no_mangle)] pub fn max(at: &AtomicU64) -> u64 { at.fetch_max(7, Ordering::Relaxed) }";
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("a.rs");
        fs::write(&source, SOURCE).unwrap();
        let renames = write_renames(directory.path()).unwrap();
        let output = directory.path().join("a.s");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "--emit=asm", "-Ccodegen-units=1", "-o"]).arg(&output).arg(&source);
        let status = rustc.args(options).args(instrument::flags(Some(&renames))).status().unwrap();
        assert!(status.success());
        fs::read_to_string(output).unwrap()
    }

    #[test]
    fn accesses_are_announced_once_whether_optimised_or_not() {
        for options in [&["-Copt-level=0"], &["-Copt-level=3"]] {
            let assembly = assembly(options);
            let copy = assembly.split("\ncopy:").nth(1).and_then(|rest| rest.split(".cfi_endproc").next());
            let copy = copy.expect("the function is there");
            assert_eq!(copy.matches("__tsan_read8").count(), 1, "{options:?}: {copy}");
            assert_eq!(copy.matches("__tsan_write8").count(), 1, "{options:?}: {copy}");
            assert!(assembly.contains("__tsan_atomic64_compare_exchange_val"), "{options:?}");
            assert!(!assembly.contains("cmpxchg"), "{options:?}");
        }
    }
}
