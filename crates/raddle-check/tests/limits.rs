//! Limits end a check with an answer, not the process.

use std::time::{Duration, Instant};

use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::{Checker, Contract, Exhausted, History, Limits, Report, Value, Verdict};

/// Eighteen concurrent enqueues, in all their orders.
fn hard() -> History<QueueOp, Value> {
    let mut history = History::new();
    let first = history.invoke(99, QueueOp::Enqueue(Value::Int(0)));
    history.respond(first, Value::Nil);
    let calls: Vec<usize> =
        (0..18).map(|n| history.invoke(n as u64, QueueOp::Enqueue(Value::Int(n)))).collect();
    calls.into_iter().for_each(|op| history.respond(op, Value::Nil));
    let wrong = history.invoke(0, QueueOp::Dequeue);
    history.respond(wrong, Value::Int(77));
    history
}

#[track_caller]
fn expect_unknown(report: &Report, limit: Exhausted) {
    match report.verdict() {
        Verdict::Unknown(progress) => {
            assert_eq!(progress.limit, limit);
            assert!(progress.events < progress.of);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn time() {
    for contract in [Contract::Linearizable, Contract::Sequential, Contract::Quasi(1)] {
        let limits = Limits { time: Some(Duration::from_millis(100)), memory: Some(1 << 30) };
        let start = Instant::now();
        let report =
            Checker::new().search_only().contract(contract).limits(limits).check(&hard(), &Queue::new());
        expect_unknown(&report, Exhausted::Time);
        assert!(start.elapsed() < Duration::from_secs(5), "{contract}: {:?}", start.elapsed());
    }
}

#[test]
fn memory() {
    for contract in [Contract::Linearizable, Contract::Sequential, Contract::Quasi(1)] {
        let limits = Limits { time: None, memory: Some(4 << 20) };
        let report =
            Checker::new().search_only().contract(contract).limits(limits).check(&hard(), &Queue::new());
        expect_unknown(&report, Exhausted::Memory);
    }
}

#[test]
fn the_progress_names_the_events_that_are_explained() {
    let limits = Limits { time: None, memory: Some(4 << 20) };
    let report = Checker::new().search_only().limits(limits).check(&hard(), &Queue::new());
    let Verdict::Unknown(progress) = report.verdict() else { panic!("{report:?}") };
    // The first enqueue and the eighteen calls are easy.
    assert!(progress.events >= 20, "{progress:?}");
    assert!(progress.to_string().starts_with("the memory limit was reached after "));
}
