//! The program: its output, and its exit codes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn histories() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_raddle-check"))
        .args(arguments)
        .current_dir(histories())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that stops early does not read it all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn expect(arguments: &[&str], input: &str, code: i32, says: &str) {
    let output = run(arguments, input);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(out.contains(says) || err.contains(says), "{out}{err}");
}

const QUEUE: &str = r#"{"process": 0, "type": "invoke", "f": "enqueue", "value": 1}
{"process": 0, "type": "ok", "f": "enqueue"}
{"process": 0, "type": "invoke", "f": "dequeue"}
{"process": 0, "type": "ok", "f": "dequeue", "value": 1}
{"process": 0, "type": "invoke", "f": "dequeue"}
{"process": 0, "type": "ok", "f": "dequeue", "value": 1}
"#;

#[test]
fn every_verdict_has_its_exit_code() {
    expect(&["verify", "etcd/etcd_002.log", "--model", "cas-register"], "", 0, "accepted: etcd/etcd_002.log");
    expect(&["verify", "etcd/etcd_000.log", "--model", "cas-register"], "", 1, "is not linearizable");
    expect(
        &["verify", "kv/c10-ok.txt", "--model", "kv", "--partition", "key"],
        "",
        0,
        "10 parts: 10 accepted",
    );
    let limited = ["verify", "etcd/etcd_002.log", "--model", "cas-register", "--memory-limit", "1K"];
    expect(&limited, "", 3, "the memory limit was reached after");
}

#[test]
fn contracts_by_name() {
    let verify = |contract: &str, code: i32, says: &str| {
        expect(&["verify", "-", "--model", "queue", "--contract", contract], QUEUE, code, says);
    };
    verify("k-relaxed:1", 1, "is not k-relaxed:1");
    verify("stuttering:1", 0, "is stuttering:1");
    verify("lateness:1", 1, "is not lateness:1");
    verify("anything", 0, "is anything");
    verify("stuttering:1:mean", 2, "there are max, interval, interval-max");
    let lateness = ["verify", "queue.jsonl", "--model", "queue", "--contract", "lateness:1"];
    expect(&lateness, "", 0, "accepted: queue.jsonl is lateness:1");
}

#[test]
fn standard_input_and_streams() {
    expect(&["verify", "-", "--model", "queue"], QUEUE, 1, "1 is removed twice");
    let first_four = QUEUE.lines().take(4).collect::<Vec<_>>().join("\n");
    expect(&["verify", "-", "--model", "queue", "--stream"], &first_four, 0, "(4 events)");
    expect(
        &["verify", "-", "--model", "queue", "--stream"],
        QUEUE,
        1,
        "violation: -: line 6: dequeue() -> 1",
    );
    expect(&["verify", "kv/c10-bad.txt", "--model", "kv", "--stream"], "", 1, "has no place in any order");
    expect(&["verify", "kv/c10-ok.txt", "--model", "kv", "--stream"], "", 0, "accepted");
}

#[test]
fn mistakes_exit_with_2_and_name_the_line() {
    let queue = |input: &str, says: &str| {
        expect(&["verify", "-", "--model", "queue"], input, 2, says);
        expect(&["verify", "-", "--model", "queue", "--stream"], input, 2, says);
    };
    queue("{\"process\": 0, \"type\": \"inv", "error: -: line 1: EOF while parsing");
    queue("garbage", "error: -: line 1: this is no history");
    queue("{\"process\": 0, \"type\": \"ok\", \"f\": \"dequeue\"}", "line 1: process 0 ends `dequeue`");
    queue("{\"process\": 0, \"type\": \"invoke\", \"f\": \"fly\"}", "line 1: unknown operation `fly`");
    expect(&["verify", "no-such-file", "--model", "queue"], "", 2, "no-such-file: No such file");
    expect(&["verify", "-", "--model", "quue"], "", 2, "no model is called `quue`: there are register, ");
    expect(&["verify", "-", "--model", "bounded-queue"], "", 2, "needs its capacity");
    expect(&["verify", "-", "--model", "queue", "--contract", "k-relaxed"], "", 2, "`k-relaxed:2`");
    expect(
        &["verify", "-", "--model", "set", "--contract", "k-relaxed:1"],
        "",
        2,
        "does not say what a step out of order costs",
    );
    expect(&["verify", "-", "--model", "queue", "--time-limit", "soon"], "", 2, "no unit of time");
    expect(
        &["verify", "-", "--model", "queue", "--stream", "--contract", "sequential"],
        "",
        2,
        "linearizable only",
    );
}

