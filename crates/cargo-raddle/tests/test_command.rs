//! `cargo raddle test`: what is run, what is printed, how it ends.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{Fixture, Run};

#[test]
fn results_look_like_those_of_the_standard_harness() {
    let fixture = Fixture::new("suite");
    let run = fixture.run("test --test basic").exits(1);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    // Tests end in any order.
    lines[2..10].sort_unstable();
    let text = lines.join("\n");
    let text = text.rsplit_once("finished in ").unwrap().0;
    let (line, thread) = ("tests/basic.rs:14:5", text.split('(').nth(1).unwrap().split(')').next().unwrap());
    let expected = format!(
        "
running 8 tests
test dies ... ignored
test fails ... FAILED
test is_instrumented ... ok
test leaves ... ignored
test on_demand ... ignored
test panics ... ok
test passes ... ok
test sleeps ... ignored

failures:

---- fails stdout ----
said before
said to standard error

thread 'fails' ({thread}) panicked at {line}:
a reason
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    fails

test result: FAILED. 3 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; "
    );
    assert_eq!(text, expected);
    run.complains("warning: nothing is explored, because nothing here depends on Raddle")
        .complains("Running tests/basic.rs (target/raddle/build-")
        .complains("error: test failed, to rerun pass `-p suite --test basic`");
}

#[test]
fn tests_are_selected_as_the_standard_harness_does() {
    let fixture = Fixture::new("suite");
    let check = |args: &str, code: i32, expected: &str| {
        fixture.run(&format!("test --test basic {args}")).exits(code).prints(expected)
    };
    check("passes", 0, "ok. 1 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out");
    check("pas -- demand", 0, "1 passed; 0 failed; 1 ignored; 0 measured; 6 filtered out");
    check("-- --skip fails --skip dies", 0, "3 passed; 0 failed; 3 ignored; 0 measured; 2 filtered out");
    check("-- --exact pass", 4, "no tests to run: none of 8 is named `pass`");
    check("nothing", 4, "no tests to run: none of 8 has a name that contains `nothing`");
    check("nothing --no-tests pass", 0, "no tests to run");
    check("on_demand -- --ignored", 0, "test on_demand ... ok");
    check("-- --include-ignored --exact passes on_demand", 0, "2 passed; 0 failed; 0 ignored");
    check("-- --list", 0, "sleeps: test\n").does_not_print("running");
    check("-- --format json", 2, "");
    check("passes -- --show-output", 0, "---- passes stdout ----\nnot shown\n");
    check("passes -- --nocapture", 0, "not shown\n");
    let quiet = check("passes -q", 0, "test result: ok").does_not_print("test passes");
    assert_eq!(quiet.stderr, "");
}

#[test]
fn every_binary_has_its_section() {
    let fixture = Fixture::new("suite");
    let run = fixture
        .run("test -- --skip fails")
        .exits(0)
        .prints("test tests::counts ... ok")
        .prints("own main, arguments [\"--skip\", \"fails\"]\nowned None, package Some(\"suite@test:own-main\")\n")
        .prints("test starts_a_binary ... ok")
        .complains("Running unittests src/lib.rs (")
        .complains("Running tests/own-main.rs (");
    let last = run.stdout.lines().rfind(|line| !line.is_empty()).unwrap();
    assert!(
        last.starts_with("test result: ok. 10 passed; 0 failed; 5 ignored; 0 measured; 1 filtered out"),
        "{run}"
    );
    let results = run.stdout.matches("test result: ").count();
    assert_eq!(results, 4, "{run}");
}

#[test]
fn documentation_tests_are_not_left_out_in_silence() {
    let fixture = Fixture::new("suite");
    let quiet = fixture.run("test --no-fail-fast").exits(1);
    assert!(!quiet.stderr.contains("Doc-tests"), "{quiet}");
    fixture.write("src/more.rs", "//! ```\n//! suite::bump(&0.into());\n//! ```\n");
    fixture.run("test --no-fail-fast").exits(1).complains("Doc-tests of suite are not run");
    // Cargo would not run them here either.
    let selected = fixture.run("test --lib").exits(0);
    assert!(!selected.stderr.contains("Doc-tests"), "{selected}");
}

