//! Each contract against its definition.

mod common;

use common::{
    Raw, Tally, for_random_histories, history, linearizable, orderable, permutations, precedes, returned,
    some_outputs,
};
use proptest::prelude::*;
use raddle_check::model::multi_register::{Access, MultiRegister, Transaction};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::{
    Checker, Contract, Durability, History, Model, Operation, Outcome, Relaxation, Ties, Value,
};

type Registers = History<RegisterOp, Value>;
type Queues = History<QueueOp, Value>;

fn register_op(raw: Raw) -> RegisterOp {
    let value = |n: u8| Value::Int(i64::from(n % 3));
    match raw.kind % 5 {
        0..=2 => RegisterOp::Read,
        3 => RegisterOp::Write(value(raw.value)),
        _ => RegisterOp::Cas(value(raw.value), value(raw.value / 3)),
    }
}

fn queue_op(index: usize, raw: Raw) -> QueueOp {
    match raw.kind % 4 {
        0 | 1 => QueueOp::Enqueue(Value::Int(index as i64 % 3)),
        2 => QueueOp::Dequeue,
        _ => {
            if raw.value < 100 {
                QueueOp::Peek
            } else {
                QueueOp::Dequeue
            }
        }
    }
}

/// Compares a contract with its definition on random register histories and random queue histories.
#[track_caller]
fn agrees(
    cases: u32,
    most: usize,
    contract: Contract,
    on_register: impl Fn(&Register, &Registers) -> bool,
    on_queue: impl Fn(&Queue, &Queues) -> bool,
) {
    let (registers, queues) = (Tally::default(), Tally::default());
    let (register, queue) = (Register { initial: Value::Int(0), ..Register::default() }, Queue::new());
    let checker = Checker::new().contract(contract);
    for_random_histories(cases, most, 14, |raw| {
        let one = history(&register, &raw, |_, raw| register_op(raw), &some_outputs(3));
        let expected = on_register(&register, &one);
        registers.count(expected);
        prop_assert_eq!(checker.check(&one, &register).is_accepted(), expected, "{:?}", one);
        let two = history(&queue, &raw, queue_op, &[0.into(), 1.into(), 2.into(), Value::Nil]);
        let expected = on_queue(&queue, &two);
        queues.count(expected);
        prop_assert_eq!(checker.check(&two, &queue).is_accepted(), expected, "{:?}", two);
        Ok(())
    });
    registers.is_balanced();
    queues.is_balanced();
}

#[test]
fn sequential() {
    fn definition<M: Model>(model: &M, history: &History<M::Input, M::Output>) -> bool {
        let all = history.operations();
        let program_order =
            |i: usize, j: usize| all[i].process == all[j].process && (all[i].call, i) < (all[j].call, j);
        orderable(model, all, returned(all), program_order)
    }
    agrees(4000, 7, Contract::Sequential, definition, definition);
}

#[test]
fn serializable() {
    fn definition<M: Model>(model: &M, history: &History<M::Input, M::Output>) -> bool {
        let all = history.operations();
        orderable(model, all, returned(all), |_, _| false)
    }
    agrees(4000, 7, Contract::Serializable, definition, definition);
}

fn transactions(raw: &[Raw]) -> History<Transaction, Value> {
    let access = |kind: u8, value: u8| {
        let key = Value::Int(i64::from(kind / 2 % 2));
        if kind.is_multiple_of(2) {
            Access::Read(key)
        } else {
            Access::Write(key, Value::Int(i64::from(value % 2)))
        }
    };
    let shown = |access: &Access, seen: u8| {
        let seen = [Value::Nil, Value::Int(0), Value::Int(1)][usize::from(seen % 3)].clone();
        match access {
            Access::Read(key) => vec![":r".into(), key.clone(), seen].into(),
            Access::Write(key, value) => vec![":w".into(), key.clone(), value.clone()].into(),
        }
    };
    let one = |raw: &Raw| {
        let accesses = vec![access(raw.kind, raw.value), access(raw.kind / 4, raw.value / 2)];
        let output = vec![shown(&accesses[0], raw.effect), shown(&accesses[1], raw.effect / 3)].into();
        Operation {
            process: raw.process.into(),
            call: raw.call.into(),
            input: Transaction(accesses),
            outcome: Outcome::Returned { output, at: (raw.call + raw.duration).into() },
        }
    };
    raw.iter().map(one).collect()
}

