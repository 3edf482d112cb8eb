//! Every built-in model by name: runs of one process that it allows, and runs that it does not.

use std::io::Cursor;

use raddle_check::format::{Format, read_history};
use raddle_check::model::Model;
use raddle_check::model::catalog::{self, MODELS};
use raddle_check::{Checker, Value};

/// Operations one after another, `name argument result` in JSON.
type Run<'a> = &'a [(&'a str, &'a str, &'a str)];

/// Whether the model allows the run.
#[track_caller]
fn allows(model: &str, run: Run<'_>) -> bool {
    let line = |kind: &str, name: &str, value: &str| {
        format!("{{\"process\": 0, \"type\": \"{kind}\", \"f\": \"{name}\", \"value\": {value}}}\n")
    };
    let text: String = run
        .iter()
        .map(|(name, argument, result)| line("invoke", name, argument) + &line("ok", name, result))
        .collect();
    let keyed = catalog::has_keys(model);
    let model = catalog::find(model, false).unwrap();
    let loaded = read_history(Cursor::new(text), Format::Jsonl, &model, keyed).unwrap();
    let (by_search, by_default) = (
        Checker::new().search_only().check(&loaded.history, &model),
        Checker::new().check(&loaded.history, &model),
    );
    assert_eq!(by_search.is_accepted(), by_default.is_accepted());
    // Reads must be what they are called: the checker panics if a read changes a state.
    by_default.is_accepted()
}

#[track_caller]
fn check(model: &str, allowed: Run<'_>, wrong_results: &[(usize, &str)]) {
    assert!(allows(model, allowed), "{model}");
    for &(index, result) in wrong_results {
        let mut run = allowed.to_vec();
        run[index].2 = result;
        assert!(!allows(model, &run), "{model}: {:?}", run[index]);
    }
}

#[test]
fn registers() {
    let run: Run<'_> = &[("read", "null", "null"), ("write", "4", "4"), ("read", "null", "4")];
    check("register", run, &[(0, "4"), (2, "null"), (2, "5")]);
    check("register:7", &[("read", "null", "7")], &[(0, "null")]);
    let run: Run<'_> = &[
        ("write", "4", "4"),
        ("cas", "[4, 5]", "true"),
        ("cas", "[4, 6]", "false"),
        ("cas", "[5, 7]", "[5, 7]"),
        ("read", "null", "7"),
    ];
    check("cas-register", run, &[(1, "false"), (2, "true"), (3, "false"), (4, "6")]);
    let run: Run<'_> = &[
        ("txn", r#"[["w", "x", 1], ["r", "y", null]]"#, r#"[["w", "x", 1], ["r", "y", null]]"#),
        (
            "txn",
            r#"[["r", "x", null], ["w", "x", 2], ["r", "x", null]]"#,
            r#"[["r", "x", 1], ["w", "x", 2], ["r", "x", 2]]"#,
        ),
    ];
    check(
        "multi-register",
        run,
        &[(0, r#"[["w", "x", 1], ["r", "y", 1]]"#), (1, r#"[["r", "x", 1]]"#), (1, "null")],
    );
}

#[test]
fn counters_and_locks() {
    let run: Run<'_> = &[
        ("inc", "null", "null"),
        ("add", "5", "null"),
        ("dec", "null", "null"),
        ("add-and-get", "2", "7"),
        ("get-and-add", "3", "7"),
        ("read", "null", "10"),
    ];
    check("counter", run, &[(3, "5"), (4, "10"), (5, "9")]);
    let run: Run<'_> = &[
        ("acquire", "null", "null"),
        ("try-acquire", "null", "false"),
        ("release", "null", "null"),
        ("try-acquire", "null", "true"),
    ];
    check("mutex", run, &[(1, "true"), (3, "false")]);
    assert!(!allows("mutex", &[("release", "null", "null")]));
    let run: Run<'_> = &[
        ("acquire", "2", "null"),
        ("available", "null", "1"),
        ("release", "1", "null"),
        ("try-acquire", "3", "false"),
    ];
    check("semaphore:3", run, &[(1, "2"), (3, "true")]);
    assert!(!allows("semaphore:3", &[("acquire", "4", "null")]));
}

