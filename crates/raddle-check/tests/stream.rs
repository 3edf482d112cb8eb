//! Streams against the definition of linearizability and against the checker of whole histories.

mod common;

use common::{Raw, Tally, for_random_histories, history, linearizable, some_outputs};
use proptest::prelude::*;
use raddle_check::model::keyed::{At, Keyed};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::stream::{Found, Stop};
use raddle_check::{Checker, Exhausted, History, Limits, Model, Stream, Ties, Value, Verdict};

/// What a stream says of `history`: events in time order, calls first; unknown outcomes are told at once, or never.
fn stream<M: Model + Clone>(
    model: &M,
    history: &History<M::Input, M::Output>,
    tell_unknown: impl Fn(usize) -> bool,
    spare: usize,
) -> Result<bool, Stop> {
    let all = history.operations();
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, operation) in all.iter().enumerate() {
        events.push((operation.call, false, index));
        events.extend(operation.returned_at().map(|at| (at, true, index)));
    }
    events.sort_unstable();
    let mut stream = Stream::new(model.clone()).spare(spare);
    let mut numbers = vec![0; all.len()];
    for (_, is_return, index) in events {
        let operation = &all[index];
        if is_return {
            let output = operation.output().expect("what returns has an output").clone();
            stream.respond(numbers[index], output, index as u64)?;
        } else {
            numbers[index] = stream.call(operation.input.clone())?;
            if operation.output().is_none() && tell_unknown(index) {
                stream.forget(numbers[index])?;
            }
        }
    }
    stream.finish()
}

#[track_caller]
fn agrees<M: Model<Output = Value> + Clone>(
    cases: u32,
    model: &M,
    input: impl Fn(usize, Raw) -> M::Input,
    outputs: &[Value],
) {
    let tally = Tally::default();
    for_random_histories(cases, 8, 16, |raw| {
        let history = history(model, &raw, &input, outputs);
        let expected = linearizable(model, &history, Ties::Concurrent);
        tally.count(expected);
        let result = stream(model, &history, |index| raw[index].kind < 128, usize::MAX);
        prop_assert_eq!(result.is_ok(), expected, "{:?} {:?}", history, result);
        if let Err(stop) = result {
            // The earliest proof, as the search on the whole history finds it.
            let Stop::Violation(Found { position, key, .. }) = stop else { panic!("{stop}") };
            let report = Checker::new().search_only().check(&history, model);
            let of_part = |part: &&raddle_check::verdict::Part| part.key == key;
            let part = report.parts.iter().find(of_part).expect("the part is there");
            let Verdict::Violation(violation) = &part.verdict else { panic!("the part is fine") };
            prop_assert_eq!(violation.operation, Some(position as usize), "{:?}", history);
        }
        Ok(())
    });
    tally.is_balanced();
}

#[test]
fn of_registers() {
    let op = |raw: Raw| match raw.kind % 4 {
        0 | 1 => RegisterOp::Read,
        2 => RegisterOp::Write(Value::Int(i64::from(raw.value % 3))),
        _ => RegisterOp::Cas(Value::Int(i64::from(raw.value % 3)), Value::Int(i64::from(raw.effect % 3))),
    };
    let register = Register { initial: Value::Int(0), ..Register::default() };
    agrees(4000, &register, |_, raw| op(raw), &some_outputs(3));
    let keyed = |_, raw: Raw| At { key: Value::Int(i64::from(raw.value % 2)), op: op(raw) };
    agrees(4000, &Keyed(register), keyed, &some_outputs(3));
}

#[test]
fn of_queues() {
    let values: Vec<Value> = (0..8).map(Value::Int).chain([Value::Nil]).collect();
    // Unique values, some added again and again, and all with peeks.
    let unique = |i: usize, raw: Raw| match raw.kind % 2 {
        0 => QueueOp::Enqueue(Value::Int(i as i64)),
        _ => QueueOp::Dequeue,
    };
    agrees(8000, &Queue::new(), unique, &values);
    let repeated = |i: usize, raw: Raw| match raw.kind % 5 {
        0 | 1 => QueueOp::Enqueue(Value::Int(i as i64 % 3)),
        2 | 3 => QueueOp::Dequeue,
        _ => {
            if raw.value < 60 {
                QueueOp::Peek
            } else {
                QueueOp::Dequeue
            }
        }
    };
    agrees(8000, &Queue::new(), repeated, &values);
}

