//! All graphs of a test.
//!
//! A graph grows by one access at a time, in every way there is: any thread, any write to read from, any place in coherence
//! order. What the model forbids is given up at once, since no larger graph could be allowed.
//!
//! So that each graph is met once, it is built in one order only: at each step, the first thread goes on whose next event can
//! be added, because the write that it reads from is there.
//!
//! Both only save time. [`Method`] has ways without them, to test that they change nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use super::graph::{Event, Graph, Kind};
use super::models::Model;
use super::relation::members;
use super::threads::{self, Access, Modify, Next};
use crate::machine::{Body, GAVE_UP, Outcome, Test};

/// What there is to know about the executions of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// Executions in which all threads end.
    pub complete: u64,
    /// Executions in which some thread waits for something that the reads of its last round did not see.
    pub blocked: u64,
    /// What complete executions come to, and how many.
    pub outcomes: BTreeMap<Outcome, u64>,
}

impl Executions {
    /// Complete executions in which no thread [gave up](GAVE_UP).
    pub fn as_assumed(&self) -> u64 {
        let gave_up = |outcome: &Outcome| outcome.iter().any(|seen| seen.last() == Some(&GAVE_UP));
        self.outcomes.iter().filter(|(outcome, _)| !gave_up(outcome)).map(|(_, times)| times).sum()
    }
}

/// How to enumerate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each graph that the model allows, once.
    Once(Model),
    /// Every graph in every order, judged when it is whole.
    ByDefinition(Model),
    /// The graphs of all interleavings, in which a read reads the last write. No axioms are asked.
    Interleavings,
}

/// Enumerates the executions of a test.
///
/// # Panics
/// If an execution has more events than fit in a [relation](super::relation::Relation).
pub fn executions(model: Model, build: impl Fn() -> Test) -> Executions {
    executions_by(Method::Once(model), build)
}

/// [`executions`] by another method.
///
/// # Panics
/// As [`executions`].
pub fn executions_by(method: Method, build: impl Fn() -> Test) -> Executions {
    enumerate(method, &build)
}

/// [`executions_by`], compiled once for all tests.
fn enumerate(method: Method, build: &dyn Fn() -> Test) -> Executions {
    let (test, initial) = threads::build(build);
    let found = Executions::default();
    let mut enumeration = Enumeration { method, test, initial, found, seen: HashSet::new() };
    let state = State {
        graph: Graph::new(enumeration.initial.len(), enumeration.test.threads.len()),
        threads: enumeration.test.threads.iter().map(Thread::new).collect(),
        steps: Vec::new(),
        step_of: Vec::new(),
    };
    enumeration.visit(state);
    enumeration.found
}

struct Enumeration {
    method: Method,
    test: Test,
    initial: Vec<u32>,
    found: Executions,
    /// Graphs that were met, unless each is met once anyway.
    seen: HashSet<Vec<Vec<Name>>>,
}

/// An event by its thread and its place in it: the same in whatever order a graph is built. An initial write has none.
type Name = Option<(usize, usize)>;

/// A graph, and where threads are in it.
#[derive(Clone)]
struct State {
    graph: Graph,
    threads: Vec<Thread>,
    /// The thread of each step that made the graph.
    steps: Vec<usize>,
    /// The number of steps when each event was there.
    step_of: Vec<usize>,
}

#[derive(Clone)]
struct Thread {
    /// What its accesses returned.
    answers: Vec<u32>,
    next: Next,
    /// The number of steps when its last access was there.
    last_step: usize,
}

impl Thread {
    fn new(body: &Body) -> Thread {
        Thread { answers: Vec::new(), next: threads::next(body, &[]), last_step: 0 }
    }
}

impl Enumeration {
    fn visit(&mut self, mut state: State) {
        if state.threads.iter().all(|thread| !matches!(thread.next, Next::Access(_))) {
            return self.note(&state);
        }
        for location in state.pending_locations() {
            state.graph.initialise(location, self.initial[location]);
        }
        state.step_of.resize(state.graph.events.len(), 0);
        for thread in 0..state.threads.len() {
            if let Next::Access(access) = state.threads[thread].next {
                self.take(&state, thread, access);
            }
        }
    }

    /// Lets a thread make its access, in every way.
    fn take(&mut self, state: &State, thread: usize, access: Access) {
        let (location, order) = match access {
            Access::Fence(order) => {
                let fence = Event { kind: Kind::Fence, location: None, order, value: 0 };
                return self.add(state, thread, &[fence], None, 0);
            }
            Access::Store(location, value, order) => {
                let write = Event { kind: Kind::Write, location: Some(location), order, value };
                for place in self.places(&state.graph.co[location]) {
                    self.add(state, thread, &[write], None, place);
                }
                return;
            }
            Access::Load(location, order)
            | Access::Rmw(location, _, order)
            | Access::CompareExchange(location, _, _, order, _) => (location, order),
        };
        let writes = state.graph.co[location].clone();
        let sources = if self.method == Method::Interleavings { writes.len() - 1.. } else { 0.. };
        for &source in &writes[sources] {
            let value = state.graph.events[source].value;
            let read = |order| Event { kind: Kind::Read, location: Some(location), order, value };
            let write =
                |value| Event { kind: Kind::Write, location: Some(location), order: of_write(order), value };
            let new = match access {
                Access::Rmw(_, Modify::Swap(new), _) => Some(new),
                Access::Rmw(_, Modify::Add(addend), _) => Some(value.wrapping_add(addend)),
                Access::CompareExchange(_, current, new, _, _) => (value == current).then_some(new),
                _ => None,
            };
            match (new, access) {
                (Some(new), _) => {
                    for place in self.places(&writes) {
                        self.add(state, thread, &[read(of_read(order)), write(new)], Some(source), place);
                    }
                }
                (None, Access::CompareExchange(_, _, _, _, failure)) => {
                    self.add(state, thread, &[read(failure)], Some(source), 0);
                }
                (None, _) => self.add(state, thread, &[read(order)], Some(source), 0),
            }
        }
    }

