//! What instrumented code calls where Raddle is not linked.
//!
//! A workspace is instrumented as a whole, but not every program in it uses Raddle: the unit tests of a library whose
//! explorations live under `tests/`, the binaries that integration tests start. Such programs are linked with definitions that do
//! just what the original instruction did. They stand last on the linker's command line and in an archive, so a
//! program that has Raddle's own definitions never takes them.

mod entries;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{RustcVersion, remove_package_variables};
use crate::error::{Error, Result};
use crate::instrument::key;

/// The definitions.
pub(crate) const SOURCE: &str = include_str!("definitions.rs");

/// Where the rest of them is made.
const ENTRIES: &str = include_str!("entries.rs");

/// How they are compiled: every module into an object file of its own. Panics of the program unwind through some of them.
const ARGS: &str = "--crate-name raddle_passthrough --edition 2024 --crate-type rlib -C opt-level=3 \
                    -C codegen-units=1000 -C panic=unwind -C embed-bitcode=no";

/// What programs are linked with.
pub(crate) struct Passthrough {
    /// The definitions.
    pub(crate) library: PathBuf,
    /// The functions of std that calls reach through a definition.
    pub(crate) wrapped: Vec<String>,
}

/// Compiles the definitions for `target` into `directory`, unless that was done before.
pub(crate) fn compile(
    rustc: &OsStr,
    version: &RustcVersion,
    target: &str,
    directory: &Path,
) -> Result<Passthrough> {
    let name =
        format!("passthrough-{}", key(&[SOURCE, ENTRIES, entries::PROBE, ARGS, &version.verbose, target]));
    let library = directory.join(format!("lib{name}.rlib"));
    let list = directory.join(format!("{name}.wrapped"));
    if library.exists()
        && let Ok(wrapped) = fs::read_to_string(&list)
    {
        return Ok(Passthrough { library, wrapped: wrapped.lines().map(str::to_owned).collect() });
    }
    // Two commands may do this at once: each writes files of its own and the last one to finish wins.
    let scratch = directory.join(format!("{name}.{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let source = scratch.join("definitions.rs");
    let wrapped = entries::names(rustc, target, &scratch);
    let text = SOURCE.to_owned() + &entries::wrappers(&wrapped);
    fs::write(&source, text).map_err(Error::file("write", &source))?;
    let output = scratch.join("libpassthrough.rlib");
    let mut command = Command::new(rustc);
    remove_package_variables(&mut command);
    command.args(ARGS.split_ascii_whitespace());
    command.args(["--target", target, "-o"]);
    let result =
        command.arg(&output).arg(&source).stdin(Stdio::null()).output().map_err(Error::start(rustc))?;
    if !result.status.success() {
        eprint!("{}", String::from_utf8_lossy(&result.stderr));
        return Err(Error::Build);
    }
    let scratch_list = scratch.join("wrapped");
    fs::write(&scratch_list, wrapped.join("\n")).map_err(Error::file("write", &scratch_list))?;
    fs::rename(&output, &library).map_err(Error::file("write", &library))?;
    fs::rename(&scratch_list, &list).map_err(Error::file("write", &list))?;
    fs::remove_dir_all(&scratch).map_err(Error::file("remove", &scratch))?;
    Ok(Passthrough { library, wrapped })
}