#[test]
fn a_failing_binary_ends_the_run_unless_told_otherwise() {
    let fixture = Fixture::new("suite");
    let stopped = "test --test basic --test environment -- --test-threads 1";
    let run = fixture.run(stopped).exits(1).prints("test fails ... FAILED").does_not_print("starts_a_binary");
    let run = run.complains("1 test binary was not run after this failure: --no-fail-fast runs all");
    assert_eq!(run.stdout.matches("\nrunning ").count(), 1, "a heading without results: {run}");
    let all = "test --no-fail-fast --test basic --test environment -- --test-threads 1";
    fixture.run(all).exits(1).prints("test starts_a_binary ... ok");
}

#[test]
fn unusual_ends_are_named() {
    let fixture = Fixture::new("suite");
    fixture
        .run("test --test basic -- --ignored dies")
        .exits(1)
        .prints("test dies ... FAILED (the test's process was killed by SIGABRT (abort")
        .prints("last words\n");
    fixture.run("test --test basic -- --ignored leaves").exits(1).prints("ended with exit code 7");
    let mut command = fixture.command("test --test own-main");
    command.env("FIXTURE_EXIT", "4");
    Run::of(command).exits(1).prints("test own-main ... FAILED (the test's process ended with exit code 4)");
}

#[test]
fn a_test_that_hangs_is_ended_and_the_others_go_on() {
    let fixture = Fixture::new("suite");
    fixture
        .run("test --test environment -- --include-ignored hangs starts")
        .exits(1)
        .prints("test hangs ... FAILED (the test hung and was ended: nothing was heard of it for 0.")
        .prints("before it hangs\n")
        .prints("test starts_a_binary ... ok");
}

