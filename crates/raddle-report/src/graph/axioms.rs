//! Whether the memory model forbids that some events read and wrote what they did, with the memory orders that they had or with
//! others.
//!
//! This is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: "Repairing Sequential Consistency in C/C++11", PLDI 2017) with C++20's
//! release sequences. Happens-before is computed for the whole execution; it can only grow when orders become stronger, so what was
//! recorded of it is kept. Coherence and the order of sequentially consistent events are then decided among the events in
//! question: whatever they violate, the execution as a whole violates.

use std::collections::BTreeMap;

use super::{Effect, Graph};
use crate::failure::Order;

/// Memory orders that differ from those of the execution, and fences that it did not make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The orders of events.
    pub(crate) orders: BTreeMap<usize, Order>,
    /// Fences right before events.
    pub(crate) fences: BTreeMap<usize, Order>,
}

/// What happens before what, given some memory orders.
pub(crate) struct HappensBefore<'a> {
    graph: &'a Graph,
    changes: &'a Changes,
    /// What each event knows.
    events: Vec<Clock>,
    /// What each fence knows that was not made.
    fences: BTreeMap<usize, Clock>,
}

/// For each thread, the last of its steps that is known. The event with number `po` is step `2 * po + 2`, a fence right before it
/// the step before that.
type Clock = BTreeMap<u32, usize>;

/// An event, or a fence right before one that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Fence(usize),
    Event(usize),
}

impl Effect {
    pub(crate) fn order(self) -> Option<Order> {
        match self {
            Effect::Load(order) | Effect::Store(order) | Effect::Rmw(order) | Effect::Fence(order) => {
                Some(order)
            }
            Effect::None => None,
        }
    }

    fn acquires(self) -> bool {
        !matches!(self, Effect::Store(_)) && self.order().is_some_and(acquires)
    }

    fn releases(self) -> bool {
        !matches!(self, Effect::Load(_)) && self.order().is_some_and(releases)
    }

    fn with(self, order: Order) -> Effect {
        match self {
            Effect::Load(_) => Effect::Load(order),
            Effect::Store(_) => Effect::Store(order),
            Effect::Rmw(_) => Effect::Rmw(order),
            Effect::Fence(_) => Effect::Fence(order),
            Effect::None => Effect::None,
        }
    }
}

pub(crate) fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst)
}

pub(crate) fn releases(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcqRel | Order::SeqCst)
}

fn join(clock: &mut Clock, other: &Clock) {
    for (&thread, &step) in other {
        let mine = clock.entry(thread).or_default();
        *mine = (*mine).max(step);
    }
}

/// What a thread knows, will know after an acquire fence, and hands on with relaxed stores.
#[derive(Clone, Default)]
struct View {
    current: Clock,
    acquirable: Clock,
    released: Clock,
}

impl View {
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

impl<'a> HappensBefore<'a> {
    pub(crate) fn with(graph: &'a Graph, changes: &'a Changes) -> HappensBefore<'a> {
        let mut this = HappensBefore {
            graph,
            changes,
            events: Vec::with_capacity(graph.nodes.len()),
            fences: BTreeMap::new(),
        };
        let mut views: BTreeMap<u32, View> = BTreeMap::new();
        let mut messages: BTreeMap<usize, Clock> = BTreeMap::new();
        for (number, node) in graph.nodes.iter().enumerate() {
            let view = views.entry(node.thread).or_default();
            if let Some(&order) = changes.fences.get(&number) {
                view.current.insert(node.thread, 2 * node.po + 1);
                view.fence(order);
                this.fences.insert(number, view.current.clone());
            }
            for &before in &node.after {
                join(&mut view.current, &this.events[before]);
            }
            view.current.insert(node.thread, 2 * node.po + 2);
            let effect = this.effect(number);
            let source = node.rf.and_then(|from| messages.get(&from));
            if let Some(source) = source {
                join(if effect.acquires() { &mut view.current } else { &mut view.acquirable }, source);
            }
            if let Effect::Fence(order) = effect {
                view.fence(order);
            }
            if node.writes.is_some() {
                let mut message =
                    if effect.releases() { view.current.clone() } else { view.released.clone() };
                if let Some(source) = source {
                    join(&mut message, source);
                }
                messages.insert(number, message);
            }
            this.events.push(view.current.clone());
        }
        this
    }

    /// Whether one step happens before another.
    pub(crate) fn is(&self, before: Step, after: Step) -> bool {
        let (Step::Event(number) | Step::Fence(number)) = before;
        let node = &self.graph.nodes[number];
        let step = 2 * node.po + if matches!(before, Step::Event(_)) { 2 } else { 1 };
        before != after && self.clock(after).get(&node.thread).is_some_and(|&known| step <= known)
    }

    /// Whether the memory model forbids that these events read and wrote what they did.
    pub(crate) fn forbids(&self, events: &[usize]) -> bool {
        self.is_incoherent(events) || self.has_no_sc_order(events)
    }

    fn clock(&self, step: Step) -> &Clock {
        match step {
            Step::Event(number) => &self.events[number],
            Step::Fence(number) => &self.fences[&number],
        }
    }

    fn effect(&self, number: usize) -> Effect {
        let effect = self.graph.nodes[number].effect;
        self.changes.orders.get(&number).map_or(effect, |&order| effect.with(order))
    }

    fn is_incoherent(&self, events: &[usize]) -> bool {
        let forbidden = |&a: &usize| {
            let contradicts =
                |&b: &usize| self.is(Step::Event(a), Step::Event(b)) && self.graph.comes_first(b, a);
            events.iter().any(contradicts)
        };
        events.iter().any(forbidden)
    }

