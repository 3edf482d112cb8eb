//! `cargo raddle validate`, `spec` and `generate`, from the file to the verdict.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Fixture, Run, is_slow_wanted};
use serde_json::Value;

/// Kept between runs, and shared with the test of the demo: the engine is built here.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo")
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/refinement").canonicalize().unwrap()
}

fn run(fixture: &Fixture, args: &[&str]) -> Run {
    let mut command = fixture.command("");
    command.args(args).env("CARGO_TARGET_DIR", target());
    Run::of(command)
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

fn outcomes(verdict: &Value) -> Vec<(String, bool)> {
    let row = |row: &Value| {
        let values: Vec<&str> =
            row["outcome"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        (values.join(", "), row["expected"].as_bool().unwrap())
    };
    verdict["rows"].as_array().unwrap().iter().map(row).collect()
}

/// The figure of the paper: ten shuffles, four outcomes, and a fifth that a scan can have.
#[test]
fn the_examples_of_the_paper_are_found_by_the_model_checker() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/map.json");
    let contains = "{get(1); contains_value(1)} || {insert(1,1); insert(0,1); insert(1,0)}";
    let size = "{ insert(0,1); size(); contains_value(1) } || { insert(0,0); insert(1,1) }";
    let args =
        ["validate", spec.to_str().unwrap(), "--schema", contains, "--schema", size, "--format", "json"];
    let found = run(&fixture, &args).exits(1);
    let document = json(&found);
    let verdicts = document["batches"][0]["verdicts"].as_array().unwrap();

    assert_eq!(verdicts[0]["complete"], true, "{found}");
    assert_eq!(verdicts[0]["expected"].as_array().unwrap().len(), 4);
    let some = |text: &str| text.replace("null", "None");
    let seen = outcomes(&verdicts[0]);
    assert_eq!(
        seen,
        [
            ("None, false, None, None, Some(1)".to_owned(), true),
            ("None, true, None, None, Some(1)".to_owned(), true),
            ("Some(0), true, None, None, Some(1)".to_owned(), true),
            ("Some(1), false, None, None, Some(1)".to_owned(), false),
            ("Some(1), true, None, None, Some(1)".to_owned(), true),
        ]
    );
    assert_eq!(verdicts[0]["blamed"], "contains_value");
    assert_eq!(verdicts[0]["levels"]["contains_value"], "monotonic");

    assert_eq!(verdicts[1]["blamed"], "size");
    assert!(outcomes(&verdicts[1]).contains(&(some("Some(0), 0, true, null, null"), false)), "{found}");

    // The interleaving is in a file, which replays.
    let file = document["batches"][0]["violations"][0]["file"].as_str().unwrap();
    run(&fixture, &["replay", file]).exits(1).prints("unexpected outcome");
}

/// Neither small values nor schemas whose threads are alike show what `len` and `clear` of a map of shards do.
#[test]
fn methods_that_go_from_shard_to_shard_are_found() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/sharded.json");
    let args = ["validate", spec.to_str().unwrap(), "--max-programs", "60", "--time-per-test", "0.5"];
    let found = run(&fixture, &[&args[..], &["--format", "json"]].concat()).exits(1);
    let document = json(&found);
    let levels = &document["batches"][0]["levels"];
    for method in ["len", "clear"] {
        assert_ne!(levels[method]["level"], "complete", "{method}: {found}");
        assert!(levels[method]["witness"].is_string(), "{method}: {found}");
    }
    let first = run(&fixture, &[&args[..], &["--range", "2", "--format", "json"]].concat()).exits(0);
    assert_eq!(json(&first)["batches"][0]["levels"]["len"]["level"], "complete", "one shard is atomic");
}

