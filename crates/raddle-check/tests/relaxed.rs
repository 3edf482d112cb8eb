//! Contracts that let operations deviate, each against its definition.

mod common;

use std::collections::VecDeque;

use common::{
    Raw, Tally, for_random_histories, history, orderable, permutations, precedes, returned, some_outputs,
};
use proptest::prelude::*;
use raddle_check::model::counter::{Counter, CounterOp};
use raddle_check::model::keyed::{At, Keyed};
use raddle_check::model::marked::Marked;
use raddle_check::model::priority_queue::{PriorityQueue, PriorityQueueOp};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::{
    Checker, Contract, Domain, History, Measure, Model, Operation, Outcome, PathCost, Relaxation, Ties,
    Value, Verifier,
};

const PATHS: [PathCost; 3] = [PathCost::Max, PathCost::Interval, PathCost::IntervalMax];

/// What an operation that returned something may do by the definition of a measure: the state after it and its cost,
/// `None` if it cannot deviate.
type Deviations<'a, I, S> = dyn Fn(&S, &I, Option<&Value>) -> Steps<S> + 'a;
type Steps<S> = Vec<(S, Option<usize>)>;

/// A collection by its definition: elements in the order they were added, and which ones a removal passes over.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Queue,
    Stack,
    PriorityQueue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    Add(Value),
    Remove,
    Peek,
}

fn collection_steps(kind: Kind, state: &[Value], op: &Op, output: Option<&Value>) -> Steps<Vec<Value>> {
    if let Op::Add(value) = op {
        return vec![([state, std::slice::from_ref(value)].concat(), None)];
    }
    let mut steps = Vec::new();
    for (i, element) in state.iter().enumerate() {
        let passed = match kind {
            Kind::Queue => i,
            Kind::Stack => state.len() - 1 - i,
            Kind::PriorityQueue => state.iter().filter(|other| *other > element).count(),
        };
        if output.is_none_or(|seen| seen == element) {
            let mut next = state.to_vec();
            if *op == Op::Remove {
                next.remove(i);
            }
            steps.push((next, Some(passed)));
        }
    }
    if output.is_none_or(Value::is_nil) {
        steps.push((state.to_vec(), Some(state.len())));
    }
    steps
}

/// The cost of an order by the definition, from the costs of its operations.
fn path_cost(path: PathCost, costs: &[Option<usize>]) -> usize {
    // Operations that cannot deviate are no part of any run.
    let costs: Vec<usize> = costs.iter().filter_map(|cost| *cost).collect();
    let run_before = |at: usize| costs[..at].iter().rev().take_while(|&&cost| cost > 0).count();
    let each = (0..costs.len()).filter(|&at| costs[at] > 0).map(|at| match path {
        PathCost::Max => costs[at],
        PathCost::Interval => run_before(at) + 1,
        PathCost::IntervalMax => run_before(at) + costs[at],
    });
    each.max().unwrap_or(0)
}

/// The least cost of an order that real time allows, by trying all; `None` if no order is possible at any cost.
fn distance<I, S: Clone>(
    operations: &[Operation<I, Value>],
    init: &S,
    path: PathCost,
    steps: &Deviations<'_, I, S>,
) -> Option<usize> {
    struct Search<'a, I, S> {
        operations: &'a [Operation<I, Value>],
        path: PathCost,
        steps: &'a Deviations<'a, I, S>,
        best: Option<usize>,
    }
    impl<I, S: Clone> Search<'_, I, S> {
        fn go(&mut self, left: &[usize], state: &S, costs: &mut Vec<Option<usize>>) {
            let cost = path_cost(self.path, costs);
            if self.best.is_some_and(|best| best <= cost) {
                return;
            }
            if left.iter().all(|&op| self.operations[op].output().is_none()) {
                self.best = Some(cost);
            }
            for &op in left {
                let operation = &self.operations[op];
                let waits =
                    left.iter().any(|&other| precedes(&self.operations[other], operation, Ties::Concurrent));
                if waits {
                    continue;
                }
                let rest: Vec<usize> = left.iter().copied().filter(|&other| other != op).collect();
                for (next, cost) in (self.steps)(state, &operation.input, operation.output()) {
                    costs.push(cost);
                    self.go(&rest, &next, costs);
                    costs.pop();
                }
            }
        }
    }
    let everything: Vec<usize> = (0..operations.len()).collect();
    let mut search = Search { operations, path, steps, best: None };
    search.go(&everything, init, &mut Vec::new());
    search.best
}

