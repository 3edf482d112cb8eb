//! Announcements of plain accesses: once each.
//!
//! The address sanitizer's pass announces plain accesses (see [`crate::instrument::ANNOUNCED`]). The thread sanitizer's pass does so, too, once in
//! each of its runs: what it cannot do without is to announce volatile accesses and copies. What it says of plain accesses is removed: its
//! calls are renamed, functions of the new names are said to do nothing, so that calls of them are dead code, and dead code is deleted.
//! So is what the address sanitizer's pass calls before a function that does not return.
//!
//! Where a compiler did not do all of that, the calls that remain would do nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::instrument::key;

/// What a function that does nothing is like. `memory` without more means that it touches none.
const DOES_NOTHING: [&str; 3] = ["memory", "willreturn", "nounwind"];

/// Writes down how the calls to remove are renamed; returns the file.
pub(crate) fn write_renames(directory: &Path) -> Result<PathBuf> {
    let line = |name: String| format!("function: {{ source: __{name}, target: {} }}\n", renamed(&name));
    let text: String = removed().map(line).collect();
    let file = directory.join(format!("renames-{}.yaml", key(&[&text])));
    if !file.exists() {
        // In one step: another build may be reading it.
        let scratch = directory.join(format!("renames.{}", std::process::id()));
        fs::write(&scratch, text).map_err(Error::file("write", &scratch))?;
        fs::rename(&scratch, &file).map_err(Error::file("write", &file))?;
    }
    Ok(file)
}

/// The arguments that have the calls removed.
pub(crate) fn flags(renames: &Path) -> impl Iterator<Item = String> {
    let attributes = removed().flat_map(|name| {
        DOES_NOTHING.map(|attribute| format!("llvm-args=-force-attribute={}:{attribute}", renamed(&name)))
    });
    let file = format!("llvm-args=-rewrite-map-file={}", renames.display());
    attributes.chain([file]).flat_map(|argument| ["-C".to_owned(), argument])
}

fn renamed(name: &str) -> String {
    format!("__raddle_removed_{name}")
}