/// What the search for all executions cannot follow is left to the others, and the constructor of an object may be such a thing.
#[test]
fn schemas_that_cannot_be_searched_to_the_end_are_tried() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let path = suite().display().to_string();
    let made = "<refinement::Halves>::default()";
    for constructor in [made, &format!("{{ let new = {made}; new.set(0, 0); new.both(); new }}")] {
        let text = format!(
            r#"{{ "type": "refinement::Halves", "constructor": "{constructor}", "crate": {{ "name": "refinement", "path": {path:?} }}, "methods": [
                {{ "name": "set", "parameters": ["usize", "u32"], "void": true, "trusted": true }},
                {{ "name": "both", "readonly": true }}
            ] }}"#
        );
        let spec = fixture.write("halves.json", &text).display().to_string();
        let schema = "{ both(); both() } || { set(0,1); set(1,1) }";
        let found = run(&fixture, &["validate", &spec, "--schema", schema, "--format", "json"]).exits(0);
        let verdict = &json(&found)["batches"][0]["verdicts"][0];
        assert_eq!(
            (&verdict["problem"], &verdict["complete"]),
            (&Value::Null, &Value::from(false)),
            "{found}"
        );
        // Each reader sees nothing, one number or both, the second at least what the first saw.
        assert_eq!(outcomes(verdict).len(), 6, "{found}");
    }
}

/// Cargo must not take the driver of one specification for that of another with the same dependencies.
#[test]
fn specifications_of_one_crate_have_drivers_of_their_own() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let schemas = [
        ("map", "{ insert(0,1); size() } || { get(0) }"),
        ("sharded", "{ insert(0,0); len() } || { insert(1,1) }"),
    ];
    for (name, schema) in [schemas[0], schemas[1], schemas[0]] {
        let spec = suite().join(format!("specs/{name}.json"));
        let args = ["validate", spec.to_str().unwrap(), "--schema", schema, "--format", "json"];
        let found = run(&fixture, &args);
        let verdict = &json(&found)["batches"][0]["verdicts"][0];
        assert_eq!(
            (&verdict["schema"], &verdict["problem"]),
            (&Value::from(schema), &Value::Null),
            "{found}"
        );
    }
}

#[test]
fn stress_sees_nothing_that_model_checking_does_not() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/map.json");
    let schema = "{get(1); contains_value(1)} || {insert(1,1); insert(0,1); insert(1,0)}";
    let args =
        ["validate", spec.to_str().unwrap(), "--schema", schema, "--tester", "stress", "--format", "json"];
    let args = [&args[..], &["--time-per-test", "0.5", "--no-minimize"]].concat();
    let found = run(&fixture, &args);
    let document = json(&found);
    let verdict = &document["batches"][0]["verdicts"][0];
    assert!(verdict["executions"].as_u64().unwrap() > 1000, "{found}");
    for (outcome, expected) in outcomes(verdict) {
        assert!(expected || outcome == "Some(1), false, None, None, Some(1)", "{outcome}");
    }
}