fn translated<I, J>(history: &History<I, Value>, to: impl Fn(&I) -> J) -> History<J, Value> {
    let one = |op: &Operation<I, Value>| Operation {
        process: op.process,
        call: op.call,
        input: to(&op.input),
        outcome: op.outcome.clone(),
    };
    history.operations().iter().map(one).collect()
}

fn collection_op(index: usize, raw: Raw) -> Op {
    match raw.kind % 8 {
        0..=3 => Op::Add(Value::Int(index as i64 % 5)),
        4 => Op::Peek,
        _ => Op::Remove,
    }
}

fn as_queue(op: &Op) -> QueueOp {
    match op {
        Op::Add(value) => QueueOp::Enqueue(value.clone()),
        Op::Remove => QueueOp::Dequeue,
        Op::Peek => QueueOp::Peek,
    }
}

fn as_stack(op: &Op) -> StackOp {
    match op {
        Op::Add(value) => StackOp::Push(value.clone()),
        Op::Remove => StackOp::Pop,
        Op::Peek => StackOp::Peek,
    }
}

fn as_priority_queue(op: &Op) -> PriorityQueueOp {
    match op {
        Op::Add(value) => PriorityQueueOp::Insert(value.clone()),
        Op::Remove => PriorityQueueOp::Remove,
        Op::Peek => PriorityQueueOp::Peek,
    }
}

fn contract(measure: Measure, path: PathCost, k: usize) -> Contract {
    Contract::Relaxed(Relaxation { measure, path, k })
}

/// A history of a collection from which removals take anything, with little overlap and most additions early.
fn loose_history(raw: &[Raw]) -> History<Op, Value> {
    let hurry = |(i, &raw): (usize, &Raw)| match collection_op(i, raw) {
        Op::Add(_) => Raw { call: raw.call / 4, duration: raw.duration % 2, ..raw },
        _ => Raw { call: raw.call + 2, duration: raw.duration % 3, ..raw },
    };
    let raw: Vec<Raw> = raw.iter().enumerate().map(hurry).collect();
    let mut by_effect: Vec<usize> = (0..raw.len()).collect();
    by_effect.sort_by_key(|&i| {
        (u32::from(raw[i].call) * 256 + u32::from(raw[i].duration) * u32::from(raw[i].effect), i)
    });
    let mut held: VecDeque<Value> = VecDeque::new();
    let mut outputs = vec![Value::Nil; raw.len()];
    for i in by_effect {
        match collection_op(i, raw[i]) {
            Op::Add(value) => held.push_back(value),
            op if !held.is_empty() => {
                let at = usize::from(raw[i].luck) % held.len();
                outputs[i] = held[at].clone();
                if op == Op::Remove {
                    held.remove(at);
                }
            }
            _ => {}
        }
    }
    let one = |(i, raw): (usize, &Raw)| Operation {
        process: raw.process.into(),
        call: raw.call.into(),
        input: collection_op(i, *raw),
        outcome: match raw.luck {
            0..20 => Outcome::Unknown,
            _ => Outcome::Returned { output: outputs[i].clone(), at: (raw.call + raw.duration).into() },
        },
    };
    raw.iter().enumerate().map(one).collect()
}

#[test]
fn out_of_order_collections() {
    for path in PATHS {
        let tallies = [Tally::default(), Tally::default(), Tally::default()];
        for_random_histories(1200, 6, 12, |raw| {
            let history = loose_history(&raw);
            let kinds = [Kind::Queue, Kind::Stack, Kind::PriorityQueue];
            for (kind, tally) in kinds.into_iter().zip(&tallies) {
                let steps = |state: &Vec<Value>, op: &Op, output: Option<&Value>| {
                    collection_steps(kind, state, op, output)
                };
                let least = distance(history.operations(), &Vec::new(), path, &steps);
                for k in 0..4 {
                    let expected = least.is_some_and(|least| least <= k);
                    if k < 2 {
                        tally.count(expected);
                    }
                    let checker = Checker::new().contract(contract(Measure::OutOfOrder, path, k));
                    let report = match kind {
                        Kind::Queue => checker.check(&translated(&history, as_queue), &Queue::new()),
                        Kind::Stack => checker.check(&translated(&history, as_stack), &Stack::new()),
                        Kind::PriorityQueue => {
                            checker.check(&translated(&history, as_priority_queue), &PriorityQueue::new())
                        }
                    };
                    prop_assert_eq!(
                        report.is_accepted(),
                        expected,
                        "{:?} {:?} {} {:?}",
                        kind,
                        path,
                        k,
                        history
                    );
                }
            }
            Ok(())
        });
        tallies.iter().for_each(Tally::is_balanced);
    }
}

