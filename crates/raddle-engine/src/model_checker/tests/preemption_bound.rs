//! The preemption bound, against all interleavings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Step::{self, *};
use super::{X, Y, random_program, run};
use crate::graph::consistency::preemption_bound::{self, cost};
use crate::graph::event::{Event, INIT, NONE};
use crate::graph::{Graph, Model, covers};
use crate::model_checker::ModelChecker;
use crate::op::Order::{Acquire, Relaxed, Release};

/// An execution: for each event of each thread its source, and its predecessor in modification order.
pub(super) type Signature = Vec<Vec<(u32, u32)>>;

/// The name of an event in a signature.
fn name(thread: usize, step: usize) -> u32 {
    ((thread as u32 + 1) << 16) | step as u32
}

pub(crate) fn signature(graph: &Graph) -> Signature {
    let name_of = |id: u32| match id {
        INIT => 0,
        // The first event of a thread is its beginning, which is no step of the program.
        id => name(graph.event(id).thread.into(), graph.event(id).po as usize - 1),
    };
    let seen = |&id: &u32| {
        let event = graph.event(id);
        let after = |id| graph.write_at(event.location, graph.co_index(event.location, id) - 1);
        let read = if event.location != NONE && event.reads() { name_of(event.rf) } else { 0 };
        (read, if event.writes() { name_of(after(id)) } else { 0 })
    };
    graph.threads.iter().map(|events| events[1..].iter().map(seen).collect()).collect()
}

/// For each execution under sequential consistency, the least number of preemptions in its interleavings.
fn fewest_preemptions(program: &[Vec<Step>]) -> BTreeMap<Signature, usize> {
    #[derive(Clone)]
    struct World {
        /// For each location the latest write and its value.
        memory: [(u32, u64); 8],
        next: Vec<usize>,
        last: Vec<u64>,
        seen: Signature,
        current: Option<usize>,
        preemptions: usize,
    }
    fn can_go_on(program: &[Vec<Step>], world: &World, thread: usize) -> bool {
        match program[thread].get(world.next[thread]) {
            Some(&Lock(location)) => world.memory[location].1 == 0,
            step => step.is_some(),
        }
    }
    fn go(program: &[Vec<Step>], world: &World, ends: &mut BTreeMap<Signature, usize>) {
        let current = world.current.filter(|&current| can_go_on(program, world, current));
        let mut moved = false;
        for thread in 0..program.len() {
            if !can_go_on(program, world, thread) {
                continue;
            }
            let mut after = world.clone();
            let (location, read, write) = match program[thread][world.next[thread]] {
                Read(location, _) => (location, true, None),
                Write(location, value, _) => (location, false, Some(value)),
                WriteLastPlus(location, plus, _) => (location, false, Some(world.last[thread] + plus)),
                Add(location, value, _) => (location, true, Some(world.memory[location].1 + value)),
                Cas(location, expected, new, _) => {
                    (location, true, (world.memory[location].1 == expected).then_some(new))
                }
                Fence(_) => (7, false, None),
                Lock(location) => (location, true, Some(1)),
                Unlock(location) => (location, true, Some(0)),
                Decrement(..) => unreachable!("these programs have no reference counts"),
            };
            let (latest, value) = world.memory[location];
            let seen = (if read { latest } else { 0 }, if write.is_some() { latest } else { 0 });
            after.seen[thread].push(seen);
            if read {
                after.last[thread] = value;
            }
            if let Some(value) = write {
                after.memory[location] = (name(thread, world.next[thread]), value);
            }
            after.next[thread] += 1;
            after.preemptions += usize::from(current.is_some_and(|current| current != thread));
            after.current = Some(thread);
            moved = true;
            go(program, &after, ends);
        }
        if !moved {
            let fewest = ends.entry(world.seen.clone()).or_insert(usize::MAX);
            *fewest = world.preemptions.min(*fewest);
        }
    }
    let world = World {
        memory: Default::default(),
        next: vec![0; program.len()],
        last: vec![0; program.len()],
        seen: vec![Vec::new(); program.len()],
        current: None,
        preemptions: 0,
    };
    let mut ends = BTreeMap::new();
    go(program, &world, &mut ends);
    ends
}

