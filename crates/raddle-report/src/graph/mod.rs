//! The execution graph of a failure: events, and the relations of axiomatic memory models between them.
//!
//! Under weak memory an execution need not be an interleaving; only its graph says why it was possible. The relations have the
//! names of the literature (Lahav et al., "Repairing Sequential Consistency in C/C++11", PLDI 2017; Alglave, Maranget,
//! Tautschnig, "Herding Cats", TOPLAS 2014): program order `po`, reads-from `rf`, modification order `mo` (also called coherence
//! order), from-read `fr` (also called reads-before), synchronizes-with `sw`, happens-before `hb`.
//!
//! - [`linearise`](fn@linearise): the linear extension of the graph that is closest to an interleaving.
//! - `scc`: the strongly connected components of po ∪ rf ∪ mo ∪ fr ∪ sw.
//! - `cycle`: the shortest cycles of those relations, which no interleaving has.
//! - `axioms`: RC11's verdict on a set of events, for any assignment of memory orders; the axioms are in `raddle_axioms`.
//! - `repair`: the memory orders and fences that would have forbidden the execution.
//! - `diagnosis`: cycles, races and repairs of one failure.
//!
//! **Invariant:** this module knows the failure model only. Its callers pass in source lines.

pub(crate) mod axioms;
pub(crate) mod cycle;
pub(crate) mod diagnosis;
mod linearise;
pub(crate) mod repair;
mod scc;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::failure::{Action, Event, Failure, Order, Write};

pub use linearise::linearise;

/// An execution graph. Its nodes are the events of the trace, numbered as there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The nodes of each thread, in program order.
    pub(crate) threads: BTreeMap<u32, Vec<usize>>,
    /// The writes to each location, in modification order. The initial value has index 0, these writes have indices from 1.
    pub(crate) locations: Vec<Vec<usize>>,
}

/// A node: one event, reduced to its effect on memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) thread: u32,
    /// The number of events that precede this one in program order.
    pub(crate) po: usize,
    pub(crate) effect: Effect,
    /// The location of an atomic access whose position in modification order is known.
    pub(crate) location: Option<usize>,
    /// The write that this event reads from, if that write is an event.
    pub(crate) rf: Option<usize>,
    /// The index in modification order of the write that this event reads from.
    pub(crate) read_index: Option<usize>,
    /// The index in modification order of this event's own write.
    pub(crate) write_index: Option<usize>,
    /// The events that read from this one.
    pub(crate) readers: Vec<usize>,
    /// The events of other threads that synchronise with this one.
    pub(crate) sw: Vec<usize>,
}

/// The kind of an event, with its memory order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effect {
    Load(Order),
    Store(Order),
    Rmw(Order),
    Fence(Order),
    /// The event has no memory order.
    #[default]
    None,
}

/// The relation by which one event precedes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    /// Program order: both events are of one thread.
    Po,
    /// Reads-from: from a write to a read of its value.
    Rf,
    /// Modification order: from a write to a later write of the same location.
    Mo,
    /// From-read: from a read to a write that comes after the read's source in modification order.
    Fr,
    /// Synchronizes-with: from a release to the acquire that makes it happen before.
    Sw,
}

impl Graph {
    /// The graph of a failure's trace; none if the file does not record reads-from and modification order.
    pub(crate) fn of(failure: &Failure) -> Option<Graph> {
        let has_edges = |event: &Event| event.reads_from.is_some() || event.overwrites.is_some();
        failure.trace.events.iter().any(has_edges).then(|| Graph::as_recorded(failure))
    }

    /// The graph of a failure's trace with the relations that the file records, be they few.
    pub(crate) fn as_recorded(failure: &Failure) -> Graph {
        let events = &failure.trace.events;
        let mut graph = Graph::default();
        for (number, event) in events.iter().enumerate() {
            let thread = graph.threads.entry(event.thread).or_default();
            let po = thread.len();
            thread.push(number);
            graph.nodes.push(Node {
                thread: event.thread,
                po,
                effect: Effect::of(event),
                sw: event.synchronises_with.iter().map(|&other| other as usize).collect(),
                ..Node::default()
            });
        }
        graph.add_modification_order(events);
        graph.add_reads_from(events);
        graph.add_thread_synchronisation(events);
        graph
    }

