//! The total order that shows that a graph is sequentially consistent: a linear extension of `po ∪ rf ∪ co ∪ fr`.
//!
//! It makes the search for a cycle short. An event that comes last in every respect, as a maximal extension does, comes last in the
//! order. Another event has to come before one that is there already. A cycle through it can only go through events between that one
//! and the end of the order. If there is none, those of them that must come before the new event are moved to the front.
//!
//! Removing the last event of a graph relates the others as before, so the order without that event is one of the rest. The same holds
//! for the events that a backward revisit keeps.

use super::Graph;
use super::event::{Access, Event, EventId, NONE};

/// A total order of the first events of a graph: of all, if the graph is known to be sequentially consistent.
#[derive(Clone, Debug, Default)]
pub(super) struct TotalOrder {
    /// The events in their order, without blocked reads.
    pub(super) events: Vec<EventId>,
    /// The number of leading events of the graph that are in the order, blocked reads included.
    covered: usize,
}

impl TotalOrder {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.covered = 0;
    }

    /// Whether all events of a graph with `len` events are in the order.
    #[inline]
    pub(super) fn is_complete(&self, len: usize) -> bool {
        self.covered == len
    }

    /// Notes that all events of a graph with `len` events are in the order.
    pub(super) fn complete(&mut self, len: usize) {
        self.covered = len;
    }

    /// Removes the last event of the graph.
    pub(super) fn pop(&mut self, id: EventId, event: &Event) {
        if id as usize >= self.covered {
            return;
        }
        self.covered = id as usize;
        if !event.blocked
            && let Some(at) = self.events.iter().rposition(|&other| other == id)
        {
            self.events.remove(at);
        }
    }
}

impl Graph {
    /// Puts an event at the end of the order before it is added with this co-index, if no event has to come after it.
    pub(super) fn order_if_last(&mut self, event: &Event, co_index: usize) {
        let id = self.events.len();
        if !self.order.is_complete(id) || !self.comes_last(event, co_index) {
            return;
        }
        if !event.blocked {
            self.order.events.push(id as EventId);
        }
        self.order.complete(id + 1);
    }

    /// Whether a new event comes after all others.
    fn comes_last(&self, event: &Event, co_index: usize) -> bool {
        let location = event.location;
        match event.access {
            _ if event.blocked || location == NONE => true,
            Access::Decrement => {
                !self.decrements(location).iter().any(|&other| self.event(other).is_final_decrement())
            }
            _ if event.writes() => co_index > self.co(location).len(),
            _ => !event.reads() || event.rf == self.co_max(location),
        }
    }

    /// The position in the order of the first event that has to come after `id`, which is the last event of the graph.
    pub(super) fn first_after(&self, id: EventId) -> Option<usize> {
        let event = self.event(id);
        let position = |other: EventId| self.order.events.iter().position(|&at| at == other);
        if event.access == Access::Decrement {
            let others = self.decrements(event.location).iter().copied().filter(|&other| other != id);
            return others.filter(|&other| self.event(other).is_final_decrement()).find_map(position);
        }
        let write = if event.is_in_co() { id } else { event.rf };
        let next = self.co(event.location).get(self.co_index(event.location, write));
        next.and_then(|&next| position(next))
    }

    /// Puts the last event of the graph at this position of the order, after the events that `is_before` takes, all of which come
    /// behind that position.
    pub(super) fn order_at(&mut self, position: usize, id: EventId, is_before: impl Fn(EventId) -> bool) {
        let events = &mut self.order.events;
        events.push(id);
        let mut next = position;
        for at in position..events.len() {
            if events[at] == id || is_before(events[at]) {
                events[next..=at].rotate_right(1);
                next += 1;
            }
        }
        self.order.complete(self.events.len());
    }
}
