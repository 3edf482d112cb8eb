//! The verifier of many histories against the checker of one.

mod common;

use common::{Raw, Tally, for_random_histories, history, linearizable, some_outputs};
use proptest::prelude::*;
use raddle_check::model::closure::Nondeterministic;
use raddle_check::model::keyed::{At, Keyed};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::{Checker, Contract, Durability, History, Relaxation, Ties, Value, Verifier};

fn register_op(raw: Raw) -> RegisterOp {
    match raw.kind % 3 {
        0 => RegisterOp::Read,
        1 => RegisterOp::Write(Value::Int(i64::from(raw.value % 2))),
        _ => RegisterOp::Cas(Value::Int(i64::from(raw.value % 2)), Value::Int(i64::from(raw.effect % 2))),
    }
}

#[test]
fn agrees_with_the_checker_while_it_learns() {
    let model = Keyed(Register { initial: Value::Int(0), ..Register::default() });
    let contracts = [
        Contract::Linearizable,
        Contract::Sequential,
        Contract::Serializable,
        Contract::Quiescent,
        Contract::Quasi(1),
        Contract::Relaxed(Relaxation::stuttering(1)),
        Contract::SetLinearizable,
        Contract::Durable(Durability::Plain),
    ];
    for contract in contracts {
        let verifier = std::cell::RefCell::new(Verifier::new(model.clone(), contract));
        let tally = Tally::default();
        for_random_histories(1500, 4, 6, |raw| {
            let input =
                |_, raw: Raw| At { key: Value::Int(i64::from(raw.process % 2)), op: register_op(raw) };
            let history = history(&model, &raw, input, &some_outputs(2));
            let expected = Checker::new().contract(contract).check(&history, &model).is_accepted();
            tally.count(expected);
            prop_assert_eq!(
                verifier.borrow_mut().verify(&history),
                Ok(expected),
                "{} {:?}",
                contract,
                history
            );
            Ok(())
        });
        tally.is_balanced();
        assert!(verifier.borrow().remembered() > 0, "{contract}: nothing came twice");
    }
}

#[test]
fn relaxed_models_are_verified_as_such() {
    let verifier =
        std::cell::RefCell::new(Verifier::new(Queue::new(), Contract::Relaxed(Relaxation::out_of_order(1))));
    for_random_histories(2000, 6, 12, |raw| {
        let input = |_, raw: Raw| match raw.kind % 2 {
            0 => QueueOp::Enqueue(Value::Int(i64::from(raw.value % 3))),
            _ => QueueOp::Dequeue,
        };
        let outputs = [0.into(), 1.into(), 2.into(), Value::Nil];
        let history = history(&Queue::new(), &raw, input, &outputs);
        let expected = linearizable(&Queue { slack: 1, ..Queue::new() }, &history, Ties::Concurrent);
        prop_assert_eq!(verifier.borrow_mut().verify(&history), Ok(expected), "{:?}", history);
        Ok(())
    });
}

/// A correct stack under weak memory: a pop that reads the stale, empty head after a push that did not happen before
/// it. By the schedule that is wrong, by happens-before it is fine.
#[test]
fn a_stale_read_is_no_violation_by_happens_before() {
    let mut stale = History::new();
    let push = stale.invoke(0, StackOp::Push(Value::Int(1)));
    stale.respond(push, Value::Nil);
    let pop = stale.invoke(1, StackOp::Pop);
    stale.respond(pop, Value::Nil);
    for contract in
        [Contract::Linearizable, Contract::Quiescent, Contract::Quasi(0), Contract::SetLinearizable]
    {
        let mut verifier = Verifier::new(Stack::new(), contract);
        assert_eq!(verifier.verify(&stale), Ok(false));
        assert_eq!(verifier.verify_partial_order(&stale, |_, _| false), Ok(true));
        assert_eq!(verifier.verify_partial_order(&stale, |i, j| i < j), Ok(false));
        assert_eq!(verifier.verify_partial_order(&stale, |_, _| false), Ok(true));
        assert_eq!(verifier.remembered(), 1);
    }
}

/// A model from a closure that leaves a choice is verified like any other.
#[test]
fn closures_are_models() {
    let queue = || {
        Nondeterministic::new(Vec::new(), |queue: &Vec<Value>, op: &QueueOp| match op {
            QueueOp::Enqueue(value) => {
                vec![(Value::Nil, [queue.as_slice(), std::slice::from_ref(value)].concat())]
            }
            QueueOp::Peek => vec![(queue.first().cloned().unwrap_or_default(), queue.clone())],
            QueueOp::Dequeue if queue.is_empty() => vec![(Value::Nil, Vec::new())],
            // Any of the first two.
            QueueOp::Dequeue => (0..queue.len().min(2))
                .map(|i| {
                    let mut rest = queue.clone();
                    (rest.remove(i), rest)
                })
                .collect(),
        })
    };
    let verifier = std::cell::RefCell::new(Verifier::new(queue(), Contract::Linearizable));
    let tally = Tally::default();
    for_random_histories(2000, 6, 12, |raw| {
        let input = |i: usize, raw: Raw| match raw.kind % 3 {
            0 => QueueOp::Enqueue(Value::Int(i as i64 % 3)),
            1 => QueueOp::Dequeue,
            _ => QueueOp::Peek,
        };
        let outputs = [Value::Nil, 0.into(), 1.into(), 2.into()];
        let history = history(&queue(), &raw, input, &outputs);
        let expected = linearizable(&queue(), &history, Ties::Concurrent);
        tally.count(expected);
        prop_assert_eq!(verifier.borrow_mut().verify(&history), Ok(expected), "{:?}", history);
        prop_assert_eq!(Checker::new().check(&history, &queue()).is_accepted(), expected);
        Ok(())
    });
    tally.is_balanced();
}

/// Histories whose states and operations are always new must not pile up.
#[test]
fn forgets_what_it_cannot_use_again() {
    let mut verifier = Verifier::new(Register::default(), Contract::Linearizable);
    for n in 0..40_000 {
        let mut history = History::new();
        let write = history.invoke(0, RegisterOp::Write(Value::Int(n)));
        history.respond(write, Value::Nil);
        let read = history.invoke(1, RegisterOp::Read);
        history.respond(read, Value::Int(n + i64::from(n % 1000 == 0)));
        assert_eq!(verifier.verify(&history), Ok(n % 1000 != 0));
    }
}

/// Two histories that differ in which of two operations returns first, and for that in their verdict.
#[test]
fn remembers_when_operations_returned() {
    let mut verifier =
        Verifier::new(Register { initial: Value::Int(0), ..Register::default() }, Contract::Linearizable);
    for write_returns_first in [false, true, false, true] {
        let mut history = History::new();
        let write = history.invoke(0, RegisterOp::Write(Value::Int(1)));
        let read = history.invoke(1, RegisterOp::Read);
        let (first, second) = if write_returns_first { (write, read) } else { (read, write) };
        history.respond(first, Value::Int(0));
        let late = history.invoke(2, RegisterOp::Read);
        history.respond(second, Value::Int(0));
        history.respond(late, Value::Int(0));
        assert_eq!(verifier.verify(&history), Ok(!write_returns_first));
    }
    assert_eq!(verifier.remembered(), 2);
}
