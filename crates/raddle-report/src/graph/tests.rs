//! The axioms against their definition: relations as sets of pairs, composed as in the paper.

use super::axioms::{HappensBefore, Strengthening};
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

/// A relation as a matrix.
#[derive(Clone, PartialEq)]
struct Pairs(Vec<Vec<bool>>);

impl Pairs {
    fn of(n: usize, holds: impl Fn(usize, usize) -> bool) -> Pairs {
        Pairs((0..n).map(|a| (0..n).map(|b| holds(a, b)).collect()).collect())
    }

    fn then(&self, other: &Pairs) -> Pairs {
        let n = self.0.len();
        Pairs::of(n, |a, b| (0..n).any(|via| self.0[a][via] && other.0[via][b]))
    }

    fn or(&self, other: &Pairs) -> Pairs {
        Pairs::of(self.0.len(), |a, b| self.0[a][b] || other.0[a][b])
    }

    /// The reflexive closure.
    fn maybe(&self) -> Pairs {
        Pairs::of(self.0.len(), |a, b| a == b || self.0[a][b])
    }

    fn closure(&self) -> Pairs {
        let mut all = self.clone();
        loop {
            let more = all.or(&all.then(&all));
            if more == all {
                return all;
            }
            all = more;
        }
    }

    fn is_acyclic(&self) -> bool {
        let closure = self.closure();
        (0..self.0.len()).all(|a| !closure.0[a][a])
    }
}

/// Whether the execution is RC11-consistent, by the definition.
fn is_consistent(graph: &Graph, strengthening: &Strengthening) -> bool {
    let nodes = &graph.nodes;
    let n = nodes.len();
    let order = |a: usize| strengthening.orders.get(&a).copied().or(nodes[a].effect.order()).unwrap();
    let releases = |a: usize| matches!(order(a), Order::Release | Order::AcqRel | Order::SeqCst);
    let acquires = |a: usize| matches!(order(a), Order::Acquire | Order::AcqRel | Order::SeqCst);
    let is_fence = |a: usize| matches!(nodes[a].effect, Effect::Fence(_));
    let reads = |a: usize| matches!(nodes[a].effect, Effect::Load(_) | Effect::Rmw(_));
    let writes = |a: usize| matches!(nodes[a].effect, Effect::Store(_) | Effect::Rmw(_));
    let same = |a: usize, b: usize| nodes[a].location.is_some() && nodes[a].location == nodes[b].location;
    let only = |set: &dyn Fn(usize) -> bool| Pairs::of(n, |a, b| a == b && set(a));

    let po = Pairs::of(n, |a, b| nodes[a].thread == nodes[b].thread && nodes[a].po < nodes[b].po);
    let rf = Pairs::of(n, |a, b| nodes[b].rf == Some(a));
    let co = Pairs::of(n, |a, b| {
        same(a, b) && matches!((nodes[a].write_index, nodes[b].write_index), (Some(x), Some(y)) if x < y)
    });
    let fr = Pairs::of(n, |a, b| {
        a != b
            && same(a, b)
            && matches!((nodes[a].read_index, nodes[b].write_index), (Some(x), Some(y)) if x < y)
    });
    let rf_rmw = rf.then(&only(&|a| matches!(nodes[a].effect, Effect::Rmw(_))));
    let rs = only(&writes).then(&rf_rmw.closure().maybe());
    let release =
        only(&|a| is_fence(a) && releases(a)).then(&po).or(&only(&|a| writes(a) && releases(a))).then(&rs);
    let acquire = po.then(&only(&|a| is_fence(a) && acquires(a)));
    let acquire = only(&|a| reads(a) && acquires(a)).or(&only(&reads).then(&acquire));
    let sw = release.then(&rf).then(&acquire);
    let hb = po.or(&sw).closure();
    let eco = rf.or(&co).or(&fr).closure();
    let coherent = (0..n).all(|a| !hb.then(&eco.maybe()).0[a][a]);

    let elsewhere = Pairs::of(n, |a, b| po.0[a][b] && !same(a, b));
    let scb = po
        .or(&elsewhere.then(&hb).then(&elsewhere))
        .or(&Pairs::of(n, |a, b| hb.0[a][b] && same(a, b)))
        .or(&co)
        .or(&fr);
    let sc = only(&|a| order(a) == Order::SeqCst);
    let fence = only(&|a| order(a) == Order::SeqCst && is_fence(a));
    let base = sc.or(&fence.then(&hb.maybe())).then(&scb).then(&sc.or(&hb.maybe().then(&fence)));
    let fences = fence.then(&hb.or(&hb.then(&eco).then(&hb))).then(&fence);
    coherent && base.or(&fences).is_acyclic()
}

#[test]
fn the_axioms_are_those_of_the_paper() {
    let mut dice = Dice(2017);
    let mut counts = [0; 2];
    for _ in 0..4000 {
        let graph = execution(&mut dice);
        let mut strengthening = Strengthening::default();
        for number in 0..graph.nodes.len() {
            if dice.roll(3) == 0 {
                strengthening.orders.insert(number, ORDERS[dice.roll(ORDERS.len())]);
            }
        }
        let events: Vec<usize> = (0..graph.nodes.len()).collect();
        let forbidden = HappensBefore::with(&graph, &strengthening).forbids(&events);
        assert_eq!(forbidden, !is_consistent(&graph, &strengthening), "{graph:#?} {strengthening:?}");
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
        let forbidden = HappensBefore::with(&graph, &added).forbids(&events);
        assert_eq!(
            forbidden,
            !is_consistent(&with, &Strengthening::default()),
            "{order:?} before {before} in {graph:#?}"
        );
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
