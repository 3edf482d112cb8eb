//! The graphs of the search against the axioms: random graphs, built event by event as the search builds them.

use raddle_axioms::{self as axioms, Axiom, Execution, Kind, Relation};

use crate::graph::event::{Access, Event, EventId, INIT, LocationId, NONE};
use crate::graph::{Graph, Model, Scratch, covers};
use crate::op::{Order, Rmw, ThreadId};
use crate::rng::Rng;

const THREADS: usize = 3;
const LOCATIONS: usize = 2;
const EVENTS: usize = 18;
const ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

/// An event that reads nothing and accesses no memory.
fn event(thread: usize, access: Access, order: Order) -> Event {
    Event {
        thread: thread as ThreadId,
        access,
        order,
        declared_order: order,
        location: NONE,
        size: 8,
        po: 0,
        reads_hash: 0,
        stamp: NONE,
        rf: NONE,
        read: 0,
        written: None,
        blocked: false,
    }
}

/// A graph of threads that thread 0 spawns, without further events.
fn empty(model: Model) -> Graph {
    let mut graph = Graph::new(model);
    graph.push(event(0, Access::Begin, Order::Relaxed), 0);
    for child in 1..THREADS {
        let spawn = graph.push(event(0, Access::Spawn(child as ThreadId), Order::Relaxed), 0);
        graph.push(Event { rf: spawn, ..event(child, Access::Begin, Order::Relaxed) }, 0);
    }
    graph
}

/// Adds a random event that coherence and atomicity allow. Of four events `strong` are sequentially consistent in any case, and of eight
/// `fences` are fences.
fn add_event(graph: &mut Graph, rng: &mut Rng, strong: usize, fences: usize) -> EventId {
    let (thread, location) = (rng.below(THREADS), rng.below(LOCATIONS));
    let order = if rng.below(4) < strong { Order::SeqCst } else { ORDERS[rng.below(ORDERS.len())] };
    let location = location as LocationId;
    let (floor, len) = (graph.coherence_floor(thread as ThreadId, location), graph.co(location).len());
    let is_free = |index: &usize| graph.rmw_successor(location, *index).is_none();
    let free: Vec<usize> = (floor..=len).filter(is_free).collect();
    let of = |access: Access, index: usize| {
        let mut event = Event { location, ..event(thread, access, order) };
        let source = graph.write_at(location, index);
        event.set_source(if access.reads() { source } else { NONE }, graph.value(location, source));
        event
    };
    if rng.below(8) < fences {
        return graph.push(event(thread, Access::Fence, order), 0);
    }
    match rng.below(7) {
        0..=2 => {
            let index = free[rng.below(free.len())];
            graph.push(of(Access::Store(rng.next()), index), index + 1)
        }
        3 => {
            let index = free[rng.below(free.len())];
            graph.push(of(Access::Rmw(Rmw::Add, 1), index), index + 1)
        }
        _ => {
            let index = floor + rng.below(len + 1 - floor);
            graph.push(of(Access::Load, index), 0)
        }
    }
}

/// A graph as an execution of `raddle_axioms`, with happens-before by its definition.
struct Defined {
    execution: Execution,
    hb: Relation,
}

impl Defined {
    fn of(graph: &Graph) -> Defined {
        let mut execution = Execution::default();
        for (id, event) in graph.events.iter().enumerate() {
            let kind = match event.access {
                Access::Fence => Kind::Fence,
                _ if event.location != NONE => Kind::Access,
                _ => Kind::Other,
            };
            let position = |write: EventId| {
                let index = graph.co(event.location).iter().position(|&other| other == write);
                index.map_or(0, |index| index as u32 + 1)
            };
            let is_access = kind == Kind::Access;
            let source = Some(event.rf as usize).filter(|_| event.rf != NONE && event.rf != INIT);
            let defined = axioms::Event {
                thread: event.thread.into(),
                kind,
                order: event.order.into(),
                location: is_access.then_some(event.location),
                read_index: (is_access && event.reads()).then(|| position(event.rf)),
                write_index: event.written.map(|_| position(id as EventId)),
            };
            let sw = source.filter(|_| !is_access).into_iter().collect();
            execution.push(defined, source.filter(|_| is_access), sw);
        }
        let hb = execution.hb();
        Defined { execution, hb }
    }
}

impl axioms::Graph for Defined {
    fn event_count(&self) -> usize {
        self.execution.events.len()
    }

    fn event(&self, event: usize) -> axioms::Event {
        self.execution.events[event]
    }

    fn past(&self, event: usize) -> impl Fn(usize) -> bool {
        move |before| self.hb.has(before, event)
    }
}

/// Builds random graphs. `check` gets each graph with its newest event, and returns whether the search would keep the event.
fn build(model: Model, mut check: impl FnMut(&mut Graph, EventId) -> bool) {
    for seed in 0..4000 {
        let mut rng = Rng::new(seed);
        let mut graph = empty(model);
        let (strong, fences) = (1 + rng.below(4), rng.below(4));
        for _ in 0..EVENTS {
            let len = graph.len();
            let newest = add_event(&mut graph, &mut rng, strong, fences);
            if !check(&mut graph, newest) {
                graph.truncate(len);
            } else if rng.below(16) == 0 {
                graph.truncate(rng.below(len + 1));
            }
        }
    }
}

#[test]
fn rc11_is_that_of_the_axioms() {
    let mut scratch = Scratch::default();
    let mut counts = [0; 2];
    build(Model::Rc11, |graph, newest| {
        let defined = Defined::of(graph);
        let n = graph.len();
        let clocks =
            Relation::of(n, |a, b| a != b && covers(graph.happened_before(b as EventId), &graph.events[a]));
        assert_eq!(clocks, defined.hb, "happens-before of {graph:#?}");
        let expected = match axioms::rc11::violated_axiom(&defined) {
            None => true,
            Some(Axiom::Sc) => false,
            Some(axiom) => panic!("{axiom:?} should hold by construction: {graph:#?}"),
        };
        assert_eq!(graph.is_consistent(newest, &mut scratch), expected, "{graph:#?}");
        counts[usize::from(expected)] += 1;
        expected
    });
    assert!(counts.iter().all(|&count| count > 200), "one-sided: {counts:?}");
}

#[test]
fn sc_is_that_of_the_axioms() {
    let mut scratch = Scratch::default();
    let mut counts = [0; 2];
    build(Model::Sc, |graph, newest| {
        let expected = axioms::sc::is_consistent(&Defined::of(graph));
        assert_eq!(graph.is_consistent(newest, &mut scratch), expected, "{graph:#?}");
        counts[usize::from(expected)] += 1;
        expected
    });
    assert!(counts.iter().all(|&count| count > 400), "one-sided: {counts:?}");
}
