//! Libraries without debug information: what every submission is linked with, and no trace ever shows.
//!
//! Nine tenths of a test binary are debug information of Raddle itself. Without it, linking takes a quarter less time, and a binary is
//! read and written in a moment. The sandbox shows the slim library in place of the other one; where it cannot, nothing is lost but time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Copies of the libraries of `crates` (named as in code, with underscores) among `files`, by the library that each stands for. The
/// tool is the compiler's own; a library that it cannot copy is left out.
pub fn slim(
    files: &[PathBuf],
    crates: &[String],
    sysroot: &Path,
    directory: &Path,
) -> BTreeMap<PathBuf, PathBuf> {
    let mut copies = BTreeMap::new();
    let Some(tool) = objcopy(sysroot).filter(|_| fs::create_dir_all(directory).is_ok()) else {
        return copies;
    };
    for file in files {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { continue };
        let stem = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".rlib"));
        let is_listed = stem
            .and_then(|stem| stem.rsplit_once('-'))
            .is_some_and(|(stem, _)| crates.iter().any(|one| one == stem));
        if !is_listed {
            continue;
        }
        let copy = directory.join(name);
        if is_newer(&copy, file) || strip(&tool, sysroot, file, &copy) {
            copies.insert(file.clone(), copy);
        }
    }
    copies
}

fn objcopy(sysroot: &Path) -> Option<PathBuf> {
    let targets = fs::read_dir(sysroot.join("lib/rustlib")).ok()?.flatten();
    targets.map(|target| target.path().join("bin/rust-objcopy")).find(|tool| tool.exists())
}

fn is_newer(copy: &Path, file: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    matches!((time(copy), time(file)), (Some(copy), Some(file)) if copy > file)
}

fn strip(tool: &Path, sysroot: &Path, file: &Path, copy: &Path) -> bool {
    let scratch = copy.with_extension("new");
    let status = Command::new(tool)
        .env("LD_LIBRARY_PATH", sysroot.join("lib"))
        .arg("--strip-debug")
        .args([file, &scratch])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success()) && fs::rename(&scratch, copy).is_ok()
}
