//! `replay`, `show`, `why`, `query` and `nextest`.
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
fn a_replay_finds_the_workspace_that_its_file_lies_in() {
    let (fixture, elsewhere) = (Fixture::new("suite"), tempfile::tempdir().unwrap());
    let file = fixture
        .write("deep/f.json", &failure("suite@test:environment", &["--package", "suite", "--release"]));
    let mut command = fixture.command(&format!("replay {}", file.display()));
    command.current_dir(elsewhere.path()).env("FIXTURE_EXIT", "3");
    Run::of(command).exits(3).complains(&format!("Entering {}", fixture.path().display()));
    let copy = elsewhere.path().join("f.json");
    std::fs::copy(&file, &copy).unwrap();
    let mut command = fixture.command(&format!("replay {}", copy.display()));
    command.current_dir(elsewhere.path());
    Run::of(command).exits(2).complains("change into the workspace of `suite`");
    // In its workspace, a file may come from anywhere.
    let mut command = fixture.command(&format!("replay {}", copy.display()));
    command.env("FIXTURE_EXIT", "3");
    Run::of(command).exits(3);
}

#[test]
fn files_that_cannot_be_replayed_are_refused_in_one_sentence() {
    let fixture = Fixture::new("suite");
    fixture.write("foreign.json", "{}");
    let whole = failure("suite@test:environment", &[]);
    fixture.write("damaged.json", &whole[..60]);
    fixture.write("newer.json", &whole.replace("\"format\":1", "\"format\":9"));
    let event = r#"[{"thread":7,"action":"begin"}]"#;
    fixture.write("edited.json", &whole.replace("\"events\":[]", &format!("\"events\":{event}")));
    for command in
        ["replay", "show", "show --numbers", "show --format sarif", "why", "why --alternatives", "query"]
    {
        for (file, expected) in [
            ("missing.json", "there is no file missing.json"),
            ("foreign.json", "not a Raddle failure file"),
            ("damaged.json", "damaged.json ends in the middle"),
            ("newer.json", "newer.json has format 9"),
            ("edited.json", "event 0 refers to thread 7, which is not there"),
        ] {
            let run = fixture.run(&format!("{command} {file}")).exits(2).complains(expected);
            assert_eq!((run.stderr.lines().count(), run.stdout.len()), (1, 0), "{command}: {run}");
        }
    }
    fixture.write("odd.json", &failure("suite", &[]));
    fixture.run("replay odd.json").exits(2).complains("`suite`");
    fixture.write("args.json", &failure("suite@test:environment", &["--bogus"]));
    fixture.run("replay args.json").exits(2).complains("--bogus");
    fixture.run("replay args.json --backend none").exits(2).complains("`--backend` cannot be `none`");
}

#[test]
fn a_page_is_written_without_a_build() {
    let fixture = Fixture::new("suite");
    let file = fixture.write("f.json", &failure("suite@test:environment", &[]));
    fixture.run("show f.json --html").exits(0).prints("<!DOCTYPE html>").prints("the reason of the failure");
    fixture.run("show f.json --html -o page.html").exits(0);
    fixture.run("show f.json --html -o page.html").exits(2).complains("page.html exists already");
    fixture.run("show f.json --html --svg").exits(2).complains("cannot be used with");
    let open = |browser: &str| {
        let mut command = fixture.command("show f.json --open");
        command.env("BROWSER", browser);
        Run::of(command)
    };
    // An older page gives way, because it is made of the same failure.
    for _ in 0..2 {
        open("true").exits(0).prints("f.html");
    }
    assert!(std::fs::read_to_string(file.with_extension("html")).unwrap().ends_with("</html>\n"));
    open("no-such-browser").exits(2).complains("set BROWSER to a browser");
}

#[test]
fn a_report_is_shown_without_a_build() {
    let fixture = Fixture::new("suite");
    fixture.write("f.json", &failure("suite@test:environment", &[]));
    fixture.run("show f.json").exits(0).prints("the reason of the failure");
    assert!(!fixture.path().join("target").exists());
}

