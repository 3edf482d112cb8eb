//! `cargo raddle demo`: a small queue with a bug, and the bug found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cargo::{Cargo, CargoOptions};
use crate::cli::{DemoArgs, NoTests, TestArgs};
use crate::error::{Error, Result, exit};
use crate::report;

const MANIFEST: &str = include_str!("../../demo/manifest.toml");
const LIBRARY: &str = include_str!("../../demo/lib.rs");
const TEST: &str = include_str!("../../demo/queue.rs");
const TEST_NAME: &str = "every_element_comes_out_once";

/// Writes the demo crate, tests it, and explains what came out. That the test fails is the point.
pub(crate) fn demo(args: DemoArgs) -> Result<u8> {
    args.raddle.check()?;
    let target = match &args.target_dir {
        Some(directory) => std::path::absolute(directory).map_err(Error::file("find", directory))?,
        None => target_directory(),
    };
    let directory = target.join("raddle").join("demo");
    write_crate(&directory)?;

    let mut cargo = CargoOptions { output: args.output, ..CargoOptions::default() };
    cargo.manifest.manifest_path = Some(directory.join("Cargo.toml"));
    cargo.manifest.offline = args.offline;
    cargo.compilation.target_dir = Some(target.clone());
    cargo.targets.test = vec!["queue".to_owned()];
    let began = SystemTime::now();
    let test = TestArgs {
        coverage: false,
        coverage_json: None,
        search_profile: None,
        raddle: args.raddle,
        cargo,
        no_run: false,
        doc: false,
        no_fail_fast: false,
        open: args.open,
        junit: None,
        no_tests: NoTests::Fail,
        name: None,
        harness: Vec::new(),
    };
    let code = super::run_tests(test, false)?;

    let found = (code == exit::FAILED).then(|| new_failure(&target.join("raddle/failures"), began)).flatten();
    println!();
    let Some(file) = found else {
        println!("No bug was found, though there is one: see {}.", shown(&directory.join("src/lib.rs")));
        return Ok(exit::FAILED);
    };
    println!(
        "Found: two polls at once can both read `head` before either moves it on, and so return the same element ({}).",
        shown(&directory.join("src/lib.rs"))
    );
    println!("Every number of that execution is in the failure file: cargo raddle replay {}", shown(&file));
    println!("Step through it in a browser: {}", shown(&file.with_extension("html")));
    Ok(exit::PASSED)
}

/// Cargo's target directory here; where there is no workspace, a temporary directory.
fn target_directory() -> PathBuf {
    workspace_target_directory().unwrap_or_else(|| std::env::temp_dir().join("raddle-demo"))
}

fn workspace_target_directory() -> Option<PathBuf> {
    let mut command = Cargo::from_env().command();
    let output = command.args(["metadata", "--format-version", "1", "--no-deps"]).output().ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(PathBuf::from(metadata.get("target_directory")?.as_str()?))
}

fn write_crate(directory: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let from_source = source.join("Cargo.toml").exists();
    let dependency = match source.canonicalize() {
        Ok(path) if from_source => format!("path = {:?}", path.display().to_string()),
        _ => format!("version = {:?}", env!("CARGO_PKG_VERSION")),
    };
    write(&directory.join("Cargo.toml"), &MANIFEST.replace("RADDLE", &dependency))?;
    write(&directory.join("src/lib.rs"), LIBRARY)?;
    write(&directory.join("tests/queue.rs"), TEST)?;
    if from_source {
        copy_lock(&repository.join("Cargo.lock"), &directory.join("Cargo.lock"))?;
    }
    Ok(())
}

/// Takes the versions that the repository uses: they are likely to be on this machine already. Cargo writes to the copy.
fn copy_lock(from: &Path, to: &Path) -> Result<()> {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    match fs::read_to_string(from) {
        Ok(text) if time(to) < time(from) => write(to, &text),
        _ => Ok(()),
    }
}

/// Writes a file unless it is the same already, so that cargo sees no change.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    }
    fs::write(path, text).map_err(Error::file("write", path))
}

/// The failure file that the demo's test has written.
fn new_failure(directory: &Path, since: SystemTime) -> Option<PathBuf> {
    let directory = std::env::var_os("RADDLE_FAILURES").map_or(directory.to_owned(), PathBuf::from);
    let is_ours = |path: &PathBuf| report::read(path).is_ok_and(|failure| failure.test == TEST_NAME);
    report::written_since(&directory, since).into_iter().find(is_ours)
}

/// A path as short as it can be written here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
