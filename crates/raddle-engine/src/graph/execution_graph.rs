//! The graph itself: its storage, and how events are added and removed.

use super::Model;
use super::coherence::{Links, LocationAccesses};
use super::consistency::psc::PscSearch;
use super::consistency::{rc11, sc};
use super::event::{Access, Event, EventId, INIT, LocationId, NONE};
use super::total_order::TotalOrder;
use super::views::Views;
use crate::op::ThreadId;

/// An execution graph.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) model: Model,
    /// All events, blocked reads among them. Each event comes after its predecessors in `po` and `rf`, so that an execution can
    /// make the events in this order.
    pub(crate) events: Vec<Event>,
    /// The links of each event to other accesses of its location, by [`EventId`].
    pub(super) links: Vec<Links>,
    /// The events of each thread in program order, without blocked reads.
    pub(crate) threads: Vec<Vec<EventId>>,
    /// The accesses of each location, by [`LocationId`].
    pub(super) locations: Vec<LocationAccesses>,
    /// The symmetric predecessor of each thread (see [`symmetry`](super::consistency::symmetry)).
    pub(super) symmetric_predecessors: Vec<Option<ThreadId>>,
    /// All events, blocked reads among them, in the order of their stamps.
    pub(crate) by_stamp: Vec<EventId>,
    /// A total order of the events, which makes checks of sequential consistency short.
    pub(super) order: TotalOrder,
    /// A stamp that is greater than those of all events.
    pub(super) next_stamp: u32,
    /// The number of sequentially consistent accesses and fences.
    pub(super) sc: usize,
    /// The number of blocked reads in `events`.
    pub(crate) blocked_reads: usize,
    /// The length of each view: at least the number of threads.
    pub(crate) width: usize,
    /// The prefix of each event in the sense of TruSt: all events that it depends on by `po`, `rf`, spawns, joins and symmetry,
    /// itself included.
    pub(crate) prefix: Views,
    /// The events that happen before each event in RC11, itself included. Empty under SC, as are the following views.
    pub(super) hb: Views,
    /// The events that happen before an acquire that reads from the event.
    pub(super) released: Views,
    /// The events that happen before an acquire fence after the event.
    pub(super) acquirable: Views,
    /// The events that happen before the last release fence of the event's thread.
    pub(super) fenced: Views,
}

/// Buffers of the graph's algorithms, kept to save allocations.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) stack: Vec<EventId>,
    pub(super) marks: Vec<u64>,
    pub(super) view: Vec<u32>,
    /// For each event of a revisited graph its id in the new graph, or [`NONE`].
    pub(super) new_ids: Vec<EventId>,
    pub(super) psc: PscSearch,
}

impl Graph {
    pub(crate) fn new(model: Model) -> Graph {
        let mut graph = Graph {
            model,
            events: Vec::new(),
            links: Vec::new(),
            threads: Vec::new(),
            locations: Vec::new(),
            symmetric_predecessors: Vec::new(),
            by_stamp: Vec::new(),
            order: TotalOrder::default(),
            next_stamp: 0,
            sc: 0,
            blocked_reads: 0,
            width: 4,
            prefix: Views::default(),
            hb: Views::default(),
            released: Views::default(),
            acquirable: Views::default(),
            fenced: Views::default(),
        };
        graph.clear();
        graph
    }