/// With no memory for a search, so that only the monitor is left, or nothing.
#[test]
fn of_queues_by_the_monitor_alone() {
    let values: Vec<Value> = (0..8).map(Value::Int).chain([Value::Nil]).collect();
    let (tally, decided) = (Tally::default(), Tally::default());
    for_random_histories(16_000, 8, 16, |mut raw| {
        raw.iter_mut().filter(|r| r.luck < 20 && r.effect > 100).for_each(|r| r.luck = 100);
        let input = |i: usize, raw: Raw| match raw.kind % 2 {
            // Values come again.
            0 => QueueOp::Enqueue(Value::Int(i as i64 % 5)),
            _ => QueueOp::Dequeue,
        };
        let history = history(&Queue::new(), &raw, input, &values);
        let result = stream(&Queue::new(), &history, |index| raw[index].kind < 128, 0);
        decided.count(!matches!(result, Err(Stop::Unsupported(_))));
        if !matches!(result, Err(Stop::Unsupported(_))) {
            let expected = linearizable(&Queue::new(), &history, Ties::Concurrent);
            tally.count(expected);
            prop_assert_eq!(result.is_ok(), expected, "{:?} {:?}", history, result);
        }
        Ok(())
    });
    tally.is_balanced();
    assert!(decided.yes.get() > decided.no.get(), "{decided:?}");
}

/// A queue that grows long under concurrent enqueues has more orders than anybody can try.
#[test]
fn a_long_queue_is_decided_by_the_monitor() {
    let mut stream = Stream::new(Queue::new());
    let mut enqueue_pair = |first: i64| {
        let pair = [first, first + 1].map(|n| stream.call(QueueOp::Enqueue(Value::Int(n))).unwrap());
        pair.into_iter().for_each(|op| stream.respond(op, Value::Nil, 0).unwrap());
    };
    (0..400).for_each(|n| enqueue_pair(2 * n));
    for n in 0..790 {
        let dequeue = stream.call(QueueOp::Dequeue).unwrap();
        stream.respond(dequeue, Value::Int(n ^ 1), 0).unwrap();
    }
    let dequeue = stream.call(QueueOp::Dequeue).unwrap();
    let stop = stream.respond(dequeue, Value::Int(795), 7).unwrap_err();
    let expected = "dequeue() -> 795 has no place in any order: 790 was added before it and is still inside";
    assert_eq!(stop.to_string(), expected);
}

#[test]
fn an_operation_given_up_on_leaves_it_unknown() {
    let mut stream = Stream::new(Register { initial: Value::Int(0), ..Register::default() }).patience(10);
    let slow = stream.call(RegisterOp::Write(Value::Int(1))).unwrap();
    for _ in 0..20 {
        let read = stream.call(RegisterOp::Read).unwrap();
        stream.respond(read, Value::Int(0), 0).unwrap();
    }
    stream.respond(slow, Value::Nil, 0).unwrap();
    assert_eq!(stream.finish(), Ok(false));
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    // Every value is new, so that states and operations are, too: what is kept must be given up again.
    let limits = Limits { time: None, memory: Some(32 << 20) };
    let mut stream = Stream::new(Register { initial: Value::Int(0), ..Register::default() }).limits(limits);
    for n in 0..200_000 {
        let write = stream.call(RegisterOp::Write(Value::Int(n))).unwrap();
        let read = stream.call(RegisterOp::Read).unwrap();
        stream.respond(write, Value::Nil, 0).unwrap();
        stream.respond(read, Value::Int(n), 0).unwrap();
    }
    assert_eq!(stream.finish(), Ok(true));
}

#[test]
fn limits_stop_a_stream() {
    let limits = Limits { time: None, memory: Some(1 << 16) };
    let mut stream = Stream::new(Queue { slack: 1, ..Queue::new() }).limits(limits);
    let calls: Vec<u64> = (0..12).map(|n| stream.call(QueueOp::Enqueue(Value::Int(n))).unwrap()).collect();
    let stop = calls.into_iter().find_map(|op| stream.respond(op, Value::Nil, 0).err());
    assert_eq!(stop, Some(Stop::Limit(Exhausted::Memory)));
}