    /// Whether the sequentially consistent steps among the events, and all such fences, have no order.
    fn has_no_sc_order(&self, events: &[usize]) -> bool {
        let fence = |number: &usize| matches!(self.graph.nodes[*number].effect, Effect::Fence(_));
        let mut steps: Vec<Step> = self.changes.fences.keys().map(|&number| Step::Fence(number)).collect();
        steps.extend(self.fences_between(events).into_iter().map(Step::Event));
        steps.extend(events.iter().filter(|&number| !fence(number)).map(|&number| Step::Event(number)));
        let (count, sc) = (steps.len(), |step: Step| self.order(step) == Some(Order::SeqCst));
        let sc_steps: Vec<usize> = (0..count).filter(|&at| sc(steps[at])).collect();
        if sc_steps.len() < 2 {
            return false;
        }
        let relation = |holds: &dyn Fn(Step, Step) -> bool| {
            let mut relation = Relation::new(count);
            for (a, &from) in steps.iter().enumerate() {
                for (b, &to) in steps.iter().enumerate() {
                    relation.set(a, b, a != b && holds(from, to));
                }
            }
            relation
        };
        let hb = relation(&|a, b| self.is(a, b));
        let same_place = |a, b| self.place(a).is_some() && self.place(a) == self.place(b);
        let po = relation(&|a, b| self.thread(a) == self.thread(b) && self.is(a, b));
        let elsewhere =
            relation(&|a, b| self.thread(a) == self.thread(b) && self.is(a, b) && !same_place(a, b));
        let eco = relation(&|a, b| match (a, b) {
            (Step::Event(a), Step::Event(b)) => self.graph.comes_first(a, b),
            _ => false,
        });
        // Of those that come first, the ones that are overwritten.
        let overwritten = relation(&|a, b| match (a, b) {
            (Step::Event(a), Step::Event(b)) => {
                self.graph.comes_first(a, b) && self.graph.nodes[b].writes.is_some()
            }
            _ => false,
        });
        let mut scb = relation(&|a, b| same_place(a, b) && self.is(a, b));
        scb.add(&po);
        scb.add(&elsewhere.then(&hb).then(&elsewhere));
        scb.add(&overwritten);
        let is_fence = |at: usize| match steps[at] {
            Step::Fence(_) => true,
            Step::Event(number) => fence(&number),
        };
        let hb_eco_hb = hb.then(&eco).then(&hb);
        let (hb_scb, scb_hb) = (hb.then(&scb), scb.then(&hb));
        let hb_scb_hb = hb.then(&scb_hb);
        let precedes = |a: usize, b: usize| {
            scb.has(a, b)
                || is_fence(a) && hb_scb.has(a, b)
                || is_fence(b) && scb_hb.has(a, b)
                || is_fence(a) && is_fence(b) && (hb_scb_hb.has(a, b) || hb.has(a, b) || hb_eco_hb.has(a, b))
        };
        // Steps that none of those left precedes are taken away until none is left.
        let mut left = sc_steps;
        loop {
            let before = left.len();
            let all = left.clone();
            left.retain(|&b| all.iter().any(|&a| precedes(a, b)));
            if left.is_empty() || left.len() == before {
                return !left.is_empty();
            }
        }
    }

    /// The fences between the events of each thread.
    fn fences_between(&self, events: &[usize]) -> Vec<usize> {
        let mut fences = Vec::new();
        for thread in self.graph.threads.values() {
            let (first, last) = match thread.iter().position(|event| events.contains(event)) {
                Some(first) => {
                    (first, thread.iter().rposition(|event| events.contains(event)).unwrap_or(first))
                }
                None => continue,
            };
            let is_fence = |event: &&usize| matches!(self.effect(**event), Effect::Fence(Order::SeqCst));
            fences.extend(thread[first..last].iter().filter(is_fence));
        }
        fences
    }

    fn order(&self, step: Step) -> Option<Order> {
        match step {
            Step::Event(number) => self.effect(number).order(),
            Step::Fence(number) => self.changes.fences.get(&number).copied(),
        }
    }

    fn place(&self, step: Step) -> Option<usize> {
        match step {
            Step::Event(number) => self.graph.nodes[number].place,
            Step::Fence(_) => None,
        }
    }

    fn thread(&self, step: Step) -> u32 {
        let (Step::Event(number) | Step::Fence(number)) = step;
        self.graph.nodes[number].thread
    }
}

impl Graph {
    /// Whether one access comes before another by what they read and wrote of their place (`eco`).
    pub(crate) fn comes_first(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.nodes[a], &self.nodes[b]);
        if a == b || first.place.is_none() || first.place != second.place {
            return false;
        }
        let less = |x: Option<usize>, y: Option<usize>| matches!((x, y), (Some(x), Some(y)) if x < y);
        let reads = matches!((first.writes, second.reads), (Some(x), Some(y)) if x <= y);
        reads
            || less(first.writes, second.writes)
            || less(first.reads, second.writes)
            || less(first.reads, second.reads)
    }
}

/// A relation between a few steps.
struct Relation {
    size: usize,
    rows: Vec<bool>,
}

impl Relation {
    fn new(size: usize) -> Relation {
        Relation { size, rows: vec![false; size * size] }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a * self.size + b]
    }

    fn set(&mut self, a: usize, b: usize, holds: bool) {
        self.rows[a * self.size + b] = holds;
    }

    fn add(&mut self, other: &Relation) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// From one step to another by way of a third.
    fn then(&self, other: &Relation) -> Relation {
        let mut both = Relation::new(self.size);
        for a in 0..self.size {
            for via in (0..self.size).filter(|&via| self.has(a, via)) {
                for b in 0..self.size {
                    if other.has(via, b) {
                        both.set(a, b, true);
                    }
                }
            }
        }
        both
    }
}
