//! A failing execution as a graph: which write each read read, in which order each place was modified, and what happened before
//! what.
//!
//! Under weak memory an execution is no interleaving. What makes it possible is told by the graph alone, so everything here works
//! from a failure file:
//!
//! - [`straighten`](fn@straighten): the order of events that is most like an interleaving.
//! - `knot`: what is left that no order explains.
//! - `axioms`: which of that the memory model forbids, for any memory orders.
//! - `cure`: which memory orders would have forbidden it.
//! - `why`: all of that for one failure.

pub(crate) mod axioms;
pub(crate) mod cure;
pub(crate) mod knot;
mod straighten;
pub(crate) mod why;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::failure::{Action, Event, Failure, Order, Write};

pub use straighten::straighten;
pub(crate) use why::why;

/// The graph of an execution. Its nodes are the events of the trace, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The nodes of each thread, in program order.
    pub(crate) threads: BTreeMap<u32, Vec<usize>>,
    /// The writes to each place in modification order. What a place held before has rank 0, these have ranks from 1.
    pub(crate) places: Vec<Vec<usize>>,
    /// Who reads what each place held before.
    pub(crate) initial_readers: Vec<Vec<usize>>,
}

/// One event, as far as memory is concerned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) thread: u32,
    /// How many events of its thread come before it.
    pub(crate) po: usize,
    pub(crate) effect: Effect,
    /// The place, if it is an atomic access whose place among the writes is known.
    pub(crate) place: Option<usize>,
    /// The write that it reads, if that is an event.
    pub(crate) rf: Option<usize>,
    /// The rank of what it reads, and of what it writes.
    pub(crate) reads: Option<usize>,
    pub(crate) writes: Option<usize>,
    /// Those that read what it writes.
    pub(crate) readers: Vec<usize>,
    /// Events of other threads that happened before it.
    pub(crate) after: Vec<usize>,
}

/// What an event does to the order of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    Load(Order),
    Store(Order),
    Rmw(Order),
    Fence(Order),
    /// It has no memory order.
    #[default]
    None,
}

/// How one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    /// In its thread.
    Program,
    /// The other reads it.
    Read,
    /// The other overwrites it, sooner or later.
    Overwritten,
    /// The other overwrites what it reads: it does not see the other.
    Missed,
    /// It happens before the other, by synchronisation.
    Synchronised,
}

impl Graph {
    /// The graph of a failure's trace; none if the file does not tell what was read.
    pub(crate) fn of(failure: &Failure) -> Option<Graph> {
        let events = &failure.trace.events;
        events.iter().find(|event| event.reads_from.is_some() || event.overwrites.is_some())?;
        let mut graph = Graph::default();
        for (number, event) in events.iter().enumerate() {
            let thread = graph.threads.entry(event.thread).or_default();
            let po = thread.len();
            thread.push(number);
            graph.nodes.push(Node {
                thread: event.thread,
                po,
                effect: effect(&event.action, event.overwrites.is_some()),
                after: event.synchronises_with.iter().map(|&other| other as usize).collect(),
                ..Node::default()
            });
        }
        graph.find_places(failure);
        graph.order_threads(failure);
        Some(graph)
    }

    /// Whatever the file says of synchronisation: a thread begins after it was made, and so on.
    fn order_threads(&mut self, failure: &Failure) {
        let events = &failure.trace.events;
        for (number, event) in events.iter().enumerate() {
            let (before, after) = match &event.action {
                Action::Spawn { thread } => (number, self.threads.get(thread).and_then(|made| made.first())),
                Action::Join { thread } => match self.threads.get(thread).and_then(|made| made.last()) {
                    Some(&last) => (last, Some(&number)),
                    None => continue,
                },
                Action::Woken { timed_out: false, .. } => {
                    let wakes = |event: &Event| match &event.action {
                        Action::Wake { woken, .. } => woken.contains(&events[number].thread),
                        _ => false,
                    };
                    match events[..number].iter().rposition(wakes) {
                        Some(wake) => (wake, Some(&number)),
                        None => continue,
                    }
                }
                _ => continue,
            };
            if let Some(&after) = after.filter(|&&after| before < after)
                && !self.nodes[after].after.contains(&before)
            {
                self.nodes[after].after.push(before);
            }
        }
    }