#[test]
fn a_page_and_json() {
    let page = std::env::temp_dir().join(format!("raddle-check-{}.html", std::process::id()));
    let path = page.to_str().unwrap();
    let arguments = ["verify", "kv/c10-bad.txt", "--model", "kv", "--html", path, "--json"];
    let output = run(&arguments, "");
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["format"], &report["version"]), (&"raddle-check-report".into(), &1.into()));
    assert_eq!(report["parts"].as_array().unwrap().len(), 10);
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(html.starts_with("<!doctype html>"));
    expect(
        &["verify", "-", "--model", "queue", "--html", "/no/such/place.html"],
        QUEUE,
        2,
        "/no/such/place.html",
    );
}

#[test]
fn help_and_models() {
    let help = run(&["verify", "--help"], "");
    insta::assert_snapshot!("help", String::from_utf8(help.stdout).unwrap());
    let models = run(&["models"], "");
    insta::assert_snapshot!("models", String::from_utf8(models.stdout).unwrap());
    assert_eq!(run(&["--help"], "").status.code(), Some(0));
    assert_eq!(run(&["verify"], "").status.code(), Some(2));
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let output = run(&["verify", "queue.jsonl", "--model", "queue", "--explain"], "");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(readme.contains(&printed), "{printed}");
}

/// A history of one process: names with arguments and results, in JSON.
fn alone(operations: &[(&str, &str, &str)]) -> String {
    let line = |&(name, argument, result): &(&str, &str, &str)| {
        format!(
            "{{\"process\":0,\"type\":\"invoke\",\"f\":\"{name}\",\"value\":{argument}}}\n\
             {{\"process\":0,\"type\":\"ok\",\"f\":\"{name}\",\"value\":{result}}}\n"
        )
    };
    operations.iter().map(line).collect()
}

#[test]
fn collections_may_hold_nil() {
    for (model, add, remove) in [
        ("stack", "push", "pop"),
        ("queue", "enqueue", "dequeue"),
        ("deque", "push-back", "pop-front"),
        ("priority-queue", "insert", "remove"),
    ] {
        let nil = (add, "null", "null");
        let empty = (remove, "null", "null");
        for stream in [&[][..], &["--stream"]] {
            let verify = |operations: &[_], code, says| {
                let arguments = [&["verify", "-", "--model", model], stream].concat();
                expect(&arguments, &alone(operations), code, says);
            };
            verify(&[nil, empty], 0, "accepted");
            verify(&[nil, empty, empty], 0, "accepted");
            verify(&[nil, (add, "1", "null"), (remove, "null", "1"), (remove, "null", "1")], 1, "violation");
            verify(&[nil, (add, "1", "null"), (remove, "null", "2")], 1, "violation");
        }
    }
}

