//! What people read: the text and JSON of reports.

mod common;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use common::for_random_histories;
use proptest::prelude::*;
use raddle_check::explain::{self, Story, html, json, text};
use raddle_check::format::{Format, read_history};
use raddle_check::model::closure::Nondeterministic;
use raddle_check::model::kv::Kv;
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::{Checker, Contract, History, Limits, Model, Value};

fn file(path: &str) -> BufReader<File> {
    BufReader::new(
        File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories").join(path)).unwrap(),
    )
}

fn tell<M: Model>(
    checker: &Checker,
    contract: Contract,
    history: &History<M::Input, M::Output>,
    model: &M,
) -> Story {
    let report = checker.clone().contract(contract).check(history, model);
    Story::new("the history", &contract.to_string(), &report, history, model, &[])
}

/// A history from `(process, call, return, input, output)`.
fn history<I>(operations: Vec<(u64, u64, u64, I, Value)>) -> History<I, Value> {
    let operation = |(process, call, at, input, output)| raddle_check::Operation {
        process,
        call,
        input,
        outcome: raddle_check::Outcome::Returned { output, at },
    };
    operations.into_iter().map(operation).collect()
}

#[test]
fn a_recorded_violation() {
    let model = Register::default();
    let loaded = read_history(file("etcd/etcd_000.log"), Format::JepsenLog, &model, false).unwrap();
    let report = Checker::new().check(&loaded.history, &model);
    let story = Story::new("etcd_000.log", "linearizable", &report, &loaded.history, &model, &loaded.lines);
    insta::assert_snapshot!(text::render(&story, true));
}

#[test]
fn keys_with_their_verdicts() {
    let model = Kv::default();
    let loaded = read_history(file("kv/c01-bad.txt"), Format::Edn, &model, true).unwrap();
    let report = Checker::new().check(&loaded.history, &model);
    let story = Story::new("c01-bad.txt", "linearizable", &report, &loaded.history, &model, &loaded.lines);
    insta::assert_snapshot!("keys", text::render(&story, true));
    insta::assert_snapshot!("keys_json", json::render(&story));
}

fn disordered_queue() -> History<QueueOp, Value> {
    let enqueue = |n: i64| QueueOp::Enqueue(Value::Int(n));
    history(vec![
        (0, 0, 1, enqueue(1), Value::Nil),
        (1, 2, 3, enqueue(2), Value::Nil),
        (2, 4, 5, enqueue(3), Value::Nil),
        (0, 6, 9, QueueOp::Dequeue, Value::Int(1)),
        (1, 7, 8, QueueOp::Dequeue, Value::Int(3)),
        (1, 10, 11, QueueOp::Dequeue, Value::Int(2)),
    ])
}

#[test]
fn a_monitor_names_the_operations_that_are_wrong_by_themselves() {
    let story = tell(&Checker::new(), Contract::Linearizable, &disordered_queue(), &Queue::new());
    insta::assert_snapshot!(text::render(&story, true));
}

#[test]
fn a_stack_that_cannot_be_nested() {
    let wrong = history(vec![
        (0, 0, 1, StackOp::Push(Value::Int(1)), Value::Nil),
        (0, 2, 3, StackOp::Push(Value::Int(2)), Value::Nil),
        (1, 4, 5, StackOp::Pop, Value::Int(1)),
        (1, 6, 7, StackOp::Pop, Value::Int(2)),
        (0, 8, 9, StackOp::Pop, Value::Nil),
    ]);
    let story = tell(&Checker::new(), Contract::Linearizable, &wrong, &Stack::new());
    insta::assert_snapshot!(text::render(&story, false));
}

#[test]
fn another_contract() {
    let stale = history(vec![
        (0, 0, 1, RegisterOp::Write(Value::Int(1)), Value::Nil),
        (1, 2, 3, RegisterOp::Read, Value::Nil),
        (1, 4, 5, RegisterOp::Read, Value::Int(1)),
        (1, 6, 7, RegisterOp::Read, Value::Nil),
    ]);
    let story = tell(&Checker::new(), Contract::Sequential, &stale, &Register::default());
    insta::assert_snapshot!(text::render(&story, true));
}

#[test]
fn accepted_and_unknown() {
    let fine = history(vec![(0, 0, 1, QueueOp::Enqueue(Value::Int(1)), Value::Nil)]);
    let story = tell(&Checker::new(), Contract::Linearizable, &fine, &Queue::new());
    insta::assert_snapshot!("accepted", text::render(&story, true));
    let checker = Checker::new().search_only().limits(Limits { time: None, memory: Some(1) });
    let story = tell(&checker, Contract::Linearizable, &disordered_queue(), &Queue::new());
    insta::assert_snapshot!("unknown", text::render(&story, true));
}