    /// Puts writes in modification order. Where a place was written by something that is no event, a new place begins.
    fn find_places(&mut self, failure: &Failure) {
        let events = &failure.trace.events;
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        let mut begins = Vec::new();
        for (number, event) in events.iter().enumerate() {
            let Some(address) = event.action.place().map(|place| place.address) else { continue };
            match event.overwrites {
                Some(Write::Event(before)) => _ = next.insert(before as usize, number),
                Some(write) => begins.push((address, write, number)),
                None => {}
            }
        }
        for (address, write, number) in begins {
            let place = self.new_place();
            if write == Write::Initial {
                first.insert(address, place);
            }
            self.places[place].extend(std::iter::successors(Some(number), |write| next.get(write).copied()));
            for (rank, &write) in self.places[place].iter().enumerate() {
                self.nodes[write].place = Some(place);
                self.nodes[write].writes = Some(rank + 1);
            }
        }
        for (number, event) in events.iter().enumerate() {
            let Some(address) = event.action.place().map(|place| place.address) else { continue };
            match event.reads_from {
                Some(Write::Event(from)) => {
                    let from = from as usize;
                    let Node { place, writes, .. } = self.nodes[from];
                    self.nodes[from].readers.push(number);
                    let node = &mut self.nodes[number];
                    (node.place, node.rf, node.reads) = (place, Some(from), writes);
                }
                Some(Write::Initial) => {
                    let place = *first.entry(address).or_insert_with(|| self.new_place());
                    self.initial_readers[place].push(number);
                    let node = &mut self.nodes[number];
                    (node.place, node.reads) = (Some(place), Some(0));
                }
                Some(Write::Unseen) | None => {}
            }
        }
    }

    fn new_place(&mut self) -> usize {
        self.places.push(Vec::new());
        self.initial_readers.push(Vec::new());
        self.places.len() - 1
    }

    /// The write of a place that has this rank.
    pub(crate) fn write(&self, place: usize, rank: usize) -> Option<usize> {
        self.places[place].get(rank.checked_sub(1)?).copied()
    }

    /// The events right after an event, by every kind of edge: what follows further on follows from these.
    pub(crate) fn next(&self, number: usize) -> Vec<(Edge, usize)> {
        let node = &self.nodes[number];
        let mut next = Vec::new();
        next.extend(self.threads[&node.thread].get(node.po + 1).map(|&after| (Edge::Program, after)));
        next.extend(node.readers.iter().map(|&reader| (Edge::Read, reader)));
        if let Some(place) = node.place {
            let at = |rank: usize| self.places[place].get(rank).copied();
            next.extend(node.writes.and_then(at).map(|write| (Edge::Overwritten, write)));
            let missed = node.reads.and_then(at).filter(|&write| write != number);
            next.extend(missed.map(|write| (Edge::Missed, write)));
        }
        next
    }
}

/// What an action does to the order of things.
fn effect(action: &Action, writes: bool) -> Effect {
    match *action {
        Action::Load { order, .. } => Effect::Load(order),
        Action::Store { order, .. } => Effect::Store(order),
        Action::Rmw { order, .. } => Effect::Rmw(order),
        Action::Cas { order, .. } if writes => Effect::Rmw(order),
        Action::Cas { order, failure, .. } => Effect::Load(failure.unwrap_or(order)),
        Action::Fence { order } => Effect::Fence(order),
        // A wait looks at the word, and the kernel orders that with whoever wakes.
        Action::Wait { .. } => Effect::Load(Order::Acquire),
        _ => Effect::None,
    }
}