#[test]
fn serializable_and_strictly_so_for_transactions() {
    let (plain, strict) = (Tally::default(), Tally::default());
    for_random_histories(4000, 5, 14, |raw| {
        let history = transactions(&raw);
        let all = history.operations();
        let serializable = orderable(&MultiRegister::default(), all, |_| true, |_, _| false);
        let in_time = linearizable(&MultiRegister::default(), &history, Ties::Concurrent);
        plain.count(serializable);
        strict.count(in_time);
        for (contract, expected) in
            [(Contract::Serializable, serializable), (Contract::StrictlySerializable, in_time)]
        {
            let report = Checker::new().contract(contract).check(&history, &MultiRegister::default());
            prop_assert_eq!(report.is_accepted(), expected, "{} {:?}", contract, history);
        }
        Ok(())
    });
    plain.is_balanced();
    strict.is_balanced();
}

#[test]
fn quiescent() {
    fn definition<M: Model>(model: &M, history: &History<M::Input, M::Output>) -> bool {
        let all = history.operations();
        // Instants between the times, which are integers: twice the time, plus one.
        let instants: Vec<u64> = (0..100).map(|time| 2 * time + 1).collect();
        let ends = |op: &Operation<_, _>| op.returned_at().map_or(u64::MAX, |at| 2 * at);
        let is_quiet = |&&instant: &&u64| !all.iter().any(|op| 2 * op.call < instant && instant < ends(op));
        let quiet: Vec<u64> = instants.iter().filter(is_quiet).copied().collect();
        let separated = |i: usize, j: usize| quiet.iter().any(|&q| ends(&all[i]) < q && q < 2 * all[j].call);
        orderable(model, all, returned(all), separated)
    }
    agrees(6000, 7, Contract::Quiescent, definition, definition);
}

#[test]
fn given_partial_order() {
    let tally = Tally::default();
    let register = Register { initial: Value::Int(0), ..Register::default() };
    for_random_histories(6000, 7, 14, |raw| {
        let history = history(&register, &raw, |_, raw| register_op(raw), &some_outputs(3));
        let all = history.operations();
        // Any relation that follows the indices is a partial order once it is closed.
        let before = |i: usize, j: usize| i < j && (raw[i].value ^ raw[j].kind).is_multiple_of(3);
        let expected = orderable(&register, all, returned(all), before);
        tally.count(expected);
        let report = Checker::new().check_partial_order(&history, &register, before);
        prop_assert_eq!(report.is_accepted(), expected, "{:?}", history);
        Ok(())
    });
    tally.is_balanced();
}

/// The k-out-of-order queue and stack as their definition has them, on plain vectors.
struct OutOfOrder {
    k: usize,
    is_stack: bool,
}

