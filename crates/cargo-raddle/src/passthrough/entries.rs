//! Functions of the standard library that wait for other threads or wake them, and that programs call as they were compiled.
//!
//! Their code is not instrumented, so whatever they do until they enter the kernel would belong to the step before: nothing
//! could come between the last access of the caller and, say, `Condvar::wait`'s look at its own state, and a wake-up that is
//! lost there would never be seen. So the linker is told to `--wrap` them: calls go to a few instructions that first let
//! other threads go on, and then to the function.
//!
//! Their names depend on the compiler's version. A small program that needs them tells what they are.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo::remove_package_variables;

/// A program that calls them.
pub(super) const PROBE: &str = include_str!("probe.rs");

/// How their linkage names end. Their numbers in this list are what `raddle-intercept` knows them by.
const ENDINGS: [&str; 20] = [
    "7Condvar4wait",
    "7Condvar12wait_timeout",
    "7Condvar10notify_one",
    "7Condvar10notify_all",
    "6RwLock14read_contended",
    "6RwLock15write_contended",
    "9functions4park",
    "9functions12park_timeout",
    // The last parts of channels that wait.
    "6Thread4park",
    "6Thread12park_timeout",
    ONCE,
    "7Barrier4wait",
    "9ScopeData29decrement_num_running_threads",
    ONCE_WAIT,
    ONCE_WAIT_FORCE,
    // What they lock is unlocked in the program's own code.
    "5Stdin4lock",
    "5Stdin5lines",
    "6Stdout4lock",
    "6Stderr4lock",
    "9ScopeData29increment_num_running_threads",
];

const ONCE: &str = "4Once4call";
const ONCE_WAIT: &str = "4Once4wait";
const ONCE_WAIT_FORCE: &str = "4Once10wait_force";

/// The linkage names of the functions. Those that this std does not have, or calls otherwise, are not among them; none are
/// known for other machines than the engine's.
pub(super) fn names(rustc: &OsStr, target: &str, scratch: &Path) -> Vec<String> {
    if !target.starts_with("x86_64") || !target.contains("linux-gnu") {
        return Vec::new();
    }
    let source = scratch.join("probe.rs");
    let object = scratch.join("probe.o");
    let mut command = Command::new(rustc);
    remove_package_variables(&mut command);
    command.args([
        "--crate-name",
        "raddle_probe",
        "--edition",
        "2024",
        "--crate-type",
        "rlib",
        "--emit",
        "obj",
    ]);
    command.args(["-C", "codegen-units=1", "--target", target, "-o"]).arg(&object).arg(&source);
    let compiled = std::fs::write(&source, PROBE).is_ok()
        && command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success());
    match std::fs::read(&object) {
        Ok(bytes) if compiled => select(&bytes),
        _ => Vec::new(),
    }
}

fn select(object: &[u8]) -> Vec<String> {
    let mut names = undefined_symbols(object).unwrap_or_default();
    names.retain(|name| name.contains("3std") && ENDINGS.iter().any(|ending| name.ends_with(ending)));
    names.sort();
    names
}

