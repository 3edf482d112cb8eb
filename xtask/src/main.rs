//! What people and CI run in this repository: `cargo xtask test`, `cargo xtask lint`, `cargo xtask bench`,
//! `cargo xtask regression`, `cargo xtask page-test`, `cargo xtask gallery`, `cargo xtask fuzz`, `cargo xtask first-minutes`.
#![forbid(unsafe_code)]

mod browser;
mod first_minutes;
mod fuzz;
mod regression;
mod timing;

use std::process::{Command, ExitCode};

use timing::Times;

/// Packages whose tests explore: they are built with instrumentation, each test in a process of its own.
const EXPLORING: [&str; 13] = [
    "real-crates",
    "broken",
    "litmus",
    "differential",
    "declarative",
    "examples",
    "conformance",
    "objects",
    "teaching",
    "bounded-buffer",
    "sorted-list",
    "spin-lock",
    "hardware",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let passed = match arguments.first().map(String::as_str) {
        Some("test") => test(),
        Some("lint") => lint(),
        Some("bench") => {
            let parts = &arguments[1..];
            run(cargo().args(["run", "--release", "--package", "raddle-benches", "--"]).args(parts))
        }
        Some("regression") => regression::main(&arguments[1..]),
        Some("page-test") => browser::test(),
        Some("gallery") => browser::gallery(),
        Some("fuzz") => fuzz::main(&arguments[1..]),
        Some("first-minutes") => first_minutes::main(),
        _ => {
            eprintln!(
                "use `cargo xtask test`, `cargo xtask lint`, `cargo xtask bench`, `cargo xtask regression`, \
                 `cargo xtask page-test`, `cargo xtask gallery`, `cargo xtask fuzz` or `cargo xtask first-minutes`"
            );
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All tests: those of ordinary code by `cargo test`, those that explore by `cargo raddle test`. Both are run even if
/// the first fails. A table of the slowest ones comes last.
fn test() -> bool {
    // Tests of the command build crates without the network. They use what the workspace uses, but may run before that is built.
    if !run(cargo().args(["fetch", "--locked"])) {
        return false;
    }
    let mut ordinary = cargo();
    ordinary.args(["test", "--workspace", "--all-features", "--no-fail-fast"]);
    let mut exploring = cargo();
    exploring.args(["run", "--quiet", "--package", "cargo-raddle", "--", "test", "--no-fail-fast"]);
    for package in EXPLORING {
        ordinary.args(["--exclude", package]);
        exploring.args(["--package", package]);
    }
    let mut times = Times::default();
    let ordinary = times.run("building ordinary tests", &mut ordinary);
    let exploring = times.run("building tests that explore", &mut exploring);
    times.print();
    ordinary && exploring
}

fn lint() -> bool {
    let mut docs = cargo();
    docs.args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings");
    run(cargo().args(["fmt", "--all", "--check"]))
        && run(cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]))
        && run(&mut docs)
        && templates()
}

/// What CI services read fits the schemas of those. Skipped where nothing can check it: `pip install check-jsonschema`.
fn templates() -> bool {
    let check = |schema: &str, file: &str| {
        run(Command::new("check-jsonschema").args(["--builtin-schema", schema, file]))
    };
    if Command::new("check-jsonschema").arg("--version").output().is_err() {
        eprintln!("the templates for CI services are not checked: that takes check-jsonschema");
        return true;
    }
    check("vendor.github-actions", "action.yml")
        && check("vendor.github-workflows", ".github/workflows/nightly.yml")
        && check("vendor.gitlab-ci", "templates/gitlab-ci.yml")
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn run(command: &mut Command) -> bool {
    eprintln!("+ {command:?}");
    command.status().is_ok_and(|status| status.success())
}
