//! Small programs without branches, run on the memory by a random scheduler, or executed in all ways that the axioms allow.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::axioms::{Event, Graph};
use crate::happens_before::Model;
use crate::location_table::MemoryLocation;
use crate::op::Order::{self, *};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::weak_memory::{Access, Memory, Trust};

/// One step of a thread. Every store writes a value of its own: the number of its step, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Load {
        location: usize,
        order: Order,
    },
    Store {
        location: usize,
        order: Order,
    },
    Swap {
        location: usize,
        order: Order,
    },
    /// Expects the value that the step with this number (of all steps) stores, or the initial one.
    Cas {
        location: usize,
        order: Order,
        failure: Order,
        expected: usize,
    },
    Fence {
        order: Order,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Program(pub(super) Vec<Vec<Step>>);

/// What each step read, and what each location holds at the end.
pub(super) type Outcome = (Vec<Option<u128>>, Vec<u128>);

pub(super) const LOCATIONS: usize = 2;

impl Step {
    pub(super) fn location(self) -> Option<usize> {
        match self {
            Step::Load { location, .. }
            | Step::Store { location, .. }
            | Step::Swap { location, .. }
            | Step::Cas { location, .. } => Some(location),
            Step::Fence { .. } => None,
        }
    }

    /// The event of the step if it reads a value, and whether it stores one.
    fn event(self, thread: usize, read: u128, reads: usize) -> Event {
        let location = self.location();
        let event = |order, reads, writes| Event { thread: Some(thread), location, order, reads, writes };
        match self {
            Step::Load { order, .. } => event(order, Some(reads), false),
            Step::Store { order, .. } => event(order, None, true),
            Step::Swap { order, .. } => event(order, Some(reads), true),
            Step::Cas { order, expected, .. } if read == expected as u128 => event(order, Some(reads), true),
            Step::Cas { failure, .. } => event(failure, Some(reads), false),
            Step::Fence { order } => event(order, None, false),
        }
    }

    fn reads(self) -> bool {
        matches!(self, Step::Load { .. } | Step::Swap { .. } | Step::Cas { .. })
    }
}

impl Program {
    /// All programs of up to this many threads and steps a thread.
    pub(super) fn any(threads: usize, steps: usize) -> impl Strategy<Value = Program> {
        let step = (0..10u8, 0..LOCATIONS, 0..5usize, 0..3usize, 0..4usize).prop_map(
            |(kind, location, order, failure, expected)| match kind {
                0..4 => Step::Load { location, order: [Relaxed, Acquire, SeqCst][order % 3] },
                4..7 => Step::Store { location, order: [Relaxed, Release, SeqCst][order % 3] },
                7 => Step::Swap { location, order: [Relaxed, Acquire, Release, AcqRel, SeqCst][order] },
                8 => Step::Cas {
                    location,
                    order: [Relaxed, Acquire, Release, AcqRel, SeqCst][order],
                    failure: [Relaxed, Acquire, SeqCst][failure],
                    expected,
                },
                _ => Step::Fence { order: [Acquire, Release, AcqRel, SeqCst, SeqCst][order] },
            },
        );
        vec(vec(step, 1..=steps), 2..=threads).prop_map(Program)
    }

    fn steps(&self) -> impl Iterator<Item = (usize, Step)> {
        self.0.iter().enumerate().flat_map(|(thread, steps)| steps.iter().map(move |&step| (thread, step)))
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
            let step = self.0[thread][done[thread]];
            let number = self.first(thread) + done[thread];
            done[thread] += 1;
            let value = number as u128 + 1;
            let access = |location: usize, order| Access {
                thread: id(thread),
                location: memory_location(location),
                order,
                held: stored[location].last().unwrap().0,
                trust: Trust::Nothing,
            };
            let mut chosen = 0;
            let choose = |ways| {
                chosen = rng.below(ways);
                chosen
            };
            match step {
                Step::Load { location, order } => {
                    read[number] = Some(memory.load(access(location, order), choose))
                }
                Step::Store { location, order } => {
                    let newest = memory.store(access(location, order), value, choose);
                    assert_eq!(newest, chosen == 0);
                    let order = &mut stored[location];
                    // Before as many stores as chosen, and what was read and modified stays together.
                    let positions = (1..order.len()).rev().filter(|&position| !order[position].1);
                    let position = std::iter::once(order.len()).chain(positions).nth(chosen).unwrap();
                    order.insert(position, (value, false));
                }
                Step::Swap { location, order } => {
                    let access = access(location, order);
                    memory.rmw(access, value);
                    read[number] = Some(access.held);
                    stored[location].push((value, true));
                }
                Step::Cas { location, order, failure, expected } => {
                    let expected = expected as u128;
                    let access = access(location, order);
                    let seen = memory.compare_exchange(access, failure, expected, value, choose);
                    if seen == expected {
                        stored[location].push((value, true));
                    }
                    read[number] = Some(seen);
                }
                Step::Fence { order } => memory.sync.fence(id(thread), order),
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
            let source = step.location().map_or(0, |location| store_of(location, value));
            events.push(step.event(thread, value, source));
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
        if !step.reads() {
            return self.assign_reads(read, number + 1, outcomes);
        }
        let sources = self.steps().enumerate().filter(|&(source, (_, other))| {
            source != number && other.location() == step.location() && !matches!(other, Step::Load { .. })
        });
        let values: Vec<u128> =
            std::iter::once(0).chain(sources.map(|(source, _)| source as u128 + 1)).collect();
        for value in values {
            read[number] = Some(value);
            self.assign_reads(read, number + 1, outcomes);
        }
    }

    fn assign_order(&self, read: &[Option<u128>], outcomes: &mut BTreeSet<Outcome>) {
        let stores = |number: usize, step: Step| match step {
            Step::Store { .. } | Step::Swap { .. } => true,
            Step::Cas { expected, .. } => read[number] == Some(expected as u128),
            _ => false,
        };
        let mut stored = vec![Vec::new(); LOCATIONS];
        for (number, (_, step)) in self.steps().enumerate() {
            if let Some(location) = step.location().filter(|_| stores(number, step)) {
                stored[location].push(number as u128 + 1);
            }
        }
        // What was read must have been stored.
        let known = |location: usize, value: u128| value == 0 || stored[location].contains(&value);
        let readable = self.steps().enumerate().all(|(number, (_, step))| {
            step.location().zip(read[number]).is_none_or(|(location, value)| known(location, value))
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