/// Rust source of what is called in their place: something that may answer the call, and else the function itself. Those of
/// `Once` are always called, because panics come out of them: for the once itself, or for a copy of it whose state is known.
pub(super) fn wrappers(names: &[String]) -> String {
    let mut source = String::from("\npub mod std_entries {\n    use core::arch::naked_asm;\n");
    for (number, name) in names.iter().enumerate() {
        let ending = ENDINGS.into_iter().find(|ending| name.ends_with(ending)).unwrap_or_default();
        let function = ENDINGS.iter().position(|known| *known == ending).unwrap_or(ENDINGS.len());
        source += &match ending {
            ONCE => format!(
                r#"
    unsafe extern "C-unwind" {{
        #[link_name = "__real_{name}"]
        fn real{number}(once: *mut u32, b: usize, c: usize, d: usize, e: usize);
    }}
    struct Ends{number}(*mut u32, *mut u32);
    impl Drop for Ends{number} {{
        fn drop(&mut self) {{
            unsafe extern "C" {{
                fn __raddle_once_ends(once: *mut u32, called: *mut u32);
            }}
            // SAFETY: the once that was called, or the copy that was in its place.
            unsafe {{ __raddle_once_ends(self.0, self.1) }};
        }}
    }}
    #[unsafe(export_name = "__wrap_{name}")]
    pub unsafe extern "C-unwind" fn entry{number}(once: *mut u32, b: usize, c: usize, d: usize, e: usize) {{
        unsafe extern "C" {{
            fn __raddle_once_begins(once: *mut u32, copy: *mut u32) -> *mut u32;
        }}
        let mut copy = 0;
        // SAFETY: the arguments are passed on as they came, or with a once that is as good.
        unsafe {{
            let ends = Ends{number}(once, __raddle_once_begins(once, &raw mut copy));
            real{number}(ends.1, b, c, d, e);
        }}
    }}
"#
            ),
            ONCE_WAIT | ONCE_WAIT_FORCE => format!(
                r#"
    unsafe extern "C-unwind" {{
        #[link_name = "__real_{name}"]
        fn real{number}(once: *mut u32);
    }}
    #[unsafe(export_name = "__wrap_{name}")]
    pub unsafe extern "C-unwind" fn entry{number}(once: *mut u32) {{
        unsafe extern "C" {{
            fn __raddle_once_waits(once: *mut u32, copy: *mut u32, force: bool) -> *mut u32;
        }}
        let mut copy = 0;
        // SAFETY: as above.
        unsafe {{ real{number}(__raddle_once_waits(once, &raw mut copy, {force})) }};
    }}
"#,
                force = ending == ONCE_WAIT_FORCE
            ),
            _ => format!(
                r#"
    #[unsafe(naked)]
    #[unsafe(export_name = "__wrap_{name}")]
    pub unsafe extern "C" fn entry{number}() {{
        naked_asm!(
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
            "mov r9d, {function}",
            "call __raddle_std_call",
            "mov r10, rax", "mov r11, rdx",
            "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "test r10, r10",
            "jnz 2f",
            "jmp __real_{name}",
            "2:",
            "mov rax, r11",
            "ret",
        )
    }}
"#
            ),
        };
    }
    source + "}\n"
}

/// The symbols that a relocatable ELF file of 64 bits needs; none if it is something else.
fn undefined_symbols(object: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize, len: usize| {
        let bytes = object.get(at..at + len)?;
        Some(bytes.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    if !object.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let section = |index: usize| {
        let header = headers + index * size;
        Some((
            number(header + 4, 4)?,
            number(header + 0x18, 8)?,
            number(header + 0x20, 8)?,
            number(header + 0x28, 4)?,
        ))
    };
    const SYMBOLS: usize = 2;
    const SYMBOL_SIZE: usize = 24;
    let (_, start, len, strings) = (0..count).filter_map(section).find(|&(kind, ..)| kind == SYMBOLS)?;
    let (_, strings, ..) = section(strings)?;
    let symbols = (start..start + len).step_by(SYMBOL_SIZE);
    let undefined = symbols.filter(|&symbol| number(symbol + 6, 2) == Some(0));
    let name = |symbol| {
        let name = object.get(strings + number(symbol, 4)?..)?;
        let end = name.iter().position(|&byte| byte == 0)?;
        String::from_utf8(name[..end].to_vec()).ok()
    };
    Some(undefined.filter_map(name).filter(|name| !name.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_compilers_std_has_all_of_them() {
        let scratch = tempfile::tempdir().unwrap();
        let names = names(OsStr::new("rustc"), "x86_64-unknown-linux-gnu", scratch.path());
        assert_eq!(names.len(), ENDINGS.len(), "{names:#?}");
        assert!(wrappers(&names).contains("__wrap__R"));
    }

    #[test]
    fn what_is_no_object_needs_nothing() {
        assert_eq!(undefined_symbols(b"\x7fELF\x02\x01"), None);
        assert_eq!(select(b"hello"), Vec::<String>::new());
    }
}
