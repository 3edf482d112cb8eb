//! The global allocator of the code under test sees the allocations of that code, and not Raddle's own.
//!
//! Raddle is linked into the program, so whatever it allocates would go through the program's `#[global_allocator]`: one that
//! counts would count blocks that the code under test never made. The linker is told to `--wrap` the functions that allocations
//! go through. Calls go to a few instructions that first ask Raddle whether the memory is its own, and then to the function. In
//! programs without Raddle there is nobody to ask.
//!
//! Their names depend on the compiler's version. A small program that needs them tells what they are.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{RustcVersion, remove_package_variables};
use crate::error::{Error, Result};
use crate::instrument::key;

/// A program that allocates in all ways.
const PROBE: &str = "
#![no_std]
extern crate alloc;
use alloc::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
pub unsafe fn allocates(layout: Layout) -> [*mut u8; 2] {
    unsafe { [alloc(layout), alloc_zeroed(layout)] }
}
pub unsafe fn changes(block: *mut u8, layout: Layout) -> *mut u8 {
    unsafe { realloc(block, layout, 9) }
}
pub unsafe fn frees(block: *mut u8, layout: Layout) {
    unsafe { dealloc(block, layout) }
}
";

/// How the names end, and who is asked: with the same arguments, and a result that is not zero if the call is answered.
const FUNCTIONS: [(&str, &str); 4] = [
    ("___rust_alloc", "__raddle_allocate"),
    ("___rust_alloc_zeroed", "__raddle_allocate_zeroed"),
    ("___rust_dealloc", "__raddle_deallocate"),
    ("___rust_realloc", "__raddle_reallocate"),
];

const ARGS: &str = "--edition 2024 --crate-type rlib -C opt-level=3 -C panic=abort -C embed-bitcode=no";

/// What the wrapped functions are linked with.
#[derive(Debug, Default)]
pub(crate) struct Allocator {
    library: Option<PathBuf>,
    wrapped: Vec<String>,
}

impl Allocator {
    /// What to tell the linker.
    pub(crate) fn link_args(&self) -> impl Iterator<Item = String> {
        let library = self.library.iter().map(|library| library.display().to_string());
        let wrapped = self.wrapped.iter().map(|name| format!("-Wl,--wrap={name}"));
        library.chain(wrapped).flat_map(|arg| ["-C".to_owned(), format!("link-arg={arg}")])
    }
}

/// Compiles what calls go to for `target` into `directory`, unless that was done before. A compiler that names the functions in
/// another way gets nothing, and so do other machines than the engine's.
pub(crate) fn compile(
    rustc: &OsStr,
    version: &RustcVersion,
    target: &str,
    directory: &Path,
) -> Result<Allocator> {
    if !target.starts_with("x86_64") || !target.contains("linux-gnu") {
        return Ok(Allocator::default());
    }
    let name = format!("allocator-{}", key(&[include_str!("allocator.rs"), &version.verbose, target]));
    let library = directory.join(format!("lib{name}.rlib"));
    let list = directory.join(format!("{name}.wrapped"));
    if library.exists()
        && let Ok(wrapped) = fs::read_to_string(&list)
    {
        let wrapped = wrapped.lines().map(str::to_owned).collect();
        return Ok(Allocator { library: Some(library), wrapped });
    }
    // Two commands may do this at once: each writes files of its own and the last one to finish wins.
    let scratch = directory.join(format!("{name}.{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let compile = |name: &str, source: &str, emit: &str| -> Result<Option<PathBuf>> {
        let (input, output) = (scratch.join(format!("{name}.rs")), scratch.join(name));
        fs::write(&input, source).map_err(Error::file("write", &input))?;
        let mut command = Command::new(rustc);
        remove_package_variables(&mut command);
        command.args(ARGS.split_ascii_whitespace()).args(["--crate-name", name, "--emit", emit]);
        command.args(["--target", target, "-o"]).arg(&output).arg(&input).stdin(Stdio::null());
        let compiled = command.output().map_err(Error::start(rustc))?.status.success();
        Ok(compiled.then_some(output))
    };
    let probe = compile("raddle_allocations", PROBE, "obj")?.and_then(|object| fs::read(object).ok());
    let wrapped = names(&probe.unwrap_or_default());
    let mut allocator = Allocator::default();
    if wrapped.len() == FUNCTIONS.len()
        && let Some(output) = compile("raddle_allocator", &wrappers(&wrapped), "link")?
    {
        let scratch_list = scratch.join("wrapped");
        fs::write(&scratch_list, wrapped.join("\n")).map_err(Error::file("write", &scratch_list))?;
        fs::rename(&output, &library).map_err(Error::file("write", &library))?;
        fs::rename(&scratch_list, &list).map_err(Error::file("write", &list))?;
        allocator = Allocator { library: Some(library), wrapped };
    }
    fs::remove_dir_all(&scratch).map_err(Error::file("remove", &scratch))?;
    Ok(allocator)
}

/// The names among the strings of an object file, in the order of [`FUNCTIONS`].
fn names(object: &[u8]) -> Vec<String> {
    let is_name = |text: &&str| {
        text.starts_with("_R") && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let strings = object.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let names: Vec<&str> = strings.filter(is_name).collect();
    let find = |ending: &str| names.iter().find(|name| name.ends_with(ending));
    FUNCTIONS.iter().filter_map(|(ending, _)| find(ending)).map(|&name| name.to_owned()).collect()
}

/// Rust source of what is called in their place.
fn wrappers(names: &[String]) -> String {
    let mut source = String::from("#![no_std]\nuse core::arch::naked_asm;\n");
    for (number, (name, (_, asked))) in names.iter().zip(FUNCTIONS).enumerate() {
        source += &format!(
            r#"
#[unsafe(naked)]
#[unsafe(export_name = "__wrap_{name}")]
pub unsafe extern "C" fn wrapper{number}() {{
    naked_asm!(
        ".weak {asked}",
        "mov rax, qword ptr [rip + {asked}@GOTPCREL]",
        "test rax, rax",
        "jz 2f",
        "push rdi", "push rsi", "push rdx", "push rcx", "sub rsp, 8",
        "call rax",
        "add rsp, 8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "jmp __real_{name}",
    )
}}
"#
        );
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_compiler_has_all_of_them() {
        let scratch = tempfile::tempdir().unwrap();
        let (rustc, target) = (OsStr::new("rustc"), "x86_64-unknown-linux-gnu");
        let version = RustcVersion::of(rustc).unwrap();
        let made = compile(rustc, &version, target, scratch.path()).unwrap();
        assert_eq!(made.wrapped.len(), FUNCTIONS.len(), "{:#?}", made.wrapped);
        let again = compile(rustc, &version, target, scratch.path()).unwrap();
        assert_eq!((again.library, again.wrapped), (made.library, made.wrapped));
    }

    #[test]
    fn other_objects_have_none() {
        assert_eq!(names(b"\0malloc\0_Rx___rust_alloc \0"), Vec::<String>::new());
    }
}