#[test]
fn sets_and_maps() {
    let run: Run<'_> = &[
        ("add", "1", "true"),
        ("add", "1", "false"),
        ("contains", "1", "true"),
        ("remove", "1", "true"),
        ("remove", "1", "false"),
        ("contains", "2", "false"),
    ];
    check("set", run, &[(0, "false"), (1, "true"), (2, "false"), (3, "false"), (4, "true"), (5, "true")]);
    let run: Run<'_> =
        &[("add", "2", "null"), ("add", "1", "null"), ("size", "null", "2"), ("read", "null", "[1, 2]")];
    check("set", run, &[(2, "1"), (3, "[1]"), (3, "null")]);
    let run: Run<'_> = &[
        ("put", "[1, \"a\"]", "null"),
        ("insert", "[1, \"b\"]", "\"a\""),
        ("get", "1", "\"b\""),
        ("get", "2", "null"),
        ("contains", "1", "true"),
        ("size", "null", "1"),
        ("remove", "1", "\"b\""),
        ("size", "null", "0"),
    ];
    check("map", run, &[(1, "null"), (2, "\"a\""), (3, "1"), (4, "false"), (5, "2"), (6, "null"), (7, "1")]);
    let run: Run<'_> = &[
        ("get", "[\"k\", null]", "[\"k\", \"\"]"),
        ("append", "[\"k\", \"ab\"]", "[\"k\", \"ab\"]"),
        ("append", "[\"k\", \"c\"]", "[\"k\", \"c\"]"),
        ("get", "[\"k\", null]", "[\"k\", \"abc\"]"),
        ("put", "[\"k\", \"z\"]", "[\"k\", \"z\"]"),
        ("get", "[\"k\", null]", "[\"k\", \"z\"]"),
    ];
    check("kv", run, &[(0, "[\"k\", \"a\"]"), (3, "[\"k\", \"ab\"]"), (5, "[\"k\", \"abcz\"]")]);
}

#[test]
fn queues_and_stacks() {
    let run: Run<'_> = &[
        ("enqueue", "1", "null"),
        ("enqueue", "2", "null"),
        ("peek", "null", "1"),
        ("dequeue", "null", "1"),
        ("dequeue", "null", "2"),
        ("dequeue", "null", "null"),
    ];
    check("queue", run, &[(2, "2"), (3, "2"), (4, "null"), (5, "1")]);
    let run: Run<'_> = &[
        ("enqueue", "1", "true"),
        ("enqueue", "2", "false"),
        ("dequeue", "null", "1"),
        ("enqueue", "3", "true"),
    ];
    check("bounded-queue:1", run, &[(0, "false"), (1, "true"), (2, "2"), (3, "false")]);
    let run: Run<'_> = &[
        ("push", "1", "null"),
        ("push", "2", "null"),
        ("peek", "null", "2"),
        ("pop", "null", "2"),
        ("pop", "null", "1"),
        ("pop", "null", "null"),
    ];
    check("stack", run, &[(2, "1"), (3, "1"), (4, "null"), (5, "1")]);
    let run: Run<'_> = &[
        ("push-front", "1", "null"),
        ("push-back", "2", "null"),
        ("push-front", "0", "null"),
        ("peek-back", "null", "2"),
        ("pop-front", "null", "0"),
        ("pop-back", "null", "2"),
        ("peek-front", "null", "1"),
        ("pop-back", "null", "1"),
        ("pop-front", "null", "null"),
    ];
    check("deque", run, &[(3, "0"), (4, "2"), (5, "1"), (6, "null"), (7, "null"), (8, "1")]);
    let run: Run<'_> = &[
        ("insert", "1", "null"),
        ("insert", "3", "null"),
        ("insert", "2", "null"),
        ("peek", "null", "3"),
        ("remove", "null", "3"),
        ("remove", "null", "2"),
    ];
    check("priority-queue", run, &[(3, "1"), (4, "1"), (5, "1"), (5, "null")]);
    let run: Run<'_> = &[
        ("insert", "1", "null"),
        ("insert", "3", "null"),
        ("remove", "null", "1"),
        ("remove", "null", "3"),
        ("remove", "null", "null"),
    ];
    check("min-priority-queue", run, &[(2, "3"), (3, "null"), (4, "3")]);
}

