//! Strengthened executions against executions that were recorded so.

use raddle_axioms::{Axiom, Event, Execution, Kind, Relation, rc11};

use super::axioms::{StrengthenedExecution, Strengthening};
use super::{Effect, Graph, Node};
use crate::failure::Order;

/// A linear congruential generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

const ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

/// A random execution of a few threads, events and locations. Every read comes after its source; modification orders are arbitrary.
fn execution(dice: &mut Dice) -> Graph {
    let mut graph = Graph { locations: vec![Vec::new(); 2], ..Graph::default() };
    let (threads, events) = (2 + dice.roll(2), 4 + dice.roll(5));
    for number in 0..events {
        let thread = dice.roll(threads) as u32;
        let order = ORDERS[dice.roll(ORDERS.len())];
        let location = dice.roll(2);
        let po = graph.threads.get(&thread).map_or(0, Vec::len);
        let mut node = Node { thread, po, ..Node::default() };
        let writes = &mut graph.locations[location];
        match dice.roll(7) {
            0 | 1 => {
                node.effect = Effect::Store(order);
                // Not between a read-modify-write and its source.
                let free = |&rank: &usize| {
                    let next: Option<&usize> = writes.get(rank);
                    next.is_none_or(|&next| !matches!(graph.nodes[next].effect, Effect::Rmw(_)))
                };
                let ranks: Vec<usize> = (0..=writes.len()).filter(free).collect();
                writes.insert(ranks[dice.roll(ranks.len())], number);
            }
            2 => {
                node.effect = Effect::Rmw(order);
                // Two read-modify-writes cannot have the same source.
                let rank = writes.len();
                node.rf = rank.checked_sub(1).map(|last| writes[last]);
                writes.push(number);
            }
            3..=5 => {
                node.effect = Effect::Load(order);
                let rank = dice.roll(writes.len() + 1);
                node.rf = rank.checked_sub(1).map(|last| writes[last]);
            }
            _ => node.effect = Effect::Fence(order),
        }
        node.location = (!matches!(node.effect, Effect::Fence(_))).then_some(location);
        graph.threads.entry(thread).or_default().push(number);
        graph.nodes.push(node);
    }
    // The indices in modification order, now that all writes are there.
    for location in 0..2 {
        for (rank, &write) in graph.locations[location].clone().iter().enumerate() {
            graph.nodes[write].write_index = Some(rank + 1);
        }
    }
    for number in 0..events {
        if matches!(graph.nodes[number].effect, Effect::Load(_) | Effect::Rmw(_)) {
            graph.nodes[number].read_index =
                Some(graph.nodes[number].rf.map_or(0, |from| graph.nodes[from].write_index.unwrap()));
        }
    }
    graph
}

/// A graph with happens-before by its definition.
struct Recorded {
    execution: Execution,
    hb: Relation,
}

impl Recorded {
    fn of(graph: &Graph) -> Recorded {
        let mut execution = Execution::default();
        for node in &graph.nodes {
            let (kind, order) = match node.effect {
                Effect::Load(order) | Effect::Store(order) | Effect::Rmw(order) => (Kind::Access, order),
                Effect::Fence(order) => (Kind::Fence, order),
                Effect::None => unreachable!("every event has a memory order"),
            };
            let event = Event {
                thread: node.thread,
                kind,
                order: order.into(),
                location: node.location.map(|location| location as u32),
                read_index: node.read_index.map(|index| index as u32),
                write_index: node.write_index.map(|index| index as u32),
            };
            execution.push(event, node.rf, Vec::new());
        }
        let hb = execution.hb();
        Recorded { execution, hb }
    }

    fn is_forbidden(&self) -> bool {
        match rc11::violated_axiom(self) {
            Some(Axiom::Coherence | Axiom::Sc) => true,
            None => false,
            Some(axiom) => panic!("{axiom:?} holds by construction"),
        }
    }
}

impl raddle_axioms::Graph for Recorded {
    fn event_count(&self) -> usize {
        self.execution.events.len()
    }

    fn event(&self, event: usize) -> Event {
        self.execution.events[event]
    }

    fn past(&self, event: usize) -> impl Fn(usize) -> bool {
        move |before| self.hb.has(before, event)
    }
}

/// Other memory orders have the effect of recorded ones.
#[test]
fn a_strengthened_event_is_an_event_of_that_order() {
    let mut dice = Dice(2017);
    let mut counts = [0; 2];
    for _ in 0..4000 {
        let graph = execution(&mut dice);
        let (mut strengthening, mut recorded) = (Strengthening::default(), graph.clone());
        for (number, node) in recorded.nodes.iter_mut().enumerate() {
            if dice.roll(3) == 0 {
                let order = ORDERS[dice.roll(ORDERS.len())];
                strengthening.orders.insert(number, order);
                node.effect = match node.effect {
                    Effect::Load(_) => Effect::Load(order),
                    Effect::Store(_) => Effect::Store(order),
                    Effect::Rmw(_) => Effect::Rmw(order),
                    Effect::Fence(_) => Effect::Fence(order),
                    Effect::None => Effect::None,
                };
            }
        }
        let events: Vec<usize> = (0..graph.nodes.len()).collect();
        let forbidden = StrengthenedExecution::of(&graph, &strengthening).forbids(&events);
        assert_eq!(forbidden, Recorded::of(&recorded).is_forbidden(), "{graph:#?} {strengthening:?}");
        counts[usize::from(forbidden)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 400), "one-sided: {counts:?}");
}

/// An inserted fence has the effect of a recorded one.
#[test]
fn a_fence_before_an_event_is_a_fence() {
    let mut dice = Dice(42);
    for _ in 0..2000 {
        let graph = execution(&mut dice);
        let before = dice.roll(graph.nodes.len());
        let order = ORDERS[dice.roll(ORDERS.len())];
        let added = Strengthening { fences: [(before, order)].into(), ..Strengthening::default() };
        let with = insert_fence(&graph, before, order);
        let events: Vec<usize> = (0..graph.nodes.len()).collect();
        let forbidden = StrengthenedExecution::of(&graph, &added).forbids(&events);
        assert_eq!(forbidden, Recorded::of(&with).is_forbidden(), "{order:?} before {before} in {graph:#?}");
    }
}

/// The execution with a fence as an event right before another event.
fn insert_fence(graph: &Graph, before: usize, order: Order) -> Graph {
    let moved = |event: usize| event + usize::from(event >= before);
    let thread = graph.nodes[before].thread;
    let fence = Node { thread, po: graph.nodes[before].po, effect: Effect::Fence(order), ..Node::default() };
    let mut with = graph.clone();
    for node in &mut with.nodes {
        node.rf = node.rf.map(moved);
        if node.thread == thread && node.po >= fence.po {
            node.po += 1;
        }
    }
    with.nodes.insert(before, fence);
    with.threads.clear();
    let mut by_order: Vec<usize> = (0..with.nodes.len()).collect();
    by_order.sort_by_key(|&event| with.nodes[event].po);
    for event in by_order {
        with.threads.entry(with.nodes[event].thread).or_default().push(event);
    }
    for location in &mut with.locations {
        location.iter_mut().for_each(|write| *write = moved(*write));
    }
    with
}
