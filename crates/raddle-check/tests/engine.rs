//! The frontier search against the definition of linearizability, with unknown outcomes and ties.

mod common;

use common::{Raw, Tally, for_random_histories, history, linearizable, precedes, some_outputs};
use proptest::prelude::*;
use raddle_check::model::counter::{Counter, CounterOp};
use raddle_check::model::keyed::{At, Keyed};
use raddle_check::model::kv::{Text, TextOp};
use raddle_check::model::lock::{Semaphore, SemaphoreOp};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::{Checker, History, Model, Outcome, Ties, Value, Verdict};

#[track_caller]
fn agrees<M: Model<Output = Value>>(model: M, input: impl Fn(usize, Raw) -> M::Input, outputs: Vec<Value>) {
    let tally = Tally::default();
    for_random_histories(4000, 7, 14, |raw| {
        let history = history(&model, &raw, &input, &outputs);
        for ties in [Ties::Concurrent, Ties::Ordered] {
            let expected = linearizable(&model, &history, ties);
            tally.count(expected);
            let checker = Checker::new().ties(ties).search_only();
            prop_assert_eq!(checker.check(&history, &model).is_accepted(), expected, "{:?}", history);
            let whole = checker.whole().check(&history, &model);
            prop_assert_eq!(whole.is_accepted(), expected, "in one piece: {:?}", history);
        }
        Ok(())
    });
    tally.is_balanced();
}

fn register_op(raw: Raw) -> RegisterOp {
    let value = |n: u8| Value::Int(i64::from(n % 3));
    match raw.kind % 5 {
        0 | 1 => RegisterOp::Read,
        2 => RegisterOp::Write(value(raw.value)),
        _ => RegisterOp::Cas(value(raw.value), value(raw.value / 3)),
    }
}

#[test]
fn on_a_compare_and_set_register() {
    agrees(
        Register { initial: Value::Int(0), ..Register::default() },
        |_, raw| register_op(raw),
        some_outputs(3),
    );
}

#[test]
fn on_registers_under_keys() {
    let input = |_, raw: Raw| At { key: Value::Int(i64::from(raw.process % 2)), op: register_op(raw) };
    agrees(Keyed(Register { initial: Value::Int(0), ..Register::default() }), input, some_outputs(3));
}

#[test]
fn on_a_counter() {
    let input = |_, raw: Raw| match raw.kind % 4 {
        0 => CounterOp::Read,
        1 => CounterOp::Add(1),
        2 => CounterOp::AddAndGet(1),
        _ => CounterOp::GetAndAdd(1 - i64::from(raw.value % 3)),
    };
    agrees(Counter, input, some_outputs(4));
}

#[test]
fn on_a_semaphore() {
    let input = |_, raw: Raw| match raw.kind % 4 {
        0 => SemaphoreOp::Acquire(1),
        1 => SemaphoreOp::TryAcquire(1),
        2 => SemaphoreOp::Release(1),
        _ => SemaphoreOp::Available,
    };
    agrees(Semaphore { permits: 1, most: Some(2) }, input, some_outputs(3));
}

fn queue_op(raw: Raw) -> QueueOp {
    match raw.kind % 5 {
        0 | 1 => QueueOp::Enqueue(Value::Int(i64::from(raw.value % 2))),
        2 | 3 => QueueOp::Dequeue,
        _ => QueueOp::Peek,
    }
}

#[test]
fn on_a_queue_with_equal_values() {
    let outputs = vec![Value::Int(0), Value::Int(1), Value::Nil];
    agrees(Queue::new(), |_, raw| queue_op(raw), outputs.clone());
    agrees(Queue::bounded(1), |_, raw| queue_op(raw), [outputs, vec![Value::Bool(false)]].concat());
}

#[test]
fn on_a_queue_that_leaves_a_choice() {
    let outputs = vec![Value::Int(0), Value::Int(1), Value::Nil];
    agrees(Queue { slack: 1, ..Queue::new() }, |_, raw| queue_op(raw), outputs);
}