#[test]
fn execution_graphs_are_drawn_or_the_reason_is_said() {
    let fixture = Fixture::new("suite");
    fixture.write("none.json", &failure("suite@test:environment", &[]));
    for form in ["--graph", "--dot", "--svg"] {
        let run = fixture.run(&format!("show none.json {form}")).exits(2).complains("cannot draw none.json");
        assert_eq!(run.stderr.lines().count(), 1, "{run}");
        fixture.run(&format!("show missing.json {form}")).exits(2).complains("there is no file missing.json");
    }
    fixture.run("show none.json --dot --svg").exits(2).complains("cannot be used with");

    let place = serde_json::json!({ "name": "x", "address": 64, "size": 4 });
    let access = serde_json::json!({ "place": place, "order": "relaxed", "value": "1" });
    let mut drawn: serde_json::Value = serde_json::from_str(&failure("suite@test:environment", &[])).unwrap();
    drawn["threads"] = serde_json::json!([{ "end": "finished" }, { "end": "finished" }]);
    drawn["trace"]["events"] = serde_json::json!([
        { "thread": 0, "action": { "store": access }, "overwrites": "initial" },
        { "thread": 1, "action": { "load": access }, "reads_from": { "event": 0 } },
    ]);
    fixture.write("drawn.json", &drawn.to_string());
    fixture.run("show drawn.json").exits(0).prints("the reason of the failure");
    fixture.run("show drawn.json --graph").exits(0).prints("reads 1");
    fixture.run("show drawn.json --dot").exits(0).prints("e0 -> e1");
    fixture.run("show drawn.json --svg -o graph.svg").exits(0);
    let image = std::fs::read_to_string(fixture.path().join("graph.svg")).unwrap();
    assert!(image.starts_with("<svg ") && image.ends_with("</svg>\n"));
    fixture.run("show drawn.json --dot -o graph.svg").exits(2).complains("graph.svg exists already");
    assert_eq!(std::fs::read_to_string(fixture.path().join("graph.svg")).unwrap(), image);
    fixture.run("show drawn.json --svg -o no/such/place.svg").exits(2).complains("cannot create");
    drawn["trace"]["events"][1]["reads_from"]["event"] = 7.into();
    fixture.write("broken.json", &drawn.to_string());
    fixture
        .run("show broken.json --graph")
        .exits(2)
        .complains("event 1 refers to event 7, which is not there");
}

/// A store that another thread reads.
fn read_store() -> String {
    let place = serde_json::json!({ "name": "x", "address": 64, "size": 4 });
    let access = serde_json::json!({ "place": place, "order": "relaxed", "value": "1" });
    let mut failure: serde_json::Value =
        serde_json::from_str(&failure("suite@test:environment", &[])).unwrap();
    failure["threads"] = serde_json::json!([{ "end": "finished" }, { "end": "finished" }]);
    failure["trace"]["events"] = serde_json::json!([
        { "thread": 0, "action": { "store": access }, "overwrites": "initial" },
        { "thread": 1, "action": { "load": access }, "reads_from": { "event": 0 } },
    ]);
    failure.to_string()
}

#[test]
fn questions_are_answered_without_a_build() {
    let fixture = Fixture::new("suite");
    fixture.write("f.json", &read_store());
    fixture.run("show f.json --numbers").exits(0).prints("x.load(Relaxed) -> 1");
    fixture.run("why f.json 1").exits(0).prints("where 1 comes from").prints("read from:");
    fixture.run("why f.json x").exits(0).prints("who wrote x").prints("what event 0 wrote");
    fixture.run("why f.json =1").exits(0).prints("where 1 comes from");
    fixture.run("why f.json 9").exits(2).complains("there is no event 9: the last one is 1");
    fixture.run("why f.json y").exits(2).complains("some that are accessed: x");

    let request = r#"{"version":1,"questions":[{"origin":{"event":1}},{"origin":{"event":9}}]}"#;
    let asked = |run: Run| {
        let response: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
        assert_eq!(response["answers"][0]["answer"]["origin"]["steps"][1]["link"], "reads-from");
        assert!(response["answers"][1]["error"].as_str().unwrap().contains("there is no event 9"));
    };
    let mut by_argument = fixture.command("query f.json");
    by_argument.arg(request);
    asked(Run::of(by_argument));
    let mut by_input = fixture.command("query f.json");
    by_input.stdin(std::fs::File::open(fixture.write("request.json", request)).unwrap());
    asked(Run::of(by_input));
    let mut wrong = fixture.command("query f.json");
    wrong.arg("{}");
    Run::of(wrong).exits(2).complains("the request cannot be read");
    assert!(!fixture.path().join("target").exists());
}

#[test]
fn other_forms_are_printed_or_written_to_new_files() {
    let fixture = Fixture::new("suite");
    fixture.write("f.json", &read_store());
    for (form, expected) in [
        ("sarif", "\"version\": \"2.1.0\""),
        ("mermaid", "sequenceDiagram"),
        ("sequence", "x.load(Relaxed) -> 1"),
        ("perfetto", "traceEvents"),
        ("json", "\"format\": 1"),
    ] {
        fixture.run(&format!("show f.json --format {form}")).exits(0).prints(expected);
        fixture.run(&format!("show f.json --format {form} -o {form}.out")).exits(0);
        fixture
            .run(&format!("show f.json --format {form} -o {form}.out"))
            .exits(2)
            .complains("exists already");
    }
    fixture.run("show f.json --format state-svg").exits(2).complains("has no objects");
    fixture.run("show f.json --format sarif --event 1").exits(2).complains("`--event` goes with");
    fixture.run("show f.json --format sarif --numbers").exits(2).complains("cannot be used with");
    let left = std::fs::read_dir(fixture.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")),
        "temporary files are left"
    );
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
    let known = ["OWNED", "SEED", "CARGO_ARGS", "FAILURES", "COLOR", "COLUMNS", "EXPLORED"];
    for line in run.stdout.lines().filter_map(|line| line.strip_prefix("RADDLE_")) {
        assert!(known.contains(&line.split('=').next().unwrap()), "{line}");
    }
    fixture.run("nextest run --test basic fails").exits(100);
}