    /// Where in coherence order a write may come: anywhere after the initial write.
    fn places(&self, writes: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let first = if self.method == Method::Interleavings { writes.len() } else { 1 };
        first..=writes.len()
    }

    /// Adds the events of an access: those that read, read from `source`; those that write, come at this place in coherence order.
    fn add(&mut self, state: &State, thread: usize, events: &[Event], source: Option<usize>, place: usize) {
        let possible_since =
            source.map_or(0, |source| state.step_of[source]).max(state.threads[thread].last_step);
        if matches!(self.method, Method::Once(_))
            && state.steps[possible_since..].iter().any(|&other| other > thread)
        {
            // This thread would have gone first: the same graph is built in another order.
            return;
        }
        let mut state = state.clone();
        let graph = &mut state.graph;
        let mut answer = 0;
        for &event in events {
            let index = graph.push(thread, event);
            match (event.kind, event.location) {
                (Kind::Read, _) => {
                    graph.rf.push((source.expect("reads have a source"), index));
                    answer = event.value;
                }
                (Kind::Write, Some(location)) => {
                    graph.co[location].insert(place, index);
                    if events.len() == 2 {
                        graph.rmw.push((index - 1, index));
                    }
                }
                _ => {}
            }
        }
        if matches!(self.method, Method::Once(model) if !model.allows(graph)) {
            return;
        }
        state.steps.push(thread);
        state.step_of.resize(graph.events.len(), state.steps.len());
        let this = &mut state.threads[thread];
        this.answers.push(answer);
        this.last_step = state.steps.len();
        this.next = threads::next(&self.test.threads[thread], &this.answers);
        self.visit(state);
    }

    /// All threads have ended or wait.
    fn note(&mut self, state: &State) {
        let new = match self.method {
            Method::Once(_) => true,
            Method::ByDefinition(model) => self.seen.insert(state.key()) && model.allows(&state.graph),
            Method::Interleavings => self.seen.insert(state.key()),
        };
        if !new {
            return;
        }
        let ends = state.threads.iter().map(|thread| match &thread.next {
            Next::Ended(seen) => Some(seen.clone()),
            _ => None,
        });
        let Some(mut outcome) = ends.collect::<Option<Outcome>>() else {
            self.found.blocked += 1;
            return;
        };
        let values = self.initial.iter().enumerate();
        let values = values.map(|(location, &initial)| state.graph.last_value(location).unwrap_or(initial));
        outcome.push(threads::finally(&self.test.finally, values.collect()));
        self.found.complete += 1;
        *self.found.outcomes.entry(outcome).or_default() += 1;
    }
}

impl State {
    /// What tells graphs of one test apart: for each thread, what its events read from; for each location, the order of writes.
    fn key(&self) -> Vec<Vec<Name>> {
        let graph = &self.graph;
        let mut names: Vec<Name> = vec![None; graph.events.len()];
        for (thread, &events) in graph.of_thread.iter().enumerate() {
            members(events).enumerate().for_each(|(place, event)| names[event] = Some((thread, place)));
        }
        let source =
            |event| graph.rf.iter().find(|(_, read)| *read == event).and_then(|(write, _)| names[*write]);
        let reads = graph.of_thread.iter().map(|&events| members(events).map(source).collect());
        let writes = graph.co.iter().map(|writes| writes.iter().map(|&write| names[write]).collect());
        reads.chain(writes).collect()
    }

    /// Where threads access next.
    fn pending_locations(&self) -> Vec<usize> {
        let next = self.threads.iter().filter_map(|thread| match thread.next {
            Next::Access(
                Access::Load(location, _)
                | Access::Store(location, ..)
                | Access::Rmw(location, ..)
                | Access::CompareExchange(location, ..),
            ) => Some(location),
            _ => None,
        });
        next.collect()
    }
}

/// The order of the read of a read-modify-write.
fn of_read(order: Ordering) -> Ordering {
    match order {
        AcqRel => Acquire,
        Release => Relaxed,
        other => other,
    }
}

/// The order of the write of a read-modify-write.
fn of_write(order: Ordering) -> Ordering {
    match order {
        AcqRel => Release,
        Acquire => Relaxed,
        other => other,
    }
}
