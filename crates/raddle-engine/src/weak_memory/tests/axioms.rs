//! RC11 by its axioms: is this execution graph consistent?
//!
//! After Lahav, Vafeiadis, Kang, Hur, Dreyer: "Repairing Sequential Consistency in C/C++11" (PLDI 2017), with the release
//! sequences of C++20. A read-modify-write is one event that reads and writes.
//!
//! The axioms are written out here although [`raddle_axioms`] has them, too: happens-before of the memory under test and of that
//! crate come from the same views. Only the algebra of relations is shared.

use raddle_axioms::Relation;

use crate::op::Order;

/// One event of an execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// None for the initial stores.
    pub(super) thread: Option<usize>,
    /// None for fences.
    pub(super) location: Option<usize>,
    pub(super) order: Order,
    /// The store that it reads from, as a number of an event.
    pub(super) reads: Option<usize>,
    pub(super) writes: bool,
}

/// Events, in program order where they are of one thread, and modification order by location.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) events: Vec<Event>,
    pub(super) modification: Vec<Vec<usize>>,
}

impl Graph {
    /// The first axiom that the graph breaks.
    pub(super) fn broken_axiom(&self) -> Option<&'static str> {
        let events = &self.events;
        let size = events.len();
        let relation = |holds: &dyn Fn(usize, usize) -> bool| Relation::of(size, holds);
        let is_fence = |a: usize| events[a].location.is_none();
        let same_location = |a: usize, b: usize| !is_fence(a) && events[a].location == events[b].location;
        let position = |a: usize| {
            let order = &self.modification[events[a].location.unwrap()];
            order.iter().position(|&store| store == a).unwrap()
        };

        let po = relation(&|a, b| match (events[a].thread, events[b].thread) {
            (None, Some(_)) => true,
            (first, second) => first == second && first.is_some() && a < b,
        });
        let rf = relation(&|a, b| events[b].reads == Some(a));
        if !po.or(&rf).is_acyclic() {
            return Some("no thin air");
        }
        let co = relation(&|a, b| {
            events[a].writes && events[b].writes && same_location(a, b) && position(a) < position(b)
        });
        let fr = relation(&|a, b| a != b && events[a].reads.is_some_and(|source| co.has(source, b)));
        let is_rmw = |a: usize| events[a].writes && events[a].reads.is_some();
        if (0..size).any(|a| is_rmw(a) && position(a) != position(events[a].reads.unwrap()) + 1) {
            return Some("atomicity");
        }

        let releasing = po
            .only(|a, b| is_fence(a) && events[b].writes)
            .or(&relation(&|a, b| a == b && events[a].writes))
            .only(|a, _| events[a].order.releases());
        let acquiring = po
            .only(|a, b| events[a].reads.is_some() && is_fence(b))
            .or(&relation(&|a, b| a == b && events[a].reads.is_some()))
            .only(|_, b| events[b].order.acquires());
        let sequence = rf.only(|_, b| is_rmw(b)).transitive().optional();
        let sw = releasing.then(&sequence).then(&rf).then(&acquiring);
        let hb = po.or(&sw).transitive();
        let eco = rf.or(&co).or(&fr).transitive();
        if !hb.is_irreflexive() || !hb.then(&eco).is_irreflexive() {
            return Some("coherence");
        }

        let is_sc = |a: usize| events[a].order == Order::SeqCst && events[a].thread.is_some();
        let elsewhere = po.only(|a, b| !same_location(a, b));
        let scb = po.or(&elsewhere.then(&hb).then(&elsewhere)).or(&hb.only(same_location)).or(&co).or(&fr);
        let sc = relation(&|a, b| a == b && is_sc(a));
        let from = sc.or(&hb.only(|a, _| is_sc(a) && is_fence(a)));
        let to = sc.or(&hb.only(|_, b| is_sc(b) && is_fence(b)));
        let psc_base = from.then(&scb).then(&to);
        let psc_fences =
            hb.or(&hb.then(&eco).then(&hb)).only(|a, b| is_sc(a) && is_fence(a) && is_sc(b) && is_fence(b));
        if !psc_base.or(&psc_fences).is_acyclic() {
            return Some("sequential consistency");
        }
        None
    }
}