/// One command with good and bad specifications: each mistake is one sentence, and the others are tried.
#[test]
fn mistakes_are_one_sentence_each() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let crate_of =
        format!(r#""crate": {{ "name": "refinement", "path": {:?} }}"#, suite().display().to_string());
    let spec = |name: &str, ty: &str, constructor: &str, methods: &str| {
        let constructor = if constructor.is_empty() {
            String::new()
        } else {
            format!(r#""constructor": "{constructor}", "#)
        };
        let text =
            format!(r#"{{ "type": "{ty}", {constructor}{crate_of}, "range": 2, "methods": [{methods}] }}"#);
        fixture.write(name, &text).display().to_string()
    };
    let insert = r#"{ "name": "insert", "parameters": ["usize", "i32"], "trusted": true }"#;
    let size = r#"{ "name": "size", "readonly": true }"#;
    let specs = [
        spec("explosive.json", "refinement::Explosive", "", r#"{ "name": "poke" }"#),
        spec("lonely.json", "refinement::Lonely", "<refinement::Lonely>::default()", r#"{ "name": "bump" }"#),
        spec("nowhere.json", "refinement::Nowhere", "", r#"{ "name": "bump" }"#),
        spec(
            "arity.json",
            "refinement::Map",
            "",
            &format!(r#"{insert}, {size}, {{ "name": "get", "parameters": [] }}, {{ "name": "frob" }}"#),
        ),
        spec(
            "stubborn.json",
            "refinement::Stubborn",
            "<refinement::Stubborn>::default()",
            r#"{ "name": "bump", "trusted": true }, { "name": "wait", "void": true }"#,
        ),
        fixture.write("broken.json", "{ \"type\": }").display().to_string(),
    ];
    let mut args = vec!["validate", "--max-programs", "3", "--max-invocations", "3", "--no-minimize", "-q"];
    args.extend(specs.iter().map(String::as_str));
    let found = run(&fixture, &args);
    let found = found
        .prints("the constructor panicked: no powder")
        .prints("`refinement::Lonely` cannot be used by several threads")
        .prints("Nowhere")
        .prints("`get` is left out, because it does not compile")
        .prints("`frob` is left out, because it does not compile: no method named `frob` found")
        .prints("`wait()` did not return in a sequential run")
        .prints("line 1, column 11: expected a value, found `}`");
    // The map's other methods were tried. Whether three small schemas show a violation is up to the seed; this one does.
    let is_summary = |line: &str| {
        line.starts_with("Found ") && line.contains(" violation") && line.contains(" in 3 schemas (")
    };
    assert!(found.stdout.lines().any(is_summary), "{found}");
    assert!(matches!(found.code, Some(1 | 2)), "{found}");
    let torn = "{ insert(0,1); size() } || { insert(0,0) }";
    run(&fixture, &["validate", "-q", "--no-minimize", "--schema", torn, &specs[3]])
        .exits(1)
        .prints("`get` is left out, because it does not compile")
        .prints("Some(0), 0, None | X")
        .prints("to blame: size");
    let left: Vec<_> = fs::read_dir(fixture.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "target"), "{left:?}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/map.json");
    let spec = spec.to_str().unwrap();
    let refused = |args: &[&str], message: &str| {
        let args = [&["validate", spec], args].concat();
        let run = run(&fixture, &args).exits(2);
        assert!(format!("{run}").contains(message), "{run}");
    };
    refused(&["--min-threads", "4"], "--min-threads 4 is more than --max-threads 2");
    refused(&["--time-per-test", "0"], "--time-per-test takes a number of seconds");
    refused(&["--time", "inf"], "--time takes a number of seconds that is more than 0, and at most a year");
    refused(&["--memory", "tso"], "tso");
    refused(&["--memory", "sc", "--tester", "stress"], "--memory is for the model checker");
    refused(&["--method-filter", "("], "--method-filter takes a regular expression");
    refused(&["--method-filter", "nothing"], "no method of the specification matches `nothing`");
    refused(
        &["--schema", "{ insert(0) } || { get(0) }"],
        "`insert(0)` has 1 arguments, but `insert` takes 2",
    );
    refused(&["--schema", "{ insert(0,1) "], "the schema ends at column 15");
}

#[test]
fn specifications_are_made_of_code() {
    let manifest = suite().join("Cargo.toml");
    let fixture = Fixture::new("suite");
    let found =
        run(&fixture, &["spec", "refinement::Map", "--manifest-path", manifest.to_str().unwrap()]).exits(0);
    let spec = raddle_refine::Spec::read(&found.stdout, raddle_refine::spec::Language::Json).unwrap().spec;
    let names: Vec<&str> = spec.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["contains_key", "contains_value", "get", "insert", "remove", "size"]);
    assert_eq!(spec.constructor, "<refinement::Map>::new()");
    let missing = ["spec", "refinement::Nowhere", "--manifest-path", manifest.to_str().unwrap()];
    run(&fixture, &missing).exits(2).complains("`refinement::Nowhere` was not found");
    let foreign = ["spec", "nonesuch::Map", "--manifest-path", manifest.to_str().unwrap()];
    run(&fixture, &foreign).exits(2).complains("there is no crate `nonesuch` here");
}

#[test]
fn generated_tests_are_formatted_and_are_not_overwritten() {
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/map.json");
    let schema = "{ insert(0,1) }; { get(0) } || { insert(0,0) }; { size() }";
    let args = ["generate", spec.to_str().unwrap(), "--out", "kept.rs", "--schema", schema];
    run(&fixture, &args).exits(0).prints("kept.rs: 1 tests");
    let text = fs::read_to_string(fixture.path().join("kept.rs")).unwrap();
    assert!(
        text.contains("\"None, Some(0), Some(1), 1\"") && text.contains("\"None, Some(1), Some(1), 1\""),
        "{text}"
    );
    assert!(!text.contains("raddle_"), "the object and std only: {text}");
    run(&fixture, &args).exits(2).complains("exists already");
}

/// A kept file is like one that was written by hand: nobody complains about it, plain `cargo test` runs it, and `cargo raddle test` explores it.
#[test]
fn generated_tests_run_with_and_without_raddle() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("suite");
    let spec = suite().join("specs/map.json");
    let right = "{ insert(0,1) }; { get(0); insert(1,1) } || { insert(0,0) }; { remove(1) }";
    let wrong = "{ get(1); contains_value(1) } || { insert(1,1); insert(0,1); insert(1,0) }";
    for (name, schema) in [("right", right), ("wrong", wrong)] {
        let out = format!("kept/tests/{name}.rs");
        fixture.write("kept/src/lib.rs", "");
        fs::create_dir_all(fixture.path().join("kept/tests")).unwrap();
        let args = ["generate", spec.to_str().unwrap(), "--out", &out, "--schema", schema];
        run(&fixture, &args).exits(0);
    }
    let raddle = suite().join("../../crates/raddle").canonicalize().unwrap();
    let manifest = |with_raddle: bool| {
        let raddle = if with_raddle { format!("raddle = {{ path = {raddle:?} }}\n") } else { String::new() };
        let text = format!(
            "[package]\nname = \"kept\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dev-dependencies]\n\
             refinement = {{ path = {:?} }}\n{raddle}\n[workspace]\n",
            suite()
        );
        fixture.write("kept/Cargo.toml", &text);
        let lock = suite().join("../../Cargo.lock");
        fs::copy(lock, fixture.path().join("kept/Cargo.lock")).unwrap();
    };
    let cargo = |args: &[&str]| {
        let mut command = std::process::Command::new("cargo");
        command.args(args).arg("--offline").current_dir(fixture.path().join("kept"));
        command.env("CARGO_TARGET_DIR", target().join("kept")).env("RUSTFLAGS", "-D warnings");
        Run::of(command)
    };
    manifest(false);
    cargo(&["test", "--test", "right"]).exits(0).prints("1 passed");
    cargo(&["test", "--test", "wrong", "--no-run"]).exits(0);
    cargo(&["clippy", "--tests"]).exits(0);
    for name in ["right", "wrong"] {
        let mut rustfmt = std::process::Command::new("rustfmt");
        rustfmt
            .args(["--check", "--edition", "2024"])
            .arg(fixture.path().join(format!("kept/tests/{name}.rs")));
        Run::of(rustfmt).exits(0);
    }

    manifest(true);
    let explore = |name: &str| {
        let mut command = fixture.command("test --test");
        command.arg(name).current_dir(fixture.path().join("kept")).env("CARGO_TARGET_DIR", target());
        Run::of(command)
    };
    explore("right").exits(0).prints("1 passed");
    explore("wrong").exits(1).prints("unexpected outcome `Some(1), false, None, None, Some(1)`");
}

/// The same schema on an object made of the types of other checkers. Their crates have to be fetched: `RADDLE_FOREIGN=1` asks for this.
#[test]
fn loom_and_shuttle_find_it_too() {
    if std::env::var_os("RADDLE_FOREIGN").is_none() {
        println!("skipped: RADDLE_FOREIGN is not set, which fetches and builds loom and shuttle");
        return;
    }
    let fixture = Fixture::new("suite");
    let path = suite().join("fixtures/foreign").display().to_string();
    for tester in ["loom", "shuttle"] {
        let text = format!(
            r#"{{ "type": "foreign::Map", "crate": {{ "name": "foreign", "path": {path:?}, "features": ["{tester}"] }}, "methods": [
                {{ "name": "insert", "parameters": ["usize", "i32"], "trusted": true }},
                {{ "name": "get", "parameters": ["usize"], "readonly": true, "trusted": true }},
                {{ "name": "contains_value", "parameters": ["i32"], "readonly": true }}
            ] }}"#
        );
        let spec = fixture.write(&format!("{tester}.json"), &text).display().to_string();
        let schema = "{get(1); contains_value(1)} || {insert(1,1); insert(0,1); insert(1,0)}";
        let mut command = fixture.command("");
        command.args([
            "validate",
            &spec,
            "--schema",
            schema,
            "--tester",
            tester,
            "--format",
            "json",
            "--no-minimize",
        ]);
        command.env("CARGO_TARGET_DIR", target()).env_remove("CARGO_NET_OFFLINE");
        let found = Run::of(command).exits(1);
        let verdict = &json(&found)["batches"][0]["verdicts"][0];
        assert_eq!(verdict["blamed"], "contains_value", "{found}");
        assert_eq!(outcomes(verdict).len(), 5, "{found}");
    }
}
