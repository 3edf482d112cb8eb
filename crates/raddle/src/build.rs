//! Who runs this: the program's identity, the test's name, and where its failures go.

use std::path::{Path, PathBuf};

use raddle_reflect::Program;
use raddle_report::failure::Build;

use crate::options::is_on;

/// The identity of the running program.
pub(crate) fn identity(program: Option<&Program>) -> Build {
    let binary = std::env::current_exe().ok();
    let name = binary
        .as_deref()
        .and_then(Path::file_name)
        .map_or_else(String::new, |name| name.to_string_lossy().into());
    Build {
        binary: name,
        id: program.map_or_else(|| "unknown".into(), Program::build_id),
        package: std::env::var("RADDLE_PACKAGE").ok(),
        cargo_args: std::env::var("RADDLE_CARGO_ARGS").map_or_else(|_| Vec::new(), |json| parse_args(&json)),
    }
}

/// The name of the running test, as libtest knows it; the place of the exploration where nobody says.
pub(crate) fn test_name(at: &std::panic::Location<'_>) -> String {
    if let Ok(name) = std::env::var("RADDLE_TEST") {
        return name;
    }
    match std::thread::current().name() {
        // libtest names its threads after the tests, except that a single test runs on the main thread.
        Some(name) if name != "main" => name.to_owned(),
        _ => format!("{}:{}", at.file(), at.line()),
    }
}

/// The directory for failure files: as told, else in the target directory that the program lies in.
pub(crate) fn failures_directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("RADDLE_FAILURES") {
        return directory.into();
    }
    let binary = std::env::current_exe().unwrap_or_default();
    let target = binary.ancestors().find(|path| path.file_name().is_some_and(|name| name == "target"));
    target.unwrap_or(Path::new("target")).join("raddle").join("failures")
}

/// Whether the process runs this test and no other, so that statics can be rolled back under its feet.
pub(crate) fn owns_process() -> bool {
    if is_on("RADDLE_OWNED")
        || std::env::var("NEXTEST_EXECUTION_MODE").is_ok_and(|mode| mode == "process-per-test")
    {
        return true;
    }
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

fn parse_args(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}