    /// Adds the sw edges of spawning, joining and waking, which files of older versions may lack.
    fn add_thread_synchronisation(&mut self, events: &[Event]) {
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
                && !self.nodes[after].sw.contains(&before)
            {
                self.nodes[after].sw.push(before);
            }
        }
    }

    /// Builds the modification order of each location from the `overwrites` fields. An uninstrumented write to a location begins
    /// a new location at the same address.
    fn add_modification_order(&mut self, events: &[Event]) {
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let mut first_writes = Vec::new();
        for (number, event) in events.iter().enumerate().filter(|(_, event)| event.action.place().is_some()) {
            match event.overwrites {
                Some(Write::Event(before)) => _ = next.insert(before as usize, number),
                Some(Write::Initial | Write::Unseen) => first_writes.push(number),
                None => {}
            }
        }
        for first in first_writes {
            let location = self.new_location();
            self.locations[location]
                .extend(std::iter::successors(Some(first), |write| next.get(write).copied()));
            for (index, &write) in self.locations[location].iter().enumerate() {
                self.nodes[write].location = Some(location);
                self.nodes[write].write_index = Some(index + 1);
            }
        }
    }

    /// Adds the rf edges from the `reads_from` fields.
    fn add_reads_from(&mut self, events: &[Event]) {
        // The location at each address whose first write overwrote the initial value.
        let mut initial: BTreeMap<u64, usize> = BTreeMap::new();
        for (event, node) in events.iter().zip(&self.nodes) {
            if let (Some(place), Some(Write::Initial), Some(location)) =
                (event.action.place(), event.overwrites, node.location)
            {
                initial.insert(place.address, location);
            }
        }
        for (number, event) in events.iter().enumerate() {
            let Some(address) = event.action.place().map(|place| place.address) else { continue };
            match event.reads_from {
                Some(Write::Event(from)) => {
                    let from = from as usize;
                    let Node { location, write_index, .. } = self.nodes[from];
                    self.nodes[from].readers.push(number);
                    let node = &mut self.nodes[number];
                    (node.location, node.rf, node.read_index) = (location, Some(from), write_index);
                }
                Some(Write::Initial) => {
                    let location = *initial.entry(address).or_insert_with(|| self.new_location());
                    let node = &mut self.nodes[number];
                    (node.location, node.read_index) = (Some(location), Some(0));
                }
                Some(Write::Unseen) | None => {}
            }
        }
    }

    fn new_location(&mut self) -> usize {
        self.locations.push(Vec::new());
        self.locations.len() - 1
    }

    /// The write with this index in the modification order of a location; none for the initial value.
    pub(crate) fn write(&self, location: usize, index: usize) -> Option<usize> {
        self.locations[location].get(index.checked_sub(1)?).copied()
    }

    /// The immediate successors of an event in po ∪ rf ∪ mo ∪ fr. Their transitive closure is that of the full relations.
    pub(crate) fn successors(&self, number: usize) -> Vec<(Edge, usize)> {
        let node = &self.nodes[number];
        let mut successors = Vec::new();
        successors.extend(self.threads[&node.thread].get(node.po + 1).map(|&after| (Edge::Po, after)));
        successors.extend(node.readers.iter().map(|&reader| (Edge::Rf, reader)));
        if let Some(location) = node.location {
            let at = |index: usize| self.locations[location].get(index).copied();
            successors.extend(node.write_index.and_then(at).map(|write| (Edge::Mo, write)));
            let unseen = node.read_index.and_then(at).filter(|&write| write != number);
            successors.extend(unseen.map(|write| (Edge::Fr, write)));
        }
        successors
    }
}

impl Effect {
    fn of(event: &Event) -> Effect {
        match event.action {
            Action::Load { order, .. } => Effect::Load(order),
            Action::Store { order, .. } => Effect::Store(order),
            Action::Rmw { order, .. } => Effect::Rmw(order),
            Action::Cas { order, .. } if event.overwrites.is_some() => Effect::Rmw(order),
            Action::Cas { order, failure, .. } => Effect::Load(failure.unwrap_or(order)),
            Action::Fence { order } => Effect::Fence(order),
            // A futex wait reads the word, and the kernel orders that read after the waker's write.
            Action::Wait { .. } => Effect::Load(Order::Acquire),
            _ => Effect::None,
        }
    }

    /// The memory order.
    pub(crate) fn order(self) -> Option<Order> {
        match self {
            Effect::Load(order) | Effect::Store(order) | Effect::Rmw(order) | Effect::Fence(order) => {
                Some(order)
            }
            Effect::None => None,
        }
    }

    fn is_fence(self) -> bool {
        matches!(self, Effect::Fence(_))
    }
}

/// Whether a memory order includes acquire.
fn acquires(order: Order) -> bool {
    raddle_axioms::acquires(order.into())
}

/// Whether a memory order includes release.
fn releases(order: Order) -> bool {
    raddle_axioms::releases(order.into())
}