impl Model for OutOfOrder {
    type State = Vec<Value>;
    type Input = QueueOp;
    type Output = Value;

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(
        &self,
        state: &Vec<Value>,
        op: &QueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = Vec<Value>> {
        let mut all = Vec::new();
        if let QueueOp::Enqueue(value) = op {
            let mut next = state.clone();
            next.push(value.clone());
            return vec![next];
        }
        for i in 0..state.len() {
            let passed_over = if self.is_stack { state.len() - 1 - i } else { i };
            if passed_over <= self.k && output.is_none_or(|seen| *seen == state[i]) {
                let mut next = state.clone();
                if *op == QueueOp::Dequeue {
                    next.remove(i);
                }
                all.push(next);
            }
        }
        if state.len() <= self.k && output.is_none_or(Value::is_nil) {
            all.push(state.clone());
        }
        all
    }
}

#[test]
fn k_relaxed() {
    let tally = Tally::default();
    for_random_histories(5000, 7, 14, |raw| {
        let outputs = [0.into(), 1.into(), 2.into(), Value::Nil];
        let queue = history(&Queue::new(), &raw, queue_op, &outputs);
        let as_stack = |op: &QueueOp| match op {
            QueueOp::Enqueue(value) => StackOp::Push(value.clone()),
            QueueOp::Dequeue => StackOp::Pop,
            QueueOp::Peek => StackOp::Peek,
        };
        let stack = queue.operations().iter().map(|op| Operation {
            process: op.process,
            call: op.call,
            input: as_stack(&op.input),
            outcome: op.outcome.clone(),
        });
        let stack: History<StackOp, Value> = stack.collect();
        for k in 0..3 {
            let checker = Checker::new().contract(Contract::Relaxed(Relaxation::out_of_order(k)));
            let expected = linearizable(&OutOfOrder { k, is_stack: false }, &queue, Ties::Concurrent);
            tally.count(expected);
            prop_assert_eq!(
                checker.check(&queue, &Queue::new()).is_accepted(),
                expected,
                "{} {:?}",
                k,
                queue
            );
            let expected = linearizable(&OutOfOrder { k, is_stack: true }, &queue, Ties::Concurrent);
            prop_assert_eq!(
                checker.check(&stack, &Stack::new()).is_accepted(),
                expected,
                "{} {:?}",
                k,
                stack
            );
        }
        Ok(())
    });
    tally.is_balanced();
}

#[test]
fn a_model_without_a_relaxed_version_is_refused() {
    let history = Registers::new();
    let refused = Checker::new()
        .contract(Contract::Relaxed(Relaxation::out_of_order(1)))
        .try_check(&history, &Register::default());
    assert!(refused.unwrap_err().to_string().contains("does not say what a step out of order costs"));
}

#[test]
fn quasi() {
    fn definition<M: Model>(model: &M, history: &History<M::Input, M::Output>, k: usize) -> bool {
        let all = history.operations();
        let (done, open): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&i| all[i].output().is_some());
        (0..1u32 << open.len()).any(|kept| {
            let kept = open.iter().enumerate().filter(|(bit, _)| kept >> bit & 1 == 1).map(|(_, &op)| op);
            let chosen: Vec<usize> = done.iter().copied().chain(kept).collect();
            let orders = permutations(&chosen);
            let is_legal = |order: &&Vec<usize>| {
                let mut states = vec![model.init()];
                for &op in *order {
                    states = states
                        .iter()
                        .flat_map(|s| {
                            model.step(s, &all[op].input, all[op].output()).into_iter().collect::<Vec<_>>()
                        })
                        .collect();
                }
                !states.is_empty()
            };
            let is_timely = |order: &&Vec<usize>| {
                let wrong = |i: usize, j: usize| precedes(&all[order[j]], &all[order[i]], Ties::Concurrent);
                !(0..order.len()).any(|i| (i + 1..order.len()).any(|j| wrong(i, j)))
            };
            let timely: Vec<&Vec<usize>> = orders.iter().filter(is_timely).collect();
            orders.iter().filter(is_legal).any(|legal| {
                let near = |timely: &&Vec<usize>| {
                    legal.iter().enumerate().all(|(at, op)| {
                        timely
                            .iter()
                            .position(|other| other == op)
                            .is_some_and(|place| place.abs_diff(at) <= k)
                    })
                };
                timely.iter().any(near)
            })
        })
    }
    for k in 0..3 {
        agrees(700, 5, Contract::Quasi(k), |m, h| definition(m, h, k), |m, h| definition(m, h, k));
    }
}

/// The history with crashes at these times; what is open at one never returns.
fn with_crashes<I: Clone, O: Clone>(history: &History<I, O>, crashes: &[u64]) -> History<I, O> {
    let cut = |op: &Operation<I, O>| {
        let is_open = |&crash: &u64| op.call <= crash && op.returned_at().is_some_and(|at| at > crash);
        let outcome = if crashes.iter().any(is_open) { Outcome::Unknown } else { op.outcome.clone() };
        Operation { process: op.process, call: op.call, input: op.input.clone(), outcome }
    };
    let mut crashed: History<I, O> = history.operations().iter().map(cut).collect();
    crashes.iter().for_each(|&at| crashed.push_crash(at));
    crashed
}