#[test]
fn only_marked_operations_deviate() {
    let tally = Tally::default();
    let model = || Marked::new(Queue::new(), |op| *op == QueueOp::Dequeue);
    for_random_histories(1500, 6, 12, |raw| {
        let history = loose_history(&raw);
        // A peek that is not marked must see the head, and ends no run.
        let steps = |state: &Vec<Value>, op: &Op, output: Option<&Value>| {
            let steps = collection_steps(Kind::Queue, state, op, output).into_iter();
            match op {
                Op::Peek => {
                    steps.filter(|(_, cost)| *cost == Some(0)).map(|(next, _)| (next, None)).collect()
                }
                _ => steps.collect(),
            }
        };
        for path in PATHS {
            let least = distance(history.operations(), &Vec::new(), path, &steps);
            let expected = least.is_some_and(|least| least <= 1);
            tally.count(expected);
            let contract = contract(Measure::OutOfOrder, path, 1);
            let history = translated(&history, as_queue);
            let checked = Checker::new().contract(contract).check(&history, &model());
            prop_assert_eq!(checked.is_accepted(), expected, "{:?} {:?}", path, history);
            prop_assert_eq!(Verifier::new(model(), contract).verify(&history), Ok(expected));
        }
        Ok(())
    });
    tally.is_balanced();
}

#[test]
fn stuttering_objects() {
    fn stuttered<S: Clone + PartialEq>(before: &S, next: Vec<S>) -> Vec<(S, Option<usize>)> {
        let mut steps: Vec<(S, Option<usize>)> =
            next.iter().map(|next| (next.clone(), (next != before).then_some(0))).collect();
        if next.iter().any(|next| next != before) {
            steps.push((before.clone(), Some(1)));
        }
        steps
    }
    let (counters, registers) = (Tally::default(), Tally::default());
    let register = Register { initial: Value::Int(0), ..Register::default() };
    for_random_histories(1500, 6, 12, |raw| {
        let counter_op = |_, raw: Raw| match raw.kind % 3 {
            0 => CounterOp::Read,
            1 => CounterOp::AddAndGet(1),
            _ => CounterOp::Add(1),
        };
        let one = history(&Counter, &raw, counter_op, &some_outputs(6));
        let register_op = |_, raw: Raw| match raw.kind % 2 {
            0 => RegisterOp::Read,
            _ => RegisterOp::Write(Value::Int(i64::from(raw.value % 2))),
        };
        let two = history(&register, &raw, register_op, &some_outputs(2));
        for path in PATHS {
            let on_counter = |state: &i64, op: &CounterOp, output: Option<&Value>| {
                stuttered(state, Counter.step(state, op, output).into_iter().collect())
            };
            let on_register = |state: &Value, op: &RegisterOp, output: Option<&Value>| {
                stuttered(state, register.step(state, op, output).into_iter().collect())
            };
            let least_one = distance(one.operations(), &0, path, &on_counter);
            let least_two = distance(two.operations(), &Value::Int(0), path, &on_register);
            for k in 0..3 {
                let checker = Checker::new().contract(contract(Measure::Stuttering, path, k));
                let expected = least_one.is_some_and(|least| least <= k);
                counters.count(expected);
                prop_assert_eq!(checker.check(&one, &Counter).is_accepted(), expected, "{} {:?}", k, one);
                let expected = least_two.is_some_and(|least| least <= k);
                registers.count(expected);
                prop_assert_eq!(checker.check(&two, &register).is_accepted(), expected, "{} {:?}", k, two);
            }
        }
        Ok(())
    });
    counters.is_balanced();
    registers.is_balanced();
}