#[test]
fn a_blocking_queue_serves_its_waiters_in_order() {
    let run: Run<'_> = &[
        ("take", "null", "[\"suspended\", \"a\"]"),
        ("take", "null", "[\"suspended\", \"b\"]"),
        ("take", "null", "[\"suspended\", \"c\"]"),
        ("cancel", "\"b\"", "true"),
        ("put", "1", "null"),
        ("put", "2", "null"),
        ("put", "3", "null"),
        ("follow-up", "\"c\"", "2"),
        ("cancel", "\"a\"", "false"),
        ("follow-up", "\"a\"", "1"),
        ("take", "null", "3"),
    ];
    check(
        "blocking-queue",
        run,
        &[(3, "false"), (7, "1"), (7, "3"), (8, "true"), (9, "2"), (10, "[\"suspended\", \"d\"]")],
    );
    let lost_wake_up: Run<'_> = &[("take", "null", "[\"suspended\", \"a\"]"), ("follow-up", "\"a\"", "1")];
    assert!(!allows("blocking-queue", lost_wake_up));
}

#[test]
fn logs_and_banks() {
    let run: Run<'_> = &[
        ("append", "7", "0"),
        ("append", "8", "1"),
        ("read", "0", "7"),
        ("read", "5", "null"),
        ("read", "null", "[7, 8]"),
        ("length", "null", "2"),
    ];
    check("log", run, &[(0, "1"), (1, "0"), (2, "8"), (3, "7"), (4, "[8, 7]"), (5, "3")]);
    let run: Run<'_> = &[
        ("transfer", "[0, 1, 4]", "true"),
        ("transfer", r#"{"from": 0, "to": 1, "amount": 7}"#, "false"),
        ("balance", "1", "14"),
        ("read", "null", r#"{"0": 6, "1": 14}"#),
        ("read", "null", "[[0, 6], [1, 14]]"),
    ];
    check("bank:2x10", run, &[(0, "false"), (1, "true"), (2, "10"), (3, r#"{"0": 6, "1": 10}"#), (4, "[]")]);
}

#[test]
fn every_model_in_the_catalog_is_there_with_and_without_keys() {
    for entry in MODELS {
        let name = match entry.name.split('[').next().unwrap() {
            "semaphore:permits" => "semaphore:2",
            "bounded-queue:capacity" => "bounded-queue:2",
            "bank:accounts×balance" => "bank:2×10",
            "bank:{…}" => r#"bank:{"a": 1}"#,
            name => name,
        };
        for keyed in [false, true] {
            let model = catalog::find(name, keyed).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!model.describe_state(&model.init()).is_empty(), "{name}");
        }
    }
    assert!(catalog::find("queue:3", false).err().unwrap().contains("write a list"));
}

/// A model that calls an operation read-only which is not.
#[test]
#[should_panic(expected = "the model calls \"bump\" -> 0 read-only, but it changes the state 0")]
fn a_read_that_writes_is_found_out() {
    struct Liar;
    impl Model for Liar {
        type State = i64;
        type Input = &'static str;
        type Output = i64;

        fn init(&self) -> i64 {
            0
        }

        fn step(&self, state: &i64, _: &&'static str, _: Option<&i64>) -> impl IntoIterator<Item = i64> {
            Some(state + 1)
        }

        fn is_read_only(&self, _: &&'static str, _: Option<&i64>) -> bool {
            true
        }
    }
    let mut history = raddle_check::History::new();
    let bump = history.invoke(0, "bump");
    history.respond(bump, 0);
    raddle_check::check(&history, &Liar);
}

#[test]
fn values_are_shown_as_they_are_written() {
    let value = Value::from(vec![Value::Nil, true.into(), 3.into(), "a b".into(), ":k".into()]);
    assert_eq!(value.to_string(), r#"[nil true 3 "a b" :k]"#);
}