#[test]
fn the_page_holds_the_history_and_nothing_that_ends_its_script() {
    let nasty = Value::from("</script><script>alert(1)</script>");
    let odd = history(vec![(0, 0, 1, RegisterOp::Read, nasty)]);
    let model = Register::default();
    let story = tell(&Checker::new(), Contract::Linearizable, &odd, &model).with_all(&odd, &model, &[]);
    let page = html::render(&story);
    assert_eq!(page.matches("</script>").count(), 2, "one for the data, one for the program");
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["verdict"], "violation");
    assert_eq!(data["operations"]["process"], serde_json::json!([0]));
    assert!(data["operations"]["texts"][0].as_str().unwrap().contains("</script>"));
    assert!(!page.contains("http"), "the page needs no network");
}

#[test]
fn a_page_of_a_hundred_thousand_operations_stays_small() {
    let mut big = History::new();
    for n in 0..100_000u64 {
        let write = big.invoke(n % 8, RegisterOp::Write(Value::Int((n % 50) as i64)));
        big.respond(write, Value::Nil);
    }
    let model = Register::default();
    let story = tell(&Checker::new(), Contract::Linearizable, &big, &model).with_all(&big, &model, &[]);
    let page = html::render(&story);
    assert!(page.contains("write(49)"));
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
}

/// The gist of a report in at most `most` lines.
fn gist<M: Model>(
    contract: Contract,
    most: usize,
    history: &History<M::Input, M::Output>,
    model: &M,
) -> String {
    let report = Checker::new().contract(contract).search_only().check(history, model);
    let describe = |op: usize| {
        let operation = &history.operations()[op];
        model.describe(&operation.input, operation.output())
    };
    explain::closest(&report).unwrap().lines(most, describe).join("\n")
}

#[test]
fn the_gist_of_a_violation() {
    let mut all = Vec::new();
    all.push(gist(Contract::Linearizable, 10, &disordered_queue(), &Queue::new()));
    all.push(gist(Contract::Linearizable, 5, &disordered_queue(), &Queue::new()));
    // Program order says that one of the two has to wait, not real time.
    let read_back = history(vec![
        (0, 0, 1, RegisterOp::Write(1.into()), Value::Nil),
        (1, 2, 3, RegisterOp::Read, Value::Int(1)),
        (1, 4, 5, RegisterOp::Read, Value::Nil),
    ]);
    all.push(gist(Contract::Sequential, 10, &read_back, &Register::default()));
    let first = history(vec![(0, 0, 1, RegisterOp::Read, Value::Int(1))]);
    all.push(gist(Contract::Linearizable, 10, &first, &Register::default()));
    let bag =
        Nondeterministic::new(5, |&held: &u8, _: &()| (0..held).map(move |taken| (taken, held - taken)));
    let mut impossible = History::new();
    let take = impossible.invoke(0, ());
    impossible.respond(take, 9);
    all.push(gist(Contract::Linearizable, 10, &impossible, &bag));
    insta::assert_snapshot!(all.join("\n\n"));
}

/// Whatever is said about an order must be so.
#[test]
fn the_closest_order_is_one() {
    let queue = Queue::new();
    let contracts = [Contract::Linearizable, Contract::Sequential, Contract::Quiescent, Contract::Quasi(1)];
    let outputs = [0.into(), 1.into(), 2.into(), Value::Nil];
    for_random_histories(2000, 7, 14, |raw| {
        let input = |i: usize, raw: common::Raw| match raw.kind % 2 {
            0 => QueueOp::Enqueue(Value::Int(i as i64 % 3)),
            _ => QueueOp::Dequeue,
        };
        let history = common::history(&queue, &raw, input, &outputs);
        for contract in contracts {
            let report = Checker::new().contract(contract).search_only().check(&history, &queue);
            let Some(closest) = explain::closest(&report) else { continue };
            let mut state = queue.init();
            for place in &closest.order {
                let op = &history.operations()[place.operation];
                let next = queue.step(&state, &op.input, op.output()).into_iter().next();
                prop_assert!(next.is_some(), "{} {:?} {:?}", contract, closest, history);
                state = next.unwrap();
                prop_assert_eq!(place.state.as_ref(), Some(&queue.describe_state(&state)));
            }
            prop_assert!(!closest.stuck.is_empty(), "{} {:?} {:?}", contract, closest, history);
            for stuck in &closest.stuck {
                let op = &history.operations()[stuck.operation];
                let fits = queue.step(&state, &op.input, op.output()).into_iter().next().is_some();
                prop_assert_eq!(stuck.fits, fits);
                let results = queue.results(&state, &op.input);
                let right = results.iter().map(|result| queue.describe(&op.input, Some(result)));
                let right: Vec<String> = right.collect();
                prop_assert_eq!(&stuck.expected, &if fits { Vec::new() } else { right });
                // Every result that is named is one that the model allows.
                for result in &results {
                    prop_assert!(queue.step(&state, &op.input, Some(result)).into_iter().next().is_some());
                }
            }
        }
        Ok(())
    });
}