#[test]
fn on_a_text_that_is_appended_to() {
    let texts = ["", "a", "b", "ab", "ba", "aa", "aba"];
    let input = |_, raw: Raw| {
        let letter = || std::sync::Arc::new(if raw.value.is_multiple_of(2) { "a" } else { "b" }.to_owned());
        match raw.kind % 5 {
            0 | 1 => TextOp::Get,
            2 => TextOp::Put(letter()),
            _ => TextOp::Append(letter()),
        }
    };
    agrees(Text::new(), input, texts.iter().map(|&text| Value::from(text)).collect());
}

/// What is known after the first `events` events.
fn first_events<I: Clone>(history: &History<I, Value>, events: usize) -> History<I, Value> {
    let all = history.operations();
    let mut order: Vec<(u64, bool, usize)> = Vec::new();
    for (index, operation) in all.iter().enumerate() {
        order.push((operation.call, false, index));
        order.extend(operation.returned_at().map(|at| (at, true, index)));
    }
    order.sort_unstable();
    let seen = &order[..events];
    let called = seen.iter().filter(|(_, is_return, _)| !is_return).map(|&(_, _, index)| index);
    let known = |index: usize| {
        let mut operation = all[index].clone();
        if !seen.contains(&(operation.returned_at().unwrap_or(0), true, index)) {
            operation.outcome = Outcome::Unknown;
        }
        operation
    };
    called.map(known).collect()
}

/// A violation comes with the shortest prefix that is wrong, and with orders that fit as far as they go.
#[test]
fn explanations_are_true() {
    let model = Register { initial: Value::Int(0), ..Register::default() };
    let explained = Tally::default();
    for_random_histories(6000, 7, 14, |raw| {
        let history = history(&model, &raw, |_, raw| register_op(raw), &some_outputs(3));
        let report = Checker::new().search_only().check(&history, &model);
        let Verdict::Violation(violation) = report.verdict() else { return Ok(()) };
        let is_wrong = |events| !linearizable(&model, &first_events(&history, events), Ties::Concurrent);
        prop_assert!(is_wrong(violation.prefix), "{:?} {:?}", history, violation);
        prop_assert!(!is_wrong(violation.prefix - 1), "{:?} {:?}", history, violation);

        let all = history.operations();
        let last = violation.operation.expect("a search names the operation");
        for attempt in &violation.attempts {
            let mut state = model.init();
            for (i, &op) in attempt.order.iter().enumerate() {
                let next = model.step(&state, &all[op].input, all[op].output()).into_iter().next();
                prop_assert!(next.is_some(), "{:?} {:?}", history, attempt);
                state = next.unwrap();
                let later = &attempt.order[i + 1..];
                prop_assert!(!later.iter().any(|&j| precedes(&all[j], &all[op], Ties::Concurrent)));
            }
            let shown = attempt.states.last();
            prop_assert!(shown.is_none_or(|shown| *shown == state.to_string()), "{:?}", attempt);
            prop_assert!(!attempt.order.contains(&last), "{:?}", attempt);
            for rejection in &attempt.rejected {
                let operation = &all[rejection.operation];
                let mut steps = model.step(&state, &operation.input, operation.output()).into_iter();
                prop_assert_eq!(steps.next().is_some(), rejection.fits);
            }
            explained.count(attempt.rejected.iter().any(|rejection| rejection.operation == last));
        }
        Ok(())
    });
    assert!(explained.yes.get() > 1000, "{explained:?}");
}

/// More operations of unknown outcome than a machine word has bits.
#[test]
fn with_a_hundred_open_operations() {
    use raddle_check::check;
    let mut history = History::new();
    for process in 0..100 {
        history.invoke(process, RegisterOp::Write(Value::Int(process as i64)));
    }
    for seen in [7, 93, 12] {
        let read = history.invoke(200, RegisterOp::Read);
        history.respond(read, Value::Int(seen));
    }
    let model = Register::default();
    assert!(Checker::new().search_only().check(&history, &model).is_accepted());
    assert!(check(&history, &model).is_accepted());
    let read = history.invoke(200, RegisterOp::Read);
    history.respond(read, Value::Int(7));
    assert!(Checker::new().search_only().check(&history, &model).is_violation());
    assert!(check(&history, &model).is_violation());
}