    /// Removes all events. Initial values and symmetric predecessors stay.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.links.clear();
        self.by_stamp.clear();
        self.order.clear();
        self.next_stamp = 0;
        self.sc = 0;
        self.blocked_reads = 0;
        self.threads.iter_mut().for_each(Vec::clear);
        self.locations.iter_mut().for_each(LocationAccesses::clear);
        let width = self.width;
        self.views().for_each(|views| views.clear(width));
    }

    fn views(&mut self) -> impl Iterator<Item = &mut Views> {
        [&mut self.prefix, &mut self.hb, &mut self.released, &mut self.acquirable, &mut self.fenced]
            .into_iter()
    }

    #[inline]
    pub(crate) fn event(&self, id: EventId) -> &Event {
        &self.events[id as usize]
    }

    /// The number of events, blocked reads included.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The last event of a thread.
    #[inline]
    pub(crate) fn last_of(&self, thread: ThreadId) -> Option<EventId> {
        self.threads.get(usize::from(thread))?.last().copied()
    }

    /// The number of events of a thread.
    pub(crate) fn events_of(&self, thread: ThreadId) -> u32 {
        self.threads.get(usize::from(thread)).map_or(0, |events| events.len() as u32)
    }

    /// The hash of the values that the thread of an event had read before it.
    pub(crate) fn reads_hash_before(&self, event: &Event) -> u64 {
        let before = self.threads[usize::from(event.thread)][..event.po as usize].last();
        before.map_or(0, |&before| self.event(before).reads_hash)
    }

    /// The hash of all values that a thread has read.
    pub(crate) fn reads_hash_of(&self, thread: ThreadId) -> u64 {
        self.last_of(thread).map_or(0, |last| self.event(last).reads_hash)
    }

    /// Appends an event, and gives it a stamp unless it has one. A write gets the position `co_index` in modification order.
    pub(crate) fn push(&mut self, mut event: Event, co_index: usize) -> EventId {
        let id = self.events.len() as EventId;
        let thread = usize::from(event.thread);
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        if self.width <= thread {
            let width = (thread + 1).next_power_of_two();
            self.width = width;
            self.views().for_each(|views| views.widen(width));
        }
        event.po = self.threads[thread].len() as u32;
        event.reads_hash = event.reads_hash_after(self.reads_hash_of(event.thread));
        if event.stamp == NONE {
            event.stamp = self.next_stamp;
            self.next_stamp += 1;
            self.by_stamp.push(id);
        } else {
            self.next_stamp = self.next_stamp.max(event.stamp + 1);
            let at = self.by_stamp.partition_point(|&other| self.event(other).stamp <= event.stamp);
            self.by_stamp.insert(at, id);
        }
        self.order_if_last(&event, co_index);
        let last = self.threads[thread].last().copied();
        self.push_views(&event, last.map(|last| last as usize));
        self.links.push(Links::NONE);
        if event.location != NONE {
            self.link(id, &event, co_index);
        }
        self.sc += usize::from(rc11::is_sc(&event));
        match event.blocked {
            true => self.blocked_reads += 1,
            false => self.threads[thread].push(id),
        }
        self.events.push(event);
        id
    }

    /// Removes all but the first `len` events.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.events.len() > len {
            let event = self.events.pop().expect("there are more than `len` events");
            let id = self.events.len() as EventId;
            self.order.pop(id, &event);
            if let Some(at) = self.by_stamp.iter().rposition(|&other| other == id) {
                self.by_stamp.remove(at);
            }
            if event.location != NONE {
                self.unlink(id, &event);
            }
            self.links.pop();
            self.sc -= usize::from(rc11::is_sc(&event));
            match event.blocked {
                true => self.blocked_reads -= 1,
                false => _ = self.threads[usize::from(event.thread)].pop(),
            }
        }
        self.views().for_each(|views| views.truncate(len));
        self.next_stamp = self.by_stamp.last().map_or(0, |&last| self.event(last).stamp + 1);
    }

    /// The initial value of a location.
    pub(crate) fn init(&self, location: LocationId) -> u64 {
        self.value(location, INIT)
    }

    /// Sets the initial value of a location.
    pub(crate) fn set_init(&mut self, location: LocationId, value: u64) {
        self.location_mut(location).init = value;
    }

    pub(super) fn location_mut(&mut self, location: LocationId) -> &mut LocationAccesses {
        if self.locations.len() <= location as usize {
            self.locations.resize_with(location as usize + 1, LocationAccesses::default);
        }
        &mut self.locations[location as usize]
    }

    /// Whether the memory model allows the graph, and symmetric threads are in canonical order. Both must have held before
    /// `changed` was added.
    pub(crate) fn is_consistent(&mut self, changed: EventId, scratch: &mut Scratch) -> bool {
        self.is_canonical(changed)
            && match self.model {
                Model::Sc => sc::is_consistent(self, changed, scratch),
                Model::Rc11 => rc11::is_consistent(self, changed, scratch),
            }
    }

    /// Visits the immediate predecessors of an event in `po ∪ rf ∪ co ∪ fr`, and, for a final decrement, all other decrements.
    /// Sequential consistency requires that the transitive closure of this relation has no cycle.
    pub(super) fn for_each_predecessor(&self, id: EventId, mut visit: impl FnMut(EventId)) {
        let event = self.event(id);
        if event.po > 0 {
            visit(self.threads[usize::from(event.thread)][event.po as usize - 1]);
        }
        if let Some(source) = event.source() {
            visit(source);
        }
        if event.is_final_decrement() {
            self.decrements(event.location)
                .iter()
                .filter(|&&other| other != id)
                .for_each(|&other| visit(other));
        }
        if event.is_in_co() {
            let co_index = self.co_index(event.location, id);
            let before = self.write_at(event.location, co_index - 1);
            if before != INIT {
                visit(before);
            }
            for read in self.readers(event.location, before) {
                if read != id && !self.event(read).blocked {
                    visit(read);
                }
            }
        }
    }

    /// The decrements of the reference count at a location.
    pub(crate) fn decrements(&self, location: LocationId) -> &[EventId] {
        self.locations.get(location as usize).map_or(&[], |location| &location.decrements)
    }

    fn link(&mut self, id: EventId, event: &Event, co_index: usize) {
        if event.reads() {
            self.link_read(id, event);
        }
        if event.is_in_co() {
            self.link_write(id, event, co_index);
        }
        if event.access == Access::Decrement {
            self.location_mut(event.location).decrements.push(id);
        }
    }

    /// Undoes [`Graph::link`] of the last event.
    fn unlink(&mut self, id: EventId, event: &Event) {
        if event.is_in_co() {
            self.unlink_write(id, event);
        }
        if event.reads() {
            self.unlink_read(id, event);
        }
        if event.access == Access::Decrement {
            self.locations[event.location as usize].decrements.pop();
        }
    }
}
