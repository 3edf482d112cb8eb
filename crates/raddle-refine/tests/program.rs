//! Generated programs.
#![allow(missing_docs)]

use std::path::Path;

use raddle_refine::program::{Kept, Origin, Tester, driver, manifest, standalone};
use raddle_refine::spec::{Language, Spec};

fn spec() -> Spec {
    let text = r#"{
        "type": "queue::Queue<i32>",
        "crate": { "name": "queue", "version": "1", "features": ["fast"] },
        "constructor": "queue::Queue::with_capacity(2)",
        "prelude": ["use queue::Queue;", "fn twice(n: i32) -> i32 {\n    2 * n\n}"],
        "methods": [
            { "name": "push", "parameters": ["i32"], "void": true, "trusted": true, "call": "object.push(twice($1))" },
            { "name": "pop", "show": "result.map(\n    |n| n + 1\n)" },
            { "name": "len", "readonly": true, "consistency": "weak" }
        ]
    }"#;
    Spec::read(text, Language::Json).unwrap().spec
}

/// Errors of the compiler are traced back to methods by their lines, whatever expressions look like.
#[test]
fn every_call_is_on_a_line_that_is_known() {
    let spec = spec();
    let calls: Vec<_> = spec.methods.iter().flat_map(|method| spec.calls(method, 2)).collect();
    for tester in [Tester::Model, Tester::Stress, Tester::Loom, Tester::Shuttle] {
        let driver = driver(&spec, &calls, tester).unwrap();
        assert_eq!(driver.lines.len(), 4);
        let lines: Vec<&str> = driver.source.lines().collect();
        for (number, method) in &driver.lines {
            assert!(lines[number - 1].starts_with(&format!(".call(\"{method}(")), "{}", lines[number - 1]);
        }
        assert!(driver.source.contains(
            ".call(\"push(1)\", |object: &Object| { let _ = object.push(twice(1)); Shown::ignored() })"
        ));
        assert!(driver.source.contains(".method(\"len\", Level::Weak, true, false)"));
    }
}

#[test]
fn a_driver_depends_on_what_it_needs_only() {
    let text = |tester| manifest("x", &spec(), tester, Path::new("."), &Origin::Registry("0.1.0".to_owned()));
    let model = text(Tester::Model);
    assert!(
        model.contains(
            "queue = { version = \"1\", features = [\"fast\"] }\nraddle = { version = \"0.1.0\" }\n"
        ),
        "{model}"
    );
    let stress = text(Tester::Stress);
    assert!(stress.contains("raddle-refine = ") && !stress.contains("\nraddle = "), "{stress}");
    assert!(text(Tester::Loom).contains("\nloom = "));
}

#[test]
fn tests_to_keep_need_the_object_and_std_only() {
    let kept = Kept {
        schema: "{ push(0) }; { pop() } || { push(1) }; { len() }".parse().unwrap(),
        expected: vec![vec!["_".to_owned(), "Some(1)".to_owned(), "_".to_owned(), "1".to_owned()]],
    };
    let text = standalone(&spec(), &[kept], "cargo raddle generate q.json").unwrap();
    assert!(text.contains("\"_, Some(1), _, 1\""), "{text}");
    assert!(text.contains("fn refinement_0_push_pop_push_len()"), "{text}");
    let imports: Vec<&str> = text.lines().filter(|line| line.starts_with("use ")).collect();
    assert_eq!(imports, ["use std::sync::{Arc, Barrier};", "use std::thread;", "use queue::Queue;"]);
}
