//! Small programs without branches, run on the memory by a random scheduler, or executed in all ways that the axioms allow.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use notation::Statement;
use notation::random::straight_line_programs;
use proptest::prelude::*;

use super::axioms::{Event, Graph};
use crate::happens_before::Model;
use crate::location_table::MemoryLocation;
use crate::op::Order::{self, *};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::weak_memory::{Access, Memory, Trust};

/// A program without branches. Every store writes a value of its own: the number of its step, from 1.
#[derive(Clone, Debug)]
pub(super) struct Program(Vec<Vec<Statement>>);

/// What each step read, and what each location holds at the end.
pub(super) type Outcome = (Vec<Option<u128>>, Vec<u128>);

pub(super) const LOCATIONS: usize = 2;

impl From<Ordering> for Order {
    fn from(order: Ordering) -> Order {
        match order {
            Ordering::Relaxed => Relaxed,
            Ordering::Acquire => Acquire,
            Ordering::Release => Release,
            Ordering::AcqRel => AcqRel,
            _ => SeqCst,
        }
    }
}

impl From<notation::Program> for Program {
    fn from(program: notation::Program) -> Program {
        let mut threads = program.threads;
        for (number, statement) in (1..).zip(threads.iter_mut().flatten()) {
            if let Statement::Store(_, value, _)
            | Statement::Swap(_, _, value, _)
            | Statement::CompareExchange(_, _, _, value, ..) = statement
            {
                *value = number.into();
            }
        }
        Program(threads)
    }
}

fn location(statement: &Statement) -> Option<usize> {
    statement.location().map(|location| location as usize - 'x' as usize)
}

/// The event of a step if it reads a value, and whether it stores one.
fn event(statement: &Statement, thread: usize, read: u128, reads: usize) -> Event {
    let location = location(statement);
    let event = |order: Ordering, reads, writes| {
        let order = Order::from(order);
        Event { thread: Some(thread), location, order, reads, writes }
    };
    match *statement {
        Statement::Load(_, _, order) => event(order, Some(reads), false),
        Statement::Store(_, _, order) => event(order, None, true),
        Statement::Swap(_, _, _, order) => event(order, Some(reads), true),
        Statement::CompareExchange(_, _, ref expected, _, order, _)
            if read == u128::from(expected.constant) =>
        {
            event(order, Some(reads), true)
        }
        Statement::CompareExchange(.., failure) => event(failure, Some(reads), false),
        Statement::Fence(order) => event(order, None, false),
        _ => unreachable!("the programs of these tests have no such statement: {statement}"),
    }
}

impl Program {
    /// All programs of up to this many threads and steps a thread.
    pub(super) fn any(threads: usize, steps: usize) -> impl Strategy<Value = Program> {
        straight_line_programs(2..=threads, steps).prop_map(Program::from)
    }

    fn steps(&self) -> impl Iterator<Item = (usize, &Statement)> {
        self.0.iter().enumerate().flat_map(|(thread, steps)| steps.iter().map(move |step| (thread, step)))
    }

    /// The number of a thread's first step among all.
    fn first(&self, thread: usize) -> usize {
        self.0[..thread].iter().map(Vec::len).sum()
    }

    /// Runs the program once on the memory; returns its graph and outcome.
    pub(super) fn run(&self, memory: &mut Memory, rng: &mut Rng) -> (Graph, Outcome) {
        memory.begin();
        (0..self.0.len()).for_each(|thread| memory.sync.spawn(0, id(thread)));
        // By location, in modification order: values, and whether they belong to read-modify-writes.
        let mut stored = vec![vec![(0, false)]; LOCATIONS];
        let mut read = vec![None; self.steps().count()];
        let mut done = vec![0; self.0.len()];
        loop {
            let left: Vec<usize> =
                (0..done.len()).filter(|&thread| done[thread] < self.0[thread].len()).collect();
            if left.is_empty() {
                break;
            }
            let thread = left[rng.below(left.len())];
            let step = &self.0[thread][done[thread]];
            let number = self.first(thread) + done[thread];
            done[thread] += 1;
            let value = number as u128 + 1;
            let at = location(step).unwrap_or(0);
            let access = |order: Ordering| Access {
                thread: id(thread),
                location: memory_location(at),
                order: order.into(),
                held: stored[at].last().unwrap().0,
                trust: Trust::Nothing,
            };
            let mut chosen = 0;
            let choose = |ways| {
                chosen = rng.below(ways);
                chosen
            };
            match *step {
                Statement::Load(_, _, order) => read[number] = Some(memory.load(access(order), choose)),
                Statement::Store(_, _, order) => {
                    let newest = memory.store(access(order), value, choose);
                    assert_eq!(newest, chosen == 0);
                    let order = &mut stored[at];
                    // Before as many stores as chosen, and what was read and modified stays together.
                    let places = (1..order.len()).rev().filter(|&place| !order[place].1);
                    let place = std::iter::once(order.len()).chain(places).nth(chosen).unwrap();
                    order.insert(place, (value, false));
                }
                Statement::Swap(_, _, _, order) => {
                    let access = access(order);
                    memory.rmw(access, value);
                    read[number] = Some(access.held);
                    stored[at].push((value, true));
                }
                Statement::CompareExchange(_, _, ref expected, _, order, failure) => {
                    let expected = u128::from(expected.constant);
                    let access = access(order);
                    let seen = memory.compare_exchange(access, failure.into(), expected, value, choose);
                    if seen == expected {
                        stored[at].push((value, true));
                    }
                    read[number] = Some(seen);
                }
                Statement::Fence(order) => memory.sync.fence(id(thread), order.into()),
                _ => unreachable!("the programs of these tests have no such statement: {step}"),
            }
        }
        let held = stored.iter().map(|order| order.last().unwrap().0).collect();
        let values = |order: Vec<(u128, bool)>| order[1..].iter().map(|store| store.0).collect();
        let stored: Vec<Vec<u128>> = stored.into_iter().map(values).collect();
        (self.graph(&read, &stored), (read, held))
    }

