//! Bounds on preemptions, against all interleavings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use notation::random::locking_programs;
use notation::{Program, Statement};

use super::{Memory, Thread, cases, effect, identical, index, initial, numbered, parse, run, samples};
use crate::graph::consistency::preemption_bound::{self, cost};
use crate::graph::event::{Event, INIT, NONE};
use crate::graph::{Graph, Model, covers};
use crate::model_checker::ModelChecker;

/// What happened: for each event of each thread the write that it read, and the one that it comes after.
pub(super) type Signature = Vec<Vec<(u32, u32)>>;

/// The name of an event in a signature.
fn name(thread: usize, step: usize) -> u32 {
    ((thread as u32 + 1) << 16) | step as u32
}

pub(crate) fn signature(graph: &Graph) -> Signature {
    let name_of = |id: u32| match id {
        INIT => 0,
        // Threads begin with an event that is no step.
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

/// The fewest preemptions with which interleavings show each execution under sequential consistency.
fn fewest_preemptions(program: &Program) -> BTreeMap<Signature, usize> {
    #[derive(Clone)]
    struct World<'a> {
        /// For each location the latest write and its value.
        memory: Memory<(u32, u64)>,
        threads: Vec<Thread<'a>>,
        seen: Signature,
        current: Option<usize>,
        preemptions: usize,
    }
    /// The latest write to the location of a statement, and its value.
    fn latest(world: &World<'_>, statement: &Statement) -> (u32, u64) {
        statement.location().map_or((0, 0), |location| world.memory[index(location)])
    }
    fn can_go_on(world: &World<'_>, thread: usize) -> bool {
        match world.threads[thread].next() {
            Some(statement @ Statement::Lock(_)) => latest(world, statement).1 == 0,
            statement => statement.is_some(),
        }
    }
    fn go(world: &World<'_>, ends: &mut BTreeMap<Signature, usize>) {
        let current = world.current.filter(|&current| can_go_on(world, current));
        let mut moved = false;
        for (thread, state) in world.threads.iter().enumerate() {
            let Some(statement) = state.next() else { continue };
            let (latest, value) = latest(world, statement);
            let Some((read, write)) = effect(state, statement, value) else { continue };
            let mut after = world.clone();
            after.threads[thread].advance();
            after.threads[thread].set(statement.target(), value);
            let seen = (if read { latest } else { 0 }, if write.is_some() { latest } else { 0 });
            after.seen[thread].push(seen);
            if let Some((value, location)) = write.zip(statement.location()) {
                after.memory[index(location)] = (name(thread, world.seen[thread].len()), value);
            }
            after.preemptions += usize::from(current.is_some_and(|current| current != thread));
            after.current = Some(thread);
            moved = true;
            go(&after, ends);
        }
        if !moved {
            let fewest = ends.entry(world.seen.clone()).or_insert(usize::MAX);
            *fewest = world.preemptions.min(*fewest);
        }
    }
    let threads: Vec<Thread<'_>> = program.threads.iter().map(|thread| Thread::new(thread)).collect();
    let world = World {
        memory: initial(program).map(|value| (0, value)),
        seen: vec![Vec::new(); threads.len()],
        threads,
        current: None,
        preemptions: 0,
    };
    let mut ends = BTreeMap::new();
    go(&world, &mut ends);
    ends
}

/// What a complete graph costs by definition: all orders in which it can be made, an access that does not go to the newest write
/// counting as a preemption.
fn cost_by_definition(graph: &Graph, search: &ModelChecker) -> usize {
    type Known = HashMap<(Vec<u32>, usize), usize>;
    struct Definition<'a> {
        graph: &'a Graph,
        wanted: Vec<Option<Event>>,
        known: Known,
    }
    impl Definition<'_> {
        fn value(&self, view: &[u32], place: u32) -> u64 {
            let writes = self.graph.co(place).iter();
            let newest = writes.rev().find(|&&write| covers(view, self.graph.event(write)));
            self.graph.value(place, newest.copied().unwrap_or(INIT))
        }

        fn fewest(&mut self, view: &[u32], current: usize) -> usize {
            let key = (view.to_vec(), current);
            if let Some(&known) = self.known.get(&key) {
                return known;
            }
            let graph = self.graph;
            let next = |thread: usize| graph.threads[thread].get(view[thread] as usize).copied();
            let can_go_on = current < graph.threads.len()
                && match next(current).map(|id| *graph.event(id)).or(self.wanted[current]) {
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
    let wanted =
        (0..graph.threads.len() as u16).map(|thread| preemption_bound::Blocking::pending(search, thread));
    let mut definition = Definition { graph, wanted: wanted.collect(), known: Known::new() };
    definition.fewest(&vec![0; graph.width], NONE as usize)
}

/// What a search within a bound counts.
fn within(model: Model, most: usize, program: &Program) -> Vec<Signature> {
    let mut found = Vec::new();
    run(&mut ModelChecker::new(model).with_preemption_bound(most), program, true, true, |search, _| {
        if search.is_within_bound() {
            found.push(signature(search.graph()));
        }
    });
    found
}

/// Holds what a bounded search counts against what there is: the same, each once.
#[track_caller]
fn assert_within(model: Model, most: usize, program: &Program, all: &BTreeMap<Signature, usize>) {
    let found = within(model, most, program);
    let distinct: BTreeSet<&Signature> = found.iter().collect();
    assert_eq!(found.len(), distinct.len(), "twice: {model:?}, {most} preemptions, {program}");
    let expected: BTreeSet<&Signature> =
        all.iter().filter(|&(_, &fewest)| fewest <= most).map(|(graph, _)| graph).collect();
    assert!(
        distinct == expected,
        "{model:?}, {most} preemptions: found {} of {}, {program}",
        distinct.len(),
        expected.len()
    );
}

#[test]
fn executions_within_a_bound_are_those_that_interleavings_within_it_show() {
    for program in samples(locking_programs(2..=4), cases(300)) {
        let all = fewest_preemptions(&program);
        for most in 0..4 {
            assert_within(Model::Sc, most, &program, &all);
        }
    }
}

#[test]
fn under_weak_memory_old_values_cost_as_preemptions_do() {
    for mut program in samples(locking_programs(2..=4), cases(150)) {
        for statement in program.threads.iter_mut().flatten() {
            match statement {
                Statement::Load(_, _, order) => *order = Acquire,
                Statement::Store(_, _, order) => *order = Release,
                Statement::FetchAdd(.., order) => *order = Relaxed,
                Statement::CompareExchange(.., success, failure) => (*success, *failure) = (Relaxed, Relaxed),
                _ => {}
            }
        }
        let mut all = BTreeMap::new();
        run(&mut ModelChecker::new(Model::Rc11), &program, true, true, |search, _| {
            let graph = search.graph();
            let fewest = cost_by_definition(graph, search);
            assert_eq!(cost(graph, search, 100), Some(fewest), "{program}");
            assert!(fewest == 0 || cost(graph, search, fewest - 1).is_none());
            all.insert(signature(graph), fewest);
        });
        for most in 0..3 {
            assert_within(Model::Rc11, most, &program, &all);
        }
    }
}

/// Figures of GenMC.
#[test]
fn known_counts() {
    let others = numbered(3, |i| format!("Rx x; Wr(x,{})", i + 2));
    let program = parse(&format!("Wr(x,1) || {others}"));
    for (most, count) in [(0, 24), (1, 132), (2, 264), (3, 300)] {
        assert_eq!(within(Model::Sc, most, &program).len(), count, "{most} preemptions");
    }
}

#[test]
fn waiting_is_no_preemption() {
    let program = parse(&identical(4, "lock m; Rx x; unlock m"));
    assert_eq!(within(Model::Sc, 0, &program).len(), 24);
    // Each has one lock and waits for the other: whoever came first was interrupted.
    let program = parse("lock l; lock m; unlock m; unlock l || lock m; lock l; unlock l; unlock m");
    assert_eq!(within(Model::Sc, 0, &program).len(), 2);
    assert_eq!(within(Model::Sc, 1, &program).len(), 3);
}

#[test]
fn what_is_cut_is_said() {
    let program = parse(&identical(2, "Rx x; Wx(x,1)"));
    let exceeded = |most| {
        let mut search = ModelChecker::new(Model::Sc).with_preemption_bound(most);
        run(&mut search, &program, false, true, |search, _| _ = search.is_within_bound());
        search.graphs_beyond_bound()
    };
    assert!(exceeded(0) > 0);
    assert_eq!(exceeded(1), 0);
}
