//! RC11 as a checker: whether the memory model forbids the reads and writes of some events, under the recorded memory orders or
//! under stronger ones.
//!
//! The model is that of Lahav, Vafeiadis, Kang, Hur, Dreyer ("Repairing Sequential Consistency in C/C++11", PLDI 2017) with C++20's
//! release sequences. Happens-before is computed for the whole execution; stronger orders can only extend it, so the recorded sw
//! edges are kept. Coherence and the acyclicity of psc are then decided among the events in question: a violation among them is
//! a violation of the execution.

use std::collections::BTreeMap;

use super::relation::Relation;
use super::{Effect, Graph, acquires, releases};
use crate::failure::Order;

/// A modification of an execution: memory orders other than the recorded ones, and inserted fences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strengthening {
    /// The new memory orders of events.
    pub(crate) orders: BTreeMap<usize, Order>,
    /// The fences inserted right before events.
    pub(crate) fences: BTreeMap<usize, Order>,
}

/// The happens-before relation of an execution under a strengthening, as vector clocks.
pub(crate) struct HappensBefore<'a> {
    graph: &'a Graph,
    strengthening: &'a Strengthening,
    /// The clock of each event.
    events: Vec<VectorClock>,
    /// The clock of each inserted fence, by the event that follows the fence.
    fences: BTreeMap<usize, VectorClock>,
}

/// For each thread, its last step that happens before. Event `po` of a thread is step `2 * po + 2`; a fence inserted right before
/// it is step `2 * po + 1`.
type VectorClock = BTreeMap<u32, usize>;

/// A recorded event, or a fence that a strengthening inserts right before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventOrFence {
    Fence(usize),
    Event(usize),
}

/// The clocks of a thread (the views of Kang et al., POPL 2017, reduced to clocks).
#[derive(Clone, Default)]
struct ThreadClocks {
    /// The steps that happen before the thread's next event.
    current: VectorClock,
    /// The steps that an acquire fence would add to `current`.
    acquirable: VectorClock,
    /// The value of `current` at the last release fence, which relaxed stores publish.
    released: VectorClock,
}

impl ThreadClocks {
    fn fence(&mut self, order: Order) {
        if acquires(order) {
            let acquirable = std::mem::take(&mut self.acquirable);
            join(&mut self.current, &acquirable);
        }
        if releases(order) {
            self.released = self.current.clone();
        }
    }
}

/// Raises a clock to the maximum of itself and another.
fn join(clock: &mut VectorClock, other: &VectorClock) {
    for (&thread, &step) in other {
        let mine = clock.entry(thread).or_default();
        *mine = (*mine).max(step);
    }
}