    /// The graph of an execution, by what its steps read and the values of each location in modification order, except for the
    /// initial ones.
    fn graph(&self, read: &[Option<u128>], stored: &[Vec<u128>]) -> Graph {
        // The initial stores come first, then the steps.
        let initial = |location| Event {
            thread: None,
            location: Some(location),
            order: Relaxed,
            reads: None,
            writes: true,
        };
        let store_of = |location: usize, value: u128| match value {
            0 => location,
            _ => LOCATIONS + value as usize - 1,
        };
        let mut events: Vec<Event> = (0..LOCATIONS).map(initial).collect();
        for (number, (thread, step)) in self.steps().enumerate() {
            let value = read[number].unwrap_or(0);
            let source = location(step).map_or(0, |location| store_of(location, value));
            events.push(event(step, thread, value, source));
        }
        let modification = (0..LOCATIONS).map(|location| {
            let stores = stored[location].iter().map(|&value| store_of(location, value));
            std::iter::once(location).chain(stores).collect()
        });
        Graph { events, modification: modification.collect() }
    }

    /// The outcomes of all executions that the axioms allow.
    pub(super) fn allowed(&self) -> BTreeSet<Outcome> {
        let mut outcomes = BTreeSet::new();
        self.assign_reads(&mut vec![None; self.steps().count()], 0, &mut outcomes);
        outcomes
    }

    fn assign_reads(&self, read: &mut Vec<Option<u128>>, number: usize, outcomes: &mut BTreeSet<Outcome>) {
        let Some((_, step)) = self.steps().nth(number) else { return self.assign_order(read, outcomes) };
        if step.target().is_none() {
            return self.assign_reads(read, number + 1, outcomes);
        }
        let sources = self.steps().enumerate().filter(|&(source, (_, other))| {
            source != number && other.location() == step.location() && !matches!(other, Statement::Load(..))
        });
        let values: Vec<u128> =
            std::iter::once(0).chain(sources.map(|(source, _)| source as u128 + 1)).collect();
        for value in values {
            read[number] = Some(value);
            self.assign_reads(read, number + 1, outcomes);
        }
    }

    fn assign_order(&self, read: &[Option<u128>], outcomes: &mut BTreeSet<Outcome>) {
        let stores = |number: usize, step: &Statement| match step {
            Statement::Store(..) | Statement::Swap(..) => true,
            Statement::CompareExchange(_, _, expected, ..) => read[number] == Some(expected.constant.into()),
            _ => false,
        };
        let mut stored = vec![Vec::new(); LOCATIONS];
        for (number, (_, step)) in self.steps().enumerate() {
            if let Some(location) = location(step).filter(|_| stores(number, step)) {
                stored[location].push(number as u128 + 1);
            }
        }
        // What was read must have been stored.
        let known = |location: usize, value: u128| value == 0 || stored[location].contains(&value);
        let readable = self.steps().enumerate().all(|(number, (_, step))| {
            location(step).zip(read[number]).is_none_or(|(location, value)| known(location, value))
        });
        if !readable {
            return;
        }
        for first in permutations(&stored[0]) {
            for second in permutations(&stored[1]) {
                let stored = [first.clone(), second];
                let last = |values: &Vec<u128>| values.last().copied().unwrap_or(0);
                let outcome = (read.to_vec(), stored.iter().map(last).collect());
                if !outcomes.contains(&outcome) && self.graph(read, &stored).broken_axiom().is_none() {
                    outcomes.insert(outcome);
                }
            }
        }
    }
}

/// Numbers of threads near and far: clocks keep them apart.
fn id(thread: usize) -> ThreadId {
    1 + 3 * thread as ThreadId
}

fn memory_location(location: usize) -> MemoryLocation {
    MemoryLocation { address: 0x1000 + location * 8, size: 8 }
}

fn permutations(values: &[u128]) -> Vec<Vec<u128>> {
    if values.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in values.iter().enumerate() {
        let rest = [&values[..at], &values[at + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}

/// Memory that follows RC11.
pub(super) fn weak() -> Memory {
    Memory::new(Model::Rc11)
}