/// The cost of a complete graph by definition: the least cost of all orders of its events, in which an access that is not at the
/// end of modification order counts as a preemption.
fn cost_by_definition(graph: &Graph, search: &ModelChecker) -> usize {
    type Known = HashMap<(Vec<u32>, usize), usize>;
    struct Definition<'a> {
        graph: &'a Graph,
        pending: Vec<Option<Event>>,
        known: Known,
    }
    impl Definition<'_> {
        fn value(&self, view: &[u32], location: u32) -> u64 {
            let writes = self.graph.co(location).iter();
            let co_max = writes.rev().find(|&&write| covers(view, self.graph.event(write)));
            self.graph.value(location, co_max.copied().unwrap_or(INIT))
        }

        fn fewest(&mut self, view: &[u32], current: usize) -> usize {
            let key = (view.to_vec(), current);
            if let Some(&known) = self.known.get(&key) {
                return known;
            }
            let graph = self.graph;
            let next = |thread: usize| graph.threads[thread].get(view[thread] as usize).copied();
            let can_go_on = current < graph.threads.len()
                && match next(current).map(|id| *graph.event(id)).or(self.pending[current]) {
                    Some(event) if event.location != NONE => {
                        event.access.accepts(self.value(view, event.location))
                    }
                    event => event.is_some(),
                };
            let mut fewest = usize::MAX;
            let mut done = true;
            for thread in 0..graph.threads.len() {
                let Some(id) = next(thread) else { continue };
                done = false;
                let event = graph.event(id);
                if event.rf < NONE && !covers(view, graph.event(event.rf)) {
                    continue;
                }
                let mut cost = usize::from(can_go_on && thread != current);
                if event.location != NONE {
                    let at = match event.reads() {
                        true => graph.co_index(event.location, event.rf),
                        false => graph.co_index(event.location, id),
                    };
                    let newer = &graph.co(event.location)[at..];
                    cost += usize::from(newer.iter().any(|&write| covers(view, graph.event(write))));
                }
                let mut after = view.to_vec();
                after[thread] += 1;
                fewest = fewest.min(self.fewest(&after, thread).saturating_add(cost));
            }
            let fewest = if done { 0 } else { fewest };
            self.known.insert(key, fewest);
            fewest
        }
    }
    let pending =
        (0..graph.threads.len() as u16).map(|thread| preemption_bound::Blocking::pending(search, thread));
    let mut definition = Definition { graph, pending: pending.collect(), known: Known::new() };
    definition.fewest(&vec![0; graph.width], NONE as usize)
}

/// The executions of a search with a bound.
fn within(model: Model, most: usize, program: &[Vec<Step>]) -> Vec<Signature> {
    let mut found = Vec::new();
    run(&mut ModelChecker::new(model).with_preemption_bound(most), program, true, true, |search, _| {
        if search.is_within_bound() {
            found.push(signature(search.graph()));
        }
    });
    found
}

pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("RADDLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Checks that a bounded search makes each execution within the bound once, and no other.
#[track_caller]
fn assert_within(model: Model, most: usize, program: &[Vec<Step>], all: &BTreeMap<Signature, usize>) {
    let found = within(model, most, program);
    let distinct: BTreeSet<&Signature> = found.iter().collect();
    assert_eq!(found.len(), distinct.len(), "twice: {model:?}, {most} preemptions, {program:?}");
    let expected: BTreeSet<&Signature> =
        all.iter().filter(|&(_, &fewest)| fewest <= most).map(|(graph, _)| graph).collect();
    assert!(
        distinct == expected,
        "{model:?}, {most} preemptions: found {} of {}, {program:?}",
        distinct.len(),
        expected.len()
    );
}

#[test]
fn executions_within_a_bound_are_those_of_interleavings_within_it() {
    for seed in 0..cases(300) {
        let program = random_program(seed, 4);
        let all = fewest_preemptions(&program);
        for most in 0..4 {
            assert_within(Model::Sc, most, &program, &all);
        }
    }
}

#[test]
fn under_weak_memory_stale_reads_cost_as_preemptions_do() {
    for seed in 0..cases(150) {
        let mut program = random_program(seed, 4);
        for step in program.iter_mut().flatten() {
            match step {
                Read(_, order) | Fence(order) => *order = Acquire,
                Write(_, _, order) => *order = Release,
                Add(_, _, order) | Cas(_, _, _, order) => *order = Relaxed,
                _ => {}
            }
        }
        let mut all = BTreeMap::new();
        run(&mut ModelChecker::new(Model::Rc11), &program, true, true, |search, _| {
            let graph = search.graph();
            let fewest = cost_by_definition(graph, search);
            assert_eq!(cost(graph, search, 100), Some(fewest), "{program:?}");
            assert!(fewest == 0 || cost(graph, search, fewest - 1).is_none());
            all.insert(signature(graph), fewest);
        });
        for most in 0..3 {
            assert_within(Model::Rc11, most, &program, &all);
        }
    }
}

/// The numbers are those of GenMC.
#[test]
fn numbers_of_executions_are_those_of_genmc() {
    let mut program = vec![vec![Write(X, 1, Release)]];
    program.extend((0..3).map(|i| vec![Read(X, Relaxed), Write(X, i + 2, Release)]));
    for (most, count) in [(0, 24), (1, 132), (2, 264), (3, 300)] {
        assert_eq!(within(Model::Sc, most, &program).len(), count, "{most} preemptions");
    }
}

#[test]
fn a_switch_from_a_blocked_thread_is_no_preemption() {
    let program = vec![vec![Lock(X), Read(Y, Relaxed), Unlock(X)]; 4];
    assert_eq!(within(Model::Sc, 0, &program).len(), 24);
    // In the deadlock, each thread holds one lock: the first one was preempted.
    let program =
        [vec![Lock(X), Lock(Y), Unlock(Y), Unlock(X)], vec![Lock(Y), Lock(X), Unlock(X), Unlock(Y)]];
    assert_eq!(within(Model::Sc, 0, &program).len(), 2);
    assert_eq!(within(Model::Sc, 1, &program).len(), 3);
}

#[test]
fn graphs_beyond_the_bound_are_counted() {
    let program = vec![vec![Read(X, Relaxed), Write(X, 1, Relaxed)]; 2];
    let exceeded = |most| {
        let mut search = ModelChecker::new(Model::Sc).with_preemption_bound(most);
        run(&mut search, &program, false, true, |search, _| _ = search.is_within_bound());
        search.graphs_beyond_bound()
    };
    assert!(exceeded(0) > 0);
    assert_eq!(exceeded(1), 0);
}