impl<'a> HappensBefore<'a> {
    pub(crate) fn with(graph: &'a Graph, strengthening: &'a Strengthening) -> HappensBefore<'a> {
        let mut this = HappensBefore {
            graph,
            strengthening,
            events: Vec::with_capacity(graph.nodes.len()),
            fences: BTreeMap::new(),
        };
        let mut threads: BTreeMap<u32, ThreadClocks> = BTreeMap::new();
        // The clock that each write publishes.
        let mut messages: BTreeMap<usize, VectorClock> = BTreeMap::new();
        for (number, node) in graph.nodes.iter().enumerate() {
            let clocks = threads.entry(node.thread).or_default();
            if let Some(&order) = strengthening.fences.get(&number) {
                clocks.current.insert(node.thread, 2 * node.po + 1);
                clocks.fence(order);
                this.fences.insert(number, clocks.current.clone());
            }
            for &before in &node.sw {
                join(&mut clocks.current, &this.events[before]);
            }
            clocks.current.insert(node.thread, 2 * node.po + 2);
            let effect = this.effect(number);
            let source = node.rf.and_then(|from| messages.get(&from));
            if let Some(source) = source {
                let clock = if effect.acquires() { &mut clocks.current } else { &mut clocks.acquirable };
                join(clock, source);
            }
            if let Effect::Fence(order) = effect {
                clocks.fence(order);
            }
            if node.write_index.is_some() {
                let mut message =
                    if effect.releases() { clocks.current.clone() } else { clocks.released.clone() };
                // A read-modify-write continues the release sequence of its source.
                if let Some(source) = source {
                    join(&mut message, source);
                }
                messages.insert(number, message);
            }
            this.events.push(clocks.current.clone());
        }
        this
    }

    /// Whether `before` happens before `after`.
    pub(crate) fn orders(&self, before: EventOrFence, after: EventOrFence) -> bool {
        let (EventOrFence::Event(number) | EventOrFence::Fence(number)) = before;
        let node = &self.graph.nodes[number];
        let step = 2 * node.po + if matches!(before, EventOrFence::Event(_)) { 2 } else { 1 };
        before != after && self.clock(after).get(&node.thread).is_some_and(|&known| step <= known)
    }

    /// Whether RC11 forbids the reads and writes of these events.
    pub(crate) fn forbids(&self, events: &[usize]) -> bool {
        self.is_incoherent(events) || self.has_psc_cycle(events)
    }

    fn clock(&self, step: EventOrFence) -> &VectorClock {
        match step {
            EventOrFence::Event(number) => &self.events[number],
            EventOrFence::Fence(number) => &self.fences[&number],
        }
    }

    fn effect(&self, number: usize) -> Effect {
        let effect = self.graph.nodes[number].effect;
        self.strengthening.orders.get(&number).map_or(effect, |&order| effect.with(order))
    }

    /// Whether `hb ; eco` has a reflexive pair among the events (RC11's axiom COHERENCE).
    fn is_incoherent(&self, events: &[usize]) -> bool {
        let contradicts = |a: usize, b: usize| {
            self.orders(EventOrFence::Event(a), EventOrFence::Event(b)) && self.graph.eco(b, a)
        };
        events.iter().any(|&a| events.iter().any(|&b| contradicts(a, b)))
    }

    /// Whether psc has a cycle among the events and the fences between them (RC11's axiom SC).
    fn has_psc_cycle(&self, events: &[usize]) -> bool {
        let steps = self.with_fences(events);
        let mut left: Vec<usize> =
            (0..steps.len()).filter(|&at| self.order(steps[at]) == Some(Order::SeqCst)).collect();
        if left.len() < 2 {
            return false;
        }
        let psc = self.psc(&steps);
        // Events without a predecessor among those left are on no cycle.
        loop {
            let all = left.clone();
            left.retain(|&b| all.iter().any(|&a| psc.has(a, b)));
            if left.is_empty() || left.len() == all.len() {
                return !left.is_empty();
            }
        }
    }

    /// RC11's psc between some events and fences, all taken to be sequentially consistent.
    fn psc(&self, steps: &[EventOrFence]) -> Relation {
        let relation = |holds: &dyn Fn(EventOrFence, EventOrFence) -> bool| {
            Relation::of(steps.len(), |a, b| a != b && holds(steps[a], steps[b]))
        };
        let eco_between = |a, b| match (a, b) {
            (EventOrFence::Event(a), EventOrFence::Event(b)) => self.graph.eco(a, b),
            _ => false,
        };
        let same_thread = |a, b| self.thread(a) == self.thread(b);
        let same_location = |a, b| self.location(a).is_some() && self.location(a) == self.location(b);
        let hb = relation(&|a, b| self.orders(a, b));
        let po = relation(&|a, b| same_thread(a, b) && self.orders(a, b));
        // po between different locations.
        let po_other = relation(&|a, b| same_thread(a, b) && self.orders(a, b) && !same_location(a, b));
        let eco = relation(&eco_between);
        // An eco edge to a write is mo or fr, because a read-modify-write comes right after its source in mo.
        let mo_or_fr = relation(&|a, b| eco_between(a, b) && self.writes(b));
        let mut scb = relation(&|a, b| same_location(a, b) && self.orders(a, b));
        scb.add(&po);
        scb.add(&po_other.then(&hb).then(&po_other));
        scb.add(&mo_or_fr);
        let is_fence = |at: usize| match steps[at] {
            EventOrFence::Fence(_) => true,
            EventOrFence::Event(number) => self.graph.nodes[number].effect.is_fence(),
        };
        let hb_eco_hb = hb.then(&eco).then(&hb);
        let (hb_scb, scb_hb) = (hb.then(&scb), scb.then(&hb));
        let hb_scb_hb = hb.then(&scb_hb);
        Relation::of(steps.len(), |a, b| {
            scb.has(a, b)
                || is_fence(a) && hb_scb.has(a, b)
                || is_fence(b) && scb_hb.has(a, b)
                || is_fence(a) && is_fence(b) && (hb_scb_hb.has(a, b) || hb.has(a, b) || hb_eco_hb.has(a, b))
        })
    }

    /// The inserted fences, the SC fences between the events of each thread, and the events that are no fences.
    fn with_fences(&self, events: &[usize]) -> Vec<EventOrFence> {
        let mut steps: Vec<EventOrFence> =
            self.strengthening.fences.keys().map(|&number| EventOrFence::Fence(number)).collect();
        for thread in self.graph.threads.values() {
            let Some(first) = thread.iter().position(|event| events.contains(event)) else { continue };
            let last = thread.iter().rposition(|event| events.contains(event)).unwrap_or(first);
            let is_sc_fence = |event: &&usize| self.effect(**event) == Effect::Fence(Order::SeqCst);
            steps.extend(
                thread[first..last].iter().filter(is_sc_fence).map(|&event| EventOrFence::Event(event)),
            );
        }
        let accesses = events.iter().filter(|&&number| !self.graph.nodes[number].effect.is_fence());
        steps.extend(accesses.map(|&number| EventOrFence::Event(number)));
        steps
    }

    fn order(&self, step: EventOrFence) -> Option<Order> {
        match step {
            EventOrFence::Event(number) => self.effect(number).order(),
            EventOrFence::Fence(number) => self.strengthening.fences.get(&number).copied(),
        }
    }

    fn location(&self, step: EventOrFence) -> Option<usize> {
        match step {
            EventOrFence::Event(number) => self.graph.nodes[number].location,
            EventOrFence::Fence(_) => None,
        }
    }

    fn writes(&self, step: EventOrFence) -> bool {
        matches!(step, EventOrFence::Event(number) if self.graph.nodes[number].write_index.is_some())
    }

    fn thread(&self, step: EventOrFence) -> u32 {
        let (EventOrFence::Event(number) | EventOrFence::Fence(number)) = step;
        self.graph.nodes[number].thread
    }
}

impl Graph {
    /// Whether one access precedes another in extended coherence order, `eco` = (rf ∪ mo ∪ fr)⁺.
    pub(crate) fn eco(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.nodes[a], &self.nodes[b]);
        if a == b || first.location.is_none() || first.location != second.location {
            return false;
        }
        let less = |x: Option<usize>, y: Option<usize>| matches!((x, y), (Some(x), Some(y)) if x < y);
        let mo_rf = matches!((first.write_index, second.read_index), (Some(x), Some(y)) if x <= y);
        let mo = less(first.write_index, second.write_index);
        let fr = less(first.read_index, second.write_index);
        let fr_rf = less(first.read_index, second.read_index);
        mo_rf || mo || fr || fr_rf
    }
}
