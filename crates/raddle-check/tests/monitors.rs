//! Each monitor against the definition of linearizability, on histories in which no value is added twice.

mod common;

use common::{Raw, Tally, for_random_histories, history, linearizable};
use proptest::prelude::*;
use raddle_check::model::priority_queue::{PriorityQueue, PriorityQueueOp};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::set::{Set, SetOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::verdict::Method;
use raddle_check::{Checker, Model, Ties, Value, Verdict};

/// Compares on `cases` histories; at least half of them must have been decided by the monitor.
#[track_caller]
fn agrees<M: Model<Output = Value>>(
    cases: u32,
    model: &M,
    input: impl Fn(usize, Raw) -> M::Input,
    outputs: &[Value],
) {
    let (verdicts, monitored) = (Tally::default(), Tally::default());
    for_random_histories(cases, 8, 18, |mut raw| {
        // Unknown outcomes rule monitors out when they are removals: fewer of those.
        raw.iter_mut().filter(|r| r.luck < 20 && r.effect > 100).for_each(|r| r.luck = 100);
        let history = history(model, &raw, &input, outputs);
        for ties in [Ties::Concurrent, Ties::Ordered] {
            let expected = linearizable(model, &history, ties);
            let report = Checker::new().ties(ties).whole().check(&history, model);
            let by_monitor = matches!(report.parts[0].method, Method::Monitor(_));
            monitored.count(by_monitor);
            if by_monitor {
                verdicts.count(expected);
            }
            prop_assert_eq!(report.is_accepted(), expected, "{:?} {:?}", history, report);
            if let Verdict::Violation(violation) = report.verdict()
                && !violation.core.is_empty()
            {
                let core = violation.core.iter().map(|&op| history.operations()[op].clone()).collect();
                prop_assert!(!linearizable(model, &core, ties), "the core {core:?} of {history:?} is fine");
            }
        }
        Ok(())
    });
    verdicts.is_balanced();
    assert!(monitored.yes.get() > monitored.no.get(), "{monitored:?}");
}

fn values(count: i64) -> Vec<Value> {
    (0..count).map(Value::Int).chain([Value::Nil]).collect()
}

fn unique(index: usize) -> Value {
    Value::Int(index as i64)
}

fn queue_op(index: usize, kind: u8) -> QueueOp {
    match kind {
        0 | 1 => QueueOp::Enqueue(unique(index)),
        2 | 3 => QueueOp::Dequeue,
        _ => QueueOp::Peek,
    }
}

#[test]
fn queue() {
    agrees(8000, &Queue::new(), |i, raw| queue_op(i, raw.kind % 4), &values(8));
    agrees(8000, &Queue::new(), |i, raw| queue_op(i, raw.kind % 6), &values(8));
}

fn stack_op(index: usize, kind: u8) -> StackOp {
    match kind {
        0 | 1 => StackOp::Push(unique(index)),
        2 | 3 => StackOp::Pop,
        _ => StackOp::Peek,
    }
}

#[test]
fn stack() {
    agrees(8000, &Stack::new(), |i, raw| stack_op(i, raw.kind % 4), &values(8));
    agrees(8000, &Stack::new(), |i, raw| stack_op(i, raw.kind % 6), &values(8));
}

fn priority_queue_op(kind: u8, element: Value) -> PriorityQueueOp {
    match kind {
        0 | 1 => PriorityQueueOp::Insert(element),
        2 | 3 => PriorityQueueOp::Remove,
        _ => PriorityQueueOp::Peek,
    }
}

#[test]
fn priority_queue() {
    for smallest_first in [false, true] {
        let model = PriorityQueue { smallest_first, ..PriorityQueue::new() };
        // Priorities in another order than the operations.
        let shuffled = |index: usize| Value::Int([3, 7, 0, 5, 1, 6, 2, 4][index]);
        agrees(6000, &model, |i, raw| priority_queue_op(raw.kind % 6, shuffled(i)), &values(8));
    }
}

#[test]
fn priority_queue_with_equal_priorities() {
    let element = |index: usize, raw: Raw| {
        Value::from(vec![Value::Int(i64::from(raw.value % 3)), Value::Int(index as i64)])
    };
    let pairs = (0..3).flat_map(|p| (0..8).map(move |i| Value::from(vec![Value::Int(p), Value::Int(i)])));
    let outputs: Vec<Value> = pairs.chain([Value::Nil]).collect();
    agrees(6000, &PriorityQueue::new(), |i, raw| priority_queue_op(raw.kind % 5, element(i, raw)), &outputs);
}

#[test]
fn set() {
    let input = |i: usize, raw: Raw| {
        let element = Value::Int(i64::from(raw.value % 3));
        match raw.kind % 5 {
            // An element is inserted twice now and then, and then no monitor decides.
            0 if i < 4 => SetOp::Add(unique(i % 3)),
            1 => SetOp::Remove(element),
            _ => SetOp::Contains(element),
        }
    };
    agrees(8000, &Set, input, &[Value::Bool(true), Value::Bool(false)]);
}

#[test]
fn register() {
    let input = |i: usize, raw: Raw| match raw.kind % 5 {
        0 | 1 => RegisterOp::Write(unique(i)),
        _ => RegisterOp::Read,
    };
    agrees(8000, &Register::default(), input, &values(8));
    agrees(6000, &Register { initial: Value::Int(-1), ..Register::default() }, input, &values(8));
    agrees(
        6000,
        &Register { initial: Value::Int(-1), ..Register::default() },
        input,
        &[values(8), vec![Value::Int(-1)]].concat(),
    );
}