#[test]
fn every_model_can_begin_with_contents() {
    for (model, operations) in [
        ("register:7", &[("read", "null", "7")][..]),
        ("cas-register:7", &[("cas", "[7, 8]", "true"), ("read", "null", "8")]),
        ("multi-register:{\"x\": 0}", &[("txn", "[[\"r\", \"x\", null]]", "[[\"r\", \"x\", 0]]")]),
        ("counter:41", &[("add-and-get", "1", "42")]),
        ("mutex:locked", &[("try-acquire", "null", "false"), ("release", "null", "null")]),
        ("semaphore:2", &[("available", "null", "2")]),
        ("set:[1, \"a\"]", &[("contains", "\"a\"", "true"), ("size", "null", "2")]),
        ("map:{\"k\": [1]}", &[("get", "\"k\"", "[1]"), ("size", "null", "1")]),
        ("kv:{\"k\": \"ab\"}", &[("append", "[\"k\", \"c\"]", "null"), ("get", "[\"k\", null]", "\"abc\"")]),
        ("queue:[1, 2]", &[("dequeue", "null", "1"), ("dequeue", "null", "2"), ("dequeue", "null", "null")]),
        ("bounded-queue:2:[1, 2]", &[("enqueue", "3", "false"), ("dequeue", "null", "1")]),
        ("blocking-queue:[1]", &[("take", "null", "1")]),
        ("stack:[1, 2]", &[("pop", "null", "2"), ("pop", "null", "1"), ("pop", "null", "null")]),
        ("deque:[1, 2]", &[("pop-front", "null", "1"), ("pop-back", "null", "2")]),
        ("priority-queue:[1, 3, 2]", &[("remove", "null", "3")]),
        ("min-priority-queue:[3, 1]", &[("remove", "null", "1")]),
        ("log:[1, 2]", &[("read", "1", "2"), ("append", "3", "2")]),
        (
            "bank:{\"a\": 5, \"b\": 0}",
            &[("transfer", "[\"a\", \"b\", 5]", "true"), ("balance", "\"b\"", "5")],
        ),
    ] {
        expect(&["verify", "-", "--model", model], &alone(operations), 0, "accepted");
        let empty = model.split(':').next().unwrap();
        if !["semaphore", "bounded-queue", "bank"].contains(&empty) {
            expect(&["verify", "-", "--model", empty], &alone(operations), 1, "violation");
        }
    }
    let keyed = ["verify", "-", "--model", "queue:[1]", "--partition", "key"];
    let each = [("dequeue", "[\"a\", null]", "[\"a\", 1]"), ("dequeue", "[\"b\", null]", "[\"b\", 1]")];
    expect(&keyed, &alone(&each), 0, "2 parts: 2 accepted");
}

#[test]
fn contents_that_do_not_fit_are_one_sentence() {
    for (model, says) in [
        ("stack:1", "model `stack` cannot begin with `1`: write a list"),
        ("stack:[1", "cannot begin with `[1`: write what it holds in JSON"),
        ("counter:x", "cannot begin with `x`"),
        ("counter:[1]", "`add` takes an integer"),
        ("map:[1]", "`put` takes a pair"),
        ("multi-register:[1]", "write a mapping"),
        ("bounded-queue:1:[1, 2]", "it does not hold that much"),
        ("bounded-queue", "needs its capacity"),
        ("mutex:2", "`mutex:locked`"),
        ("bank:99999999999x1", "needs up to"),
        ("bank:{\"a\": true}", "needs up to"),
    ] {
        expect(&["verify", "-", "--model", model], "", 2, says);
    }
}

#[test]
fn nil_can_stand_for_any_value_that_a_register_held() {
    let reads = alone(&[("write", "1", "null"), ("read", "null", "null"), ("read", "null", "1")]);
    for model in ["register", "cas-register:0"] {
        for stream in [&[][..], &["--stream"]] {
            let with = |nil: &[&'static str]| [&["verify", "-", "--model", model], nil, stream].concat();
            expect(&with(&[]), &reads, 1, "violation");
            expect(&with(&["--nil", "anything"]), &reads, 0, "accepted");
        }
    }
    let wrong = alone(&[("write", "1", "null"), ("read", "null", "null"), ("read", "null", "2")]);
    expect(&["verify", "-", "--model", "register", "--nil", "anything"], &wrong, 1, "violation");
    let transaction = alone(&[
        ("txn", "[[\"w\", \"x\", 1], [\"w\", \"y\", 2]]", "[[\"w\", \"x\", 1], [\"w\", \"y\", 2]]"),
        ("txn", "[[\"r\", \"x\", null], [\"r\", \"y\", null]]", "[[\"r\", \"x\", null], [\"r\", \"y\", 2]]"),
    ]);
    let multi = ["verify", "-", "--model", "multi-register"];
    expect(&multi, &transaction, 1, "violation");
    expect(&[&multi[..], &["--nil", "anything"]].concat(), &transaction, 0, "accepted");
    expect(
        &["verify", "-", "--model", "queue", "--nil", "anything"],
        "",
        2,
        "registers only, not of `queue`",
    );
}