/// Costs are counted part by part, whether the history is split or not.
#[test]
fn parts_pay_for_themselves() {
    let model = Keyed(Queue::new());
    let tally = Tally::default();
    for_random_histories(2000, 7, 12, |raw| {
        let keys: Vec<Value> = raw.iter().map(|raw| Value::Int(i64::from(raw.value % 2))).collect();
        let plain = translated(&loose_history(&raw), as_queue);
        let keyed: History<At<QueueOp>, Value> = plain
            .operations()
            .iter()
            .zip(keys)
            .map(|(op, key)| Operation {
                process: op.process,
                call: op.call,
                input: At { key, op: op.input.clone() },
                outcome: op.outcome.clone(),
            })
            .collect();
        for path in PATHS {
            let checker = Checker::new().contract(contract(Measure::OutOfOrder, path, 1));
            let split = checker.check(&keyed, &model).is_accepted();
            tally.count(split);
            let whole = checker.whole().check(&keyed, &model).is_accepted();
            prop_assert_eq!(split, whole, "{:?} {:?}", path, keyed);
        }
        Ok(())
    });
    tally.is_balanced();
}

#[test]
fn examples() {
    let queue = |dequeued: &[i64]| {
        let mut history = History::new();
        for value in 1..=4 {
            let enqueue = history.invoke(0, QueueOp::Enqueue(value.into()));
            history.respond(enqueue, Value::Nil);
        }
        for &value in dequeued {
            let dequeue = history.invoke(0, QueueOp::Dequeue);
            history.respond(dequeue, value.into());
        }
        history
    };
    #[track_caller]
    fn check(contract: &str, history: &History<QueueOp, Value>, expected: bool) {
        let contract: Contract = contract.parse().unwrap();
        let report = Checker::new().contract(contract).check(history, &Queue::new());
        assert_eq!(report.is_accepted(), expected, "{contract}");
        assert_eq!(Verifier::new(Queue::new(), contract).verify(history), Ok(expected), "{contract}");
    }
    // Two are passed over at once.
    check("k-relaxed:1", &queue(&[3]), false);
    check("k-relaxed:2", &queue(&[3]), true);
    check("lateness:1", &queue(&[3]), true);
    // One is passed over twice.
    check("k-relaxed:1", &queue(&[2, 3]), true);
    check("lateness:1", &queue(&[2, 3]), false);
    check("lateness:2", &queue(&[2, 3]), true);
    check("k-relaxed:1:interval-max", &queue(&[2, 3]), false);
    check("k-relaxed:2:interval-max", &queue(&[2, 3]), true);
    // Its turn ends the run.
    check("lateness:1", &queue(&[2, 1, 4, 3]), true);
    // An element is taken twice.
    check("stuttering:1", &queue(&[1, 1]), true);
    check("stuttering:1", &queue(&[1, 1, 1]), false);
    check("anything", &queue(&[9]), true);
}

#[test]
fn names_come_back() {
    for name in [
        "linearizable",
        "quiescent",
        "k-relaxed:3",
        "lateness:2",
        "stuttering:1",
        "k-relaxed:2:interval-max",
        "stuttering:2:max",
        "stuttering:2:interval-max",
        "quasi:4",
        "set-linearizable",
        "interval-linearizable",
        "buffered-durable",
        "anything",
    ] {
        assert_eq!(name.parse::<Contract>().unwrap().to_string(), name);
    }
    assert_eq!("k-relaxed:2:interval".parse::<Contract>().unwrap().to_string(), "lateness:2");
    let error = |name: &str| name.parse::<Contract>().unwrap_err();
    assert!(error("lateness").contains("`lateness:2`"));
    assert!(error("stuttering:1:mean").contains("max, interval, interval-max"));
    assert!(error("sequential:2").contains("takes no number"));
    assert!(error("lineariseable").contains("set-linearizable"));
}

fn quiet_periods<I, O>(all: &[Operation<I, O>]) -> impl Fn(usize, usize) -> bool + '_ {
    // Instants between the times, which are integers: twice the time, plus one.
    let ends = |op: &Operation<I, O>| op.returned_at().map_or(u64::MAX, |at| 2 * at);
    let is_quiet = move |instant: &u64| !all.iter().any(|op| 2 * op.call < *instant && *instant < ends(op));
    let quiet: Vec<u64> = (0..100).map(|time| 2 * time + 1).filter(is_quiet).collect();
    move |i, j| quiet.iter().any(|&q| ends(&all[i]) < q && q < 2 * all[j].call)
}