/// The functions whose calls are removed, without the underscores before their names.
fn removed() -> impl Iterator<Item = String> {
    let accesses =
        ["", "unaligned_"].into_iter().flat_map(|kind| ["read", "write"].map(|access| (kind, access)));
    let accesses =
        accesses.flat_map(|(kind, access)| [1, 2, 4, 8, 16].map(|size| format!("tsan_{kind}{access}{size}")));
    accesses.chain(["asan_handle_no_return".to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument;
    use std::process::Command;

    /// The assembly of some functions.
    fn assembly(options: &[&str], source: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.rs");
        fs::write(&file, format!("#![crate_type = \"lib\"]\n{source}")).unwrap();
        let renames = write_renames(directory.path()).unwrap();
        let output = directory.path().join("a.s");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "--emit=asm", "-Ccodegen-units=1", "-o"]).arg(&output).arg(&file);
        let status = rustc.args(options).args(instrument::flags(Some(&renames))).status().unwrap();
        assert!(status.success());
        fs::read_to_string(output).unwrap()
    }

    const LEVELS: [&str; 6] = [
        "-Copt-level=0",
        "-Copt-level=1",
        "-Copt-level=2",
        "-Copt-level=3",
        "-Copt-level=s",
        "-Copt-level=z",
    ];

    /// The code of one function.
    fn code<'a>(assembly: &'a str, function: &str) -> &'a str {
        let code = assembly.split(&format!("\n{function}:")).nth(1);
        code.and_then(|rest| rest.split(".cfi_endproc").next()).expect("the function is there")
    }

    /// The functions of sanitizers that code calls, without the names of registers.
    fn called(code: &str) -> Vec<&str> {
        let words = code.split(|at: char| !at.is_alphanumeric() && at != '_');
        let calls = words
            .filter(|word| ["__asan_", "__tsan_", "__raddle_"].iter().any(|prefix| word.starts_with(prefix)));
        calls
            .map(|call| match call.starts_with("__asan_check_") {
                true => call.rsplit_once('_').map_or(call, |(name, _)| name),
                false => call,
            })
            .collect()
    }

    const READ: &str = "__asan_check_load_add_8";
    const WRITE: &str = "__asan_check_store_add_8";

    #[test]
    fn accesses_are_announced_once_whether_optimised_or_not() {
        for level in LEVELS {
            let assembly = assembly(
                &[level],
                "#[unsafe(no_mangle)] pub fn copy(to: &mut u64, from: &u64) { *to = *from; }
                #[unsafe(no_mangle)] pub fn change(at: &mut u64) { *at ^= 1; }
                #[unsafe(no_mangle)] pub fn unaligned(at: *const u64) -> u64 { unsafe { at.read_unaligned() } }",
            );
            assert_eq!(called(code(&assembly, "copy")), [READ, WRITE], "{level}");
            assert_eq!(called(code(&assembly, "change")), [READ, WRITE], "{level}");
            assert!(assembly.contains(READ) || assembly.contains("memcpy"), "{level}");
        }
    }

    #[test]
    fn volatile_accesses_are_announced_as_such_and_right_after_as_plain_ones() {
        let source = "#[unsafe(no_mangle)] pub fn read(at: *const u64) -> u64 { unsafe { core::intrinsics::volatile_load(at) } }";
        let source = source.replace("core::intrinsics::volatile_load(at)", "at.read_volatile()");
        for level in LEVELS {
            let options = [level, "-Cdebug-assertions=off"];
            let assembly = assembly(&options, &source);
            let function = if level.ends_with('0') { assembly.as_str() } else { code(&assembly, "read") };
            let mut called = called(function);
            called.dedup();
            let at = called.iter().position(|call| *call == "__tsan_volatile_read8").expect(level);
            assert_eq!(called.get(at + 1), Some(&READ), "{level}: {called:?}");
        }
    }

    #[test]
    fn atomic_accesses_are_calls_and_nothing_else_of_the_passes_remains() {
        for level in LEVELS {
            let assembly = assembly(
                &[level],
                "use std::sync::atomic::{AtomicU64, Ordering};
                #[unsafe(no_mangle)] pub fn max(at: &AtomicU64) -> u64 { at.fetch_max(7, Ordering::Relaxed) }
                #[unsafe(no_mangle)] pub fn fail(at: &[u32], index: usize) -> u32 { assert!(index > 7); at[index] }",
            );
            assert!(assembly.contains("__tsan_atomic64_compare_exchange_val"), "{level}");
            assert!(!assembly.contains("cmpxchg"), "{level}");
            let is_announcement = |call: &&str| {
                call.starts_with("__asan_check_") || *call == "__asan_loadN" || *call == "__asan_storeN"
            };
            let is_other =
                |call: &&str| !call.starts_with("__tsan_atomic") && !call.starts_with("__tsan_mem");
            let others: Vec<_> = called(&assembly)
                .into_iter()
                .filter(|call| !is_announcement(call) && is_other(call))
                .collect();
            assert_eq!(others, [""; 0], "{level}");
            assert!(!assembly.contains("asan.module"), "{level}");
        }
    }

    /// The call pushes a return address below the stack pointer.
    #[test]
    fn functions_that_call_nothing_else_keep_their_values_above_the_stack_pointer() {
        for level in LEVELS {
            let assembly = assembly(
                &[level, "-Cdebug-assertions=off"],
                "#[unsafe(no_mangle)] pub fn leaf(a: &[u64; 8], i: usize) -> u64 {
                    let t = [a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]];
                    t[i & 7]
                }",
            );
            let leaf = code(&assembly, "leaf");
            assert!(leaf.contains("__asan_check_load_add_8"), "{level}: {leaf}");
            let frame = leaf.contains("%rsp, %rbp") || leaf.contains("rbp, rsp");
            assert!(frame && (leaf.contains("subq") || leaf.contains("sub\trsp")), "{level}: {leaf}");
        }
    }
}