fn era(call: u64, crashes: &[u64]) -> usize {
    crashes.iter().filter(|&&crash| crash < call).count()
}

fn subsets(count: usize) -> impl Iterator<Item = u32> {
    0..1 << count
}

fn strictly_durable<M: Model>(model: &M, history: &History<M::Input, M::Output>) -> bool {
    let (all, crashes) = (history.operations(), history.crashes());
    let end = |op: &Operation<M::Input, M::Output>| {
        op.returned_at().or_else(|| crashes.iter().copied().filter(|&crash| crash >= op.call).min())
    };
    // Which of the open ones took effect; those come before all that is called after their end.
    subsets(all.len()).any(|kept| {
        let is_kept = |i: usize| kept >> i & 1 == 1;
        if (0..all.len()).any(|i| all[i].output().is_some() && !is_kept(i)) {
            return false;
        }
        let chosen: Vec<_> = (0..all.len()).filter(|&i| is_kept(i)).map(|i| all[i].clone()).collect();
        let before = |i: usize, j: usize| end(&chosen[i]).is_some_and(|end| end < chosen[j].call);
        orderable(model, &chosen, |_| true, before)
    })
}

fn buffered_durable<M: Model>(model: &M, history: &History<M::Input, M::Output>) -> bool {
    let (all, crashes) = (history.operations(), history.crashes());
    let last = crashes.len();
    let in_era = |i: usize| era(all[i].call, crashes);
    subsets(all.len()).any(|kept| {
        let is_kept = |i: usize| kept >> i & 1 == 1;
        let consistent = (0..all.len()).all(|i| {
            let complete_last = in_era(i) < last || all[i].output().is_none() || is_kept(i);
            let closed = !is_kept(i)
                || (0..all.len()).all(|j| {
                    is_kept(j) || in_era(i) != in_era(j) || !precedes(&all[j], &all[i], Ties::Concurrent)
                });
            complete_last && closed
        });
        if !consistent {
            return false;
        }
        let chosen: Vec<_> = (0..all.len()).filter(|&i| is_kept(i)).map(|i| all[i].clone()).collect();
        let before = |i: usize, j: usize| {
            era(chosen[i].call, crashes) < era(chosen[j].call, crashes)
                || precedes(&chosen[i], &chosen[j], Ties::Concurrent)
        };
        orderable(model, &chosen, |_| true, before)
    })
}

#[test]
fn durable() {
    let register = Register { initial: Value::Int(0), ..Register::default() };
    let tallies = [Tally::default(), Tally::default(), Tally::default()];
    for_random_histories(3000, 7, 14, |raw| {
        let crashes: Vec<u64> = raw.iter().take(2).map(|raw| u64::from(raw.value % 18)).collect();
        let history = history(&register, &raw, |_, raw| register_op(raw), &some_outputs(3));
        let history = with_crashes(&history, &crashes);
        let expected = [
            (Durability::Plain, linearizable(&register, &history, Ties::Concurrent)),
            (Durability::Strict, strictly_durable(&register, &history)),
            (Durability::Buffered, buffered_durable(&register, &history)),
        ];
        for ((durability, expected), tally) in expected.into_iter().zip(&tallies) {
            tally.count(expected);
            let checker = Checker::new().contract(Contract::Durable(durability));
            prop_assert_eq!(
                checker.check(&history, &register).is_accepted(),
                expected,
                "{:?} {:?}",
                durability,
                history
            );
        }
        Ok(())
    });
    tallies.iter().for_each(Tally::is_balanced);
}

#[test]
fn an_operation_that_outlives_a_crash_is_refused() {
    let mut history = Registers::new();
    let read = history.invoke(0, RegisterOp::Read);
    history.crash();
    history.respond(read, Value::Nil);
    for durability in [Durability::Strict, Durability::Buffered] {
        let checker = Checker::new().contract(Contract::Durable(durability));
        let refused = checker.try_check(&history, &Register::default()).unwrap_err();
        assert!(refused.to_string().contains("open during a crash"), "{refused}");
    }
}