#[test]
fn quiescent_for_marked_operations() {
    let tally = Tally::default();
    let queue = Queue::new();
    let marks: [fn(&QueueOp) -> bool; 3] =
        [|op| *op == QueueOp::Dequeue, |op| matches!(op, QueueOp::Enqueue(_)), |_| false];
    for_random_histories(4000, 7, 14, |raw| {
        let input = |i: usize, raw: Raw| as_queue(&collection_op(i, raw));
        let history = history(&queue, &raw, input, &[0.into(), 1.into(), 2.into(), 3.into(), Value::Nil]);
        let all = history.operations();
        let separated = quiet_periods(all);
        for mark in marks {
            let in_time = |i: usize, j: usize| {
                !mark(&all[i].input) && !mark(&all[j].input) && precedes(&all[i], &all[j], Ties::Concurrent)
            };
            let expected = orderable(&queue, all, returned(all), |i, j| separated(i, j) || in_time(i, j));
            tally.count(expected);
            let model = || Marked::new(Queue::new(), mark);
            let checker = Checker::new().contract(Contract::Quiescent);
            prop_assert_eq!(checker.check(&history, &model()).is_accepted(), expected, "{:?}", history);
            // Real time, given as a partial order, means the same.
            let before = |i: usize, j: usize| precedes(&all[i], &all[j], Ties::Concurrent);
            let given = checker.check_partial_order(&history, &model(), before);
            prop_assert_eq!(given.is_accepted(), expected, "given: {:?}", history);
        }
        Ok(())
    });
    tally.is_balanced();
}

/// Quasi-linearizability by its definition: two orders, compared place by place within each domain.
fn quasi_linearizable<M: Model>(
    model: &M,
    history: &History<M::Input, M::Output>,
    k: usize,
    before: impl Fn(usize, usize) -> bool,
) -> bool {
    let all = history.operations();
    let (done, open): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&i| all[i].output().is_some());
    (0..1u32 << open.len()).any(|kept| {
        let kept = open.iter().enumerate().filter(|(bit, _)| kept >> bit & 1 == 1).map(|(_, &op)| op);
        let chosen: Vec<usize> = done.iter().copied().chain(kept).collect();
        let orders = permutations(&chosen);
        let is_legal = |order: &&Vec<usize>| {
            let mut states = vec![model.init()];
            for &op in *order {
                let step = |s: &M::State| -> Vec<M::State> {
                    model.step(s, &all[op].input, all[op].output()).into_iter().collect()
                };
                states = states.iter().flat_map(step).collect();
            }
            !states.is_empty()
        };
        let is_timely = |order: &&Vec<usize>| {
            !(0..order.len()).any(|i| (i + 1..order.len()).any(|j| before(order[j], order[i])))
        };
        let place = |order: &[usize], op: usize, domain: &Domain| {
            let in_domain = |&&other: &&usize| {
                model.domains(&all[other].input, k).iter().any(|d| d.number == domain.number)
            };
            order.iter().filter(in_domain).position(|&other| other == op).unwrap()
        };
        let timely: Vec<&Vec<usize>> = orders.iter().filter(is_timely).collect();
        orders.iter().filter(is_legal).any(|legal| {
            timely.iter().any(|timely| {
                chosen.iter().all(|&op| {
                    model.domains(&all[op].input, k).iter().all(|domain| {
                        place(legal, op, domain).abs_diff(place(timely, op, domain)) <= domain.bound
                    })
                })
            })
        })
    })
}

