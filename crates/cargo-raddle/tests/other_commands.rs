//! `replay`, `show` and `nextest`.
#![allow(missing_docs)]

mod common;

use std::process::Command;

use common::{Fixture, Run};

fn failure(package: &str, cargo_args: &[&str]) -> String {
    let failure = serde_json::json!({
        "format": 1,
        "test": "replayed",
        "kind": "panic",
        "message": "the reason of the failure",
        "build": { "binary": "environment", "id": "00", "package": package, "cargo_args": cargo_args },
        "found_by": { "strategy": "random", "seed": 5, "execution": 3 },
        "schedule": "0x2 1",
        "threads": [],
        "trace": { "events": [], "stacks": [], "frames": [] },
    });
    failure.to_string()
}

#[test]
fn a_replay_is_built_as_recorded_and_its_verdict_passed_on() {
    let fixture = Fixture::new("suite");
    let file =
        fixture.write("f.json", &failure("suite@test:environment", &["--package", "suite", "--release"]));
    let replay = |args: &str, code: i32| {
        let mut command = fixture.command(args);
        command.env("FIXTURE_EXIT", code.to_string());
        Run::of(command).exits(code).prints("report of ").prints("release=true")
    };
    let run = replay("replay f.json", 1).prints("force=None backend=None");
    assert_eq!(run.stdout.lines().next(), Some(&*format!("report of {}", file.display())));
    replay("replay f.json --force --backend threads", 3)
        .prints("force=Some(\"1\") backend=Some(\"threads\")");
    replay("replay f.json", 2);
    replay("replay f.json", 0);
}

#[test]
fn files_that_cannot_be_replayed_are_refused_in_one_sentence() {
    let fixture = Fixture::new("suite");
    fixture.write("foreign.json", "{}");
    fixture.write("damaged.json", &failure("suite@test:environment", &[])[..60]);
    for command in ["replay", "show"] {
        for (file, expected) in [
            ("missing.json", "there is no file missing.json"),
            ("foreign.json", "not a Raddle failure file"),
            ("damaged.json", "damaged.json is not a Raddle failure file"),
        ] {
            let run = fixture.run(&format!("{command} {file}")).exits(2).complains(expected);
            assert_eq!(run.stderr.lines().count(), 1, "{run}");
        }
    }
    fixture.write("odd.json", &failure("suite", &[]));
    fixture.run("replay odd.json").exits(2).complains("`suite`");
    fixture.write("args.json", &failure("suite@test:environment", &["--bogus"]));
    fixture.run("replay args.json").exits(2).complains("--bogus");
    fixture.run("replay args.json --backend none").exits(2).complains("`--backend` cannot be `none`");
}

#[test]
fn a_report_is_shown_without_a_build() {
    let fixture = Fixture::new("suite");
    fixture.write("f.json", &failure("suite@test:environment", &[]));
    fixture.run("show f.json").exits(0).prints("the reason of the failure");
    assert!(!fixture.path().join("target").exists());
}

#[test]
fn nextest_runs_instrumented_tests() {
    let installed =
        Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        eprintln!("not checked: cargo-nextest is not installed");
        return;
    }
    let fixture = Fixture::new("suite");
    fixture.run("nextest run --test basic is_instrumented").exits(0).complains("1 passed");
    let args = "nextest --seed 9 run --test environment variables --features extra --no-capture";
    let run = fixture.run(args).exits(0);
    assert_eq!(run.value("RADDLE_OWNED"), "1");
    assert_eq!(run.value("RADDLE_SEED"), "9");
    assert_eq!(run.value("RADDLE_CARGO_ARGS"), r#"["--package","suite","--features","extra"]"#);
    // The `raddle` crate takes any variable that it does not know for a mistake.
    let known = ["OWNED", "SEED", "CARGO_ARGS", "FAILURES", "COLOR", "COLUMNS"];
    for line in run.stdout.lines().filter_map(|line| line.strip_prefix("RADDLE_")) {
        assert!(known.contains(&line.split('=').next().unwrap()), "{line}");
    }
    fixture.run("nextest run --test basic fails").exits(100);
}