#[test]
fn tests_find_what_the_contract_and_cargo_promise() {
    let fixture = Fixture::new("suite");
    let args = "test --test environment --features extra --seed 7 --budget 2s --max-steps 9 variables -- --show-output";
    let mut command = fixture.command(args);
    command
        .env("RADDLE_SEED", "1")
        .env("RADDLE_WORKERS", "3")
        .env("CARGO_PKG_NAME", "leaked")
        .env("CARGO_PKG_ODD", "");
    let run = Run::of(command).exits(0);
    let target = fixture.path().join("target/raddle");
    for (name, value) in [
        ("RADDLE_OWNED", "1"),
        ("RADDLE_TEST", "variables"),
        ("RADDLE_PACKAGE", "suite@test:environment"),
        ("RADDLE_CARGO_ARGS", r#"["--package","suite","--features","extra"]"#),
        ("RADDLE_FAILURES", target.join("failures").to_str().unwrap()),
        ("RADDLE_COLOR", "never"),
        ("RADDLE_SEED", "7"),
        ("RADDLE_BUDGET", "2s"),
        ("RADDLE_MAX_STEPS", "9"),
        ("RADDLE_WORKERS", "3"),
        ("CARGO_PKG_NAME", "suite"),
        ("CARGO_PKG_VERSION_PRE", "beta"),
        ("FROM_BUILD_SCRIPT", "yes"),
        ("directory", fixture.path().to_str().unwrap()),
        ("extra", "true"),
        ("release", "false"),
    ] {
        assert_eq!(run.value(name), value, "{name}\n{run}");
    }
    assert!(run.value("RADDLE_COLUMNS").parse::<u32>().is_ok());
    for absent in ["CARGO_PKG_ODD", "CARGO_RADDLE", "RADDLE_REPLAY"] {
        assert!(!run.stdout.contains(absent), "{absent}\n{run}");
    }
    // Nothing is at random addresses.
    let again = fixture.run(args).exits(0);
    assert_eq!(run.value("address"), again.value("address"));
}

#[test]
fn wrong_options_are_one_sentence_before_anything_is_built() {
    let fixture = Fixture::new("suite");
    let check = |args: &str, expected: &str| {
        let run = fixture.run(args).exits(2).complains(expected);
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
    };
    check("test --strategy best", "error: `--strategy` cannot be `best`; write `random`, `pct`");
    check("test --strategy pct:0", "error: `--strategy` cannot be `pct:0`; write a depth of at least 1");
    check("test --budget 10", "`500ms`");
    check("test --seed -1", "`--seed` cannot be `-1`");
    check("test -- --bogus", "after `--`");
    assert!(!fixture.path().join("target").exists());
    let mut command = fixture.command("test");
    command.env("RADDLE_SEDE", "1");
    Run::of(command).exits(2).complains("`RADDLE_SEDE` is not a variable of Raddle");
    let mut command = fixture.command("test");
    command.env("RADDLE_STRATEGY", "best");
    Run::of(command).exits(2).complains("`RADDLE_STRATEGY` cannot be `best`");
    fixture.run("test --doc").exits(2).complains("run `cargo test --doc`");
    fixture.run("test --bogus").exits(2);
    fixture.run("bogus").exits(2);
    fixture.run("--help").exits(0).prints("Exit codes:");
    fixture.run("test --help").exits(0).prints("RADDLE_STRATEGY");
}

#[test]
fn a_failed_build_has_cargos_exit_code() {
    let fixture = Fixture::new("suite");
    fixture.write("tests/basic.rs", "this is no Rust");
    fixture.run("test --test basic").exits(101).complains("tests/basic.rs:1");
    fixture.run("test --manifest-path missing/Cargo.toml").exits(101);
}

#[test]
fn tests_do_not_outlive_the_command() {
    let fixture = Fixture::new("suite");
    let pid_file = fixture.path().join("pid");
    let mut command = fixture.command("test --test basic sleeps -- --ignored");
    let mut raddle = command.env("FIXTURE_PID", &pid_file).spawn().unwrap();
    let pid = wait_for(|| std::fs::read_to_string(&pid_file).ok()?.parse::<u32>().ok());
    raddle.kill().unwrap();
    raddle.wait().unwrap();
    let alive =
        || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    wait_for(|| (!alive()).then_some(()));
}

#[track_caller]
fn wait_for<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited for a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn results_reach_ci_services() {
    let fixture = Fixture::new("suite");
    fixture.write(
        "tests/reporting.rs",
        r#"
        #[test]
        fn reports() {
            println!("replay:   cargo raddle replay {}", std::env::var("FIXTURE_FAILURE").unwrap());
            panic!("</failure> & more");
        }
        #[test]
        fn passes() {}
        #[test]
        fn fails() {
            panic!("without a report");
        }
        "#,
    );
    let failure = serde_json::json!({
        "format": 1,
        "test": "reports",
        "kind": "deadlock",
        "message": "all threads wait:\n50% of them for ever",
        "build": { "binary": "reporting", "id": "00" },
        "found_by": { "strategy": "random", "seed": 5, "execution": 3 },
        "schedule": "0x2 1",
        "threads": [{ "end": "finished" }],
        "trace": {
            "events": [{ "thread": 0, "action": "yield", "at": 0 }],
            "stacks": [{ "frame": 0 }],
            "frames": [{ "function": "f", "file": "src/lib.rs", "line": 7 }],
        },
    });
    let file = fixture.write("the failure.json", &failure.to_string());
    let run = |actions: &str| {
        let mut command = fixture.command("test --test reporting --junit results.xml");
        command.env("FIXTURE_FAILURE", format!("'{}'", file.display()));
        command.env("GITHUB_ACTIONS", actions).env("GITHUB_WORKSPACE", fixture.path().parent().unwrap());
        command.env("GITHUB_STEP_SUMMARY", fixture.path().join("summary.md"));
        Run::of(command).exits(1)
    };
    run("false").does_not_print("::error");
    assert!(!fixture.path().join("summary.md").exists());

    let root = fixture.path().file_name().unwrap().to_string_lossy().into_owned();
    let expected = format!(
        "::error file={root}/src/lib.rs,line=7,title=deadlock in reports::all threads wait:%0A50%25 of them for ever\n"
    );
    run("true").prints(&expected);
    let summary = std::fs::read_to_string(fixture.path().join("summary.md")).unwrap();
    assert!(summary.starts_with("### deadlock in reports\n\n```text\n"), "{summary}");

    let results = std::fs::read_to_string(fixture.path().join("results.xml")).unwrap();
    for part in [
        r#"<testsuites name="raddle" tests="3" failures="2" errors="0" skipped="0""#,
        r#"<testsuite name="suite@test:reporting" tests="3""#,
        r#"<failure type="deadlock" message="all threads wait:&#10;50% of them for ever">"#,
        r#"<failure type="failure" message="the test failed">"#,
        "&lt;/failure&gt; &amp; more",
    ] {
        assert!(results.contains(part), "no `{part}` in\n{results}");
    }
}