#[test]
fn quasi_with_domains() {
    type Domains = fn(&QueueOp, usize) -> Vec<Domain>;
    let rules: [Domains; 3] = [
        // Removals may be out of place, additions not, each among their own.
        |op, k| match op {
            QueueOp::Enqueue(_) => vec![Domain { number: 0, bound: 0 }],
            _ => vec![Domain { number: 1, bound: k }],
        },
        // One domain, but peeks have twice the freedom.
        |op, k| vec![Domain { number: 0, bound: if *op == QueueOp::Peek { 2 * k } else { k } }],
        // Overlapping ones; peeks are free.
        |op, k| match op {
            QueueOp::Enqueue(_) => vec![Domain { number: 0, bound: k }, Domain { number: 1, bound: k }],
            QueueOp::Dequeue => vec![Domain { number: 1, bound: k }],
            QueueOp::Peek => vec![],
        },
    ];
    for domains in rules {
        let tally = Tally::default();
        let model = || Marked::new(Queue::new(), |_| true).domains(domains);
        for_random_histories(500, 5, 10, |raw| {
            let history = translated(&loose_history(&raw), as_queue);
            let all = history.operations();
            let before = |i: usize, j: usize| precedes(&all[i], &all[j], Ties::Concurrent);
            for k in 0..2 {
                let expected = quasi_linearizable(&model(), &history, k, before);
                tally.count(expected);
                let checker = Checker::new().contract(Contract::Quasi(k));
                prop_assert_eq!(checker.check(&history, &model()).is_accepted(), expected, "{:?}", history);
                let given = checker.check_partial_order(&history, &model(), before);
                prop_assert_eq!(given.is_accepted(), expected, "given: {:?}", history);
            }
            Ok(())
        });
        tally.is_balanced();
    }
}

/// Contracts under an order that no clock can have made.
#[test]
fn given_orders() {
    let register = Register { initial: Value::Int(0), ..Register::default() };
    let tallies = [(); 6].map(|()| Tally::default());
    for_random_histories(3000, 6, 12, |raw| {
        let input = |_, raw: Raw| match raw.kind % 2 {
            0 => RegisterOp::Read,
            _ => RegisterOp::Write(Value::Int(i64::from(raw.value % 3))),
        };
        let history = history(&register, &raw, input, &some_outputs(3));
        let all = history.operations();
        let before = |i: usize, j: usize| i < j && !(raw[i].value ^ raw[j].kind).is_multiple_of(3);
        let returned = returned(all);
        // What follows from the order, through operations that returned.
        let mut closed = vec![vec![false; all.len()]; all.len()];
        for j in 0..all.len() {
            for i in (0..j).rev() {
                closed[i][j] =
                    returned(i) && (before(i, j) || (i + 1..j).any(|m| closed[i][m] && closed[m][j]));
            }
        }
        // A cut: every operation on one side before every one on the other.
        let cuts: Vec<u32> = (1..(1u32 << all.len()) - 1)
            .filter(|near| {
                let is_near = |i: usize| near >> i & 1 == 1;
                (0..all.len()).all(|i| (0..all.len()).all(|j| !is_near(i) || is_near(j) || closed[i][j]))
            })
            .collect();
        let separated = |i: usize, j: usize| cuts.iter().any(|cut| cut >> i & 1 == 1 && cut >> j & 1 == 0);
        let expected = [
            (Contract::Linearizable, orderable(&register, all, &returned, before)),
            (
                Contract::Sequential,
                orderable(&register, all, &returned, |i, j| before(i, j) && all[i].process == all[j].process),
            ),
            (Contract::Serializable, orderable(&register, all, &returned, |_, _| false)),
            (Contract::Quiescent, orderable(&register, all, &returned, separated)),
            // A register does one operation at a time.
            (Contract::SetLinearizable, orderable(&register, all, &returned, before)),
            (Contract::IntervalLinearizable, orderable(&register, all, &returned, before)),
        ];
        for ((contract, expected), tally) in expected.into_iter().zip(&tallies) {
            tally.count(expected);
            let report = Checker::new().contract(contract).check_partial_order(&history, &register, before);
            prop_assert_eq!(report.is_accepted(), expected, "{} {:?}", contract, history);
            let mut verifier = Verifier::new(register.clone(), contract);
            prop_assert_eq!(verifier.verify_partial_order(&history, before), Ok(expected));
        }
        Ok(())
    });
    tallies.iter().for_each(Tally::is_balanced);
}

/// An exchanger, which no sequential order explains: two calls that meet get each other's value, one alone gets nothing.
/// It counts the meetings.
struct Exchanger;

impl Model for Exchanger {
    type State = u32;
    type Input = u8;
    type Output = Option<u8>;

    fn init(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, _: &u8, output: Option<&Option<u8>>) -> impl IntoIterator<Item = u32> {
        output.is_none_or(|seen| seen.is_none()).then_some(*state)
    }

    fn step_together(
        &self,
        state: &u32,
        operations: &[(&u8, Option<&Option<u8>>)],
    ) -> impl IntoIterator<Item = u32> {
        match operations {
            [(input, output)] => self.step(state, input, *output).into_iter().collect::<Vec<_>>(),
            [(a, a_got), (b, b_got)] => {
                let fits = |got: &Option<&Option<u8>>, given: u8| got.is_none_or(|got| *got == Some(given));
                if fits(a_got, **b) && fits(b_got, **a) { vec![state + 1] } else { vec![] }
            }
            _ => vec![],
        }
    }
}

#[test]
fn operations_that_take_effect_together() {
    let exchange = |overlap: bool| {
        let mut history = History::new();
        let a = history.invoke(0, 1);
        if !overlap {
            history.respond(a, Some(2));
        }
        let b = history.invoke(1, 2);
        if overlap {
            history.respond(a, Some(2));
        }
        history.respond(b, Some(1));
        history
    };
    let checker = Checker::new().contract(Contract::SetLinearizable);
    assert!(checker.check(&exchange(true), &Exchanger).is_accepted());
    assert!(checker.check(&exchange(false), &Exchanger).is_violation());
    assert!(Checker::new().check(&exchange(true), &Exchanger).is_violation());
    assert_eq!(Verifier::new(Exchanger, Contract::SetLinearizable).verify(&exchange(true)), Ok(true));

    // All ways to cut all orders into sets.
    let definition = |history: &History<u8, Option<u8>>| {
        let all = history.operations();
        let (done, open): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&i| all[i].output().is_some());
        (0..1u32 << open.len()).any(|kept| {
            let kept = open.iter().enumerate().filter(|(bit, _)| kept >> bit & 1 == 1).map(|(_, &op)| op);
            let chosen: Vec<usize> = done.iter().copied().chain(kept).collect();
            permutations(&chosen).iter().any(|order| {
                (0..1u32 << order.len().saturating_sub(1)).any(|cuts| {
                    let mut sets: Vec<Vec<usize>> = vec![vec![]];
                    for (i, &op) in order.iter().enumerate() {
                        if i > 0 && cuts >> (i - 1) & 1 == 1 {
                            sets.push(vec![]);
                        }
                        sets.last_mut().unwrap().push(op);
                    }
                    let in_time = (0..sets.len()).all(|i| {
                        let later = sets[i..].iter().flatten();
                        later
                            .into_iter()
                            .all(|&b| sets[i].iter().all(|&a| !precedes(&all[b], &all[a], Ties::Concurrent)))
                    });
                    let mut states = vec![0];
                    for set in sets.iter().filter(|set| !set.is_empty()) {
                        let labels: Vec<_> =
                            set.iter().map(|&op| (&all[op].input, all[op].output())).collect();
                        states = states
                            .iter()
                            .flat_map(|s| Exchanger.step_together(s, &labels).into_iter().collect::<Vec<_>>())
                            .collect();
                    }
                    in_time && !states.is_empty()
                })
            })
        })
    };
    let tally = Tally::default();
    for_random_histories(3000, 5, 12, |raw| {
        let one = |raw: &Raw| Operation {
            process: raw.process.into(),
            call: raw.call.into(),
            input: raw.value % 2,
            outcome: match raw.luck {
                0..20 => Outcome::Unknown,
                _ => Outcome::Returned {
                    output: [None, Some(0), Some(1)][usize::from(raw.kind % 3)],
                    at: (raw.call + raw.duration).into(),
                },
            },
        };
        let history: History<u8, Option<u8>> = raw.iter().map(one).collect();
        let expected = definition(&history);
        tally.count(expected);
        prop_assert_eq!(checker.check(&history, &Exchanger).is_accepted(), expected, "{:?}", history);
        Ok(())
    });
    tally.is_balanced();
}

/// Each operation adds a number and returns all that have been added by the time it ends, a bit each.
struct WriteSnapshot;

impl Model for WriteSnapshot {
    type State = u8;
    type Input = u8;
    type Output = u8;

    fn init(&self) -> u8 {
        0
    }

    fn step(&self, state: &u8, input: &u8, output: Option<&u8>) -> impl IntoIterator<Item = u8> {
        self.step_interval(state, &[input], &[(input, output)]).into_iter().collect::<Vec<_>>()
    }

    fn step_together(&self, state: &u8, operations: &[(&u8, Option<&u8>)]) -> impl IntoIterator<Item = u8> {
        let begun: Vec<&u8> = operations.iter().map(|(input, _)| *input).collect();
        self.step_interval(state, &begun, operations).into_iter().collect::<Vec<_>>()
    }

    fn step_interval(
        &self,
        state: &u8,
        begun: &[&u8],
        ended: &[(&u8, Option<&u8>)],
    ) -> impl IntoIterator<Item = u8> {
        let after = begun.iter().fold(*state, |all, number| all | 1 << **number);
        ended.iter().all(|(_, output)| output.is_none_or(|seen| *seen == after)).then_some(after)
    }
}

#[test]
fn operations_that_stretch_over_others() {
    let (sets, intervals) = (Contract::SetLinearizable, Contract::IntervalLinearizable);
    let check = |contract: Contract, history: &History<u8, u8>| {
        Checker::new().contract(contract).check(history, &WriteSnapshot).is_accepted()
    };
    // The second is seen by the first, and sees the third, which the first does not.
    let mut history = History::new();
    let calls = [0, 1, 2].map(|number| history.invoke(number.into(), number));
    calls.iter().zip([0b011, 0b111, 0b111]).for_each(|(&call, seen)| history.respond(call, seen));
    assert!(!check(Contract::Linearizable, &history));
    assert!(!check(sets, &history));
    assert!(check(intervals, &history));
    assert_eq!(Verifier::new(WriteSnapshot, intervals).verify(&history), Ok(true));

    // All ways to say in which of a few classes each operation begins and ends, `None` if it does not.
    type Choice = (Option<usize>, Option<usize>);
    fn choices(classes: usize, may_stay_open: bool) -> Vec<Choice> {
        let within = |begin: usize| (begin..classes).map(move |end| (Some(begin), Some(end)));
        let mut all: Vec<Choice> = (0..classes).flat_map(within).collect();
        if may_stay_open {
            all.extend((0..classes).map(|begin| (Some(begin), None)));
            all.push((None, None));
        }
        all
    }
    fn go(all: &[Operation<u8, u8>], classes: usize, chosen: &mut Vec<Choice>) -> bool {
        let Some(next) = all.get(chosen.len()) else { return is_run(all, classes, chosen) };
        choices(classes, next.output().is_none()).into_iter().any(|choice| {
            let in_time = chosen.iter().zip(all).all(|(earlier, operation)| {
                let is_apart = |end: Option<usize>, begin: Option<usize>| {
                    begin.is_none_or(|begin| end.is_some_and(|end| end < begin))
                };
                (!precedes(operation, next, Ties::Concurrent) || is_apart(earlier.1, choice.0))
                    && (!precedes(next, operation, Ties::Concurrent) || is_apart(choice.1, earlier.0))
            });
            chosen.push(choice);
            let found = in_time && go(all, classes, chosen);
            chosen.pop();
            found
        })
    }
    fn is_run(all: &[Operation<u8, u8>], classes: usize, chosen: &[Choice]) -> bool {
        let mut held = 0u8;
        (0..classes).all(|class| {
            for (operation, _) in all.iter().zip(chosen).filter(|(_, choice)| choice.0 == Some(class)) {
                held |= 1 << operation.input;
            }
            let mut ended = all.iter().zip(chosen).filter(|(_, choice)| choice.1 == Some(class));
            ended.all(|(operation, _)| operation.output().is_none_or(|seen| *seen == held))
        })
    }
    let tally = Tally::default();
    for_random_histories(1500, 3, 8, |raw| {
        let one = |(i, raw): (usize, &Raw)| Operation {
            process: raw.process.into(),
            call: raw.call.into(),
            input: i as u8,
            outcome: match raw.luck {
                0..20 => Outcome::Unknown,
                _ => Outcome::Returned {
                    // Its own number at least.
                    output: (raw.kind % 8) | (1 << i),
                    at: (raw.call + raw.duration).into(),
                },
            },
        };
        let history: History<u8, u8> = raw.iter().enumerate().map(one).collect();
        let all = history.operations();
        let expected = go(all, 2 * all.len(), &mut Vec::new());
        tally.count(expected);
        prop_assert_eq!(check(intervals, &history), expected, "{:?}", history);
        prop_assert!(expected || !check(sets, &history), "sets are intervals: {:?}", history);
        Ok(())
    });
    tally.is_balanced();
}
