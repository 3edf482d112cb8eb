//! Backward revisits (TruSt, Kokologiannakis, Marmanis, Gladstein and Vafeiadis, POPL 2022).
//!
//! A new write `w` may become the source of an earlier read `r` that it does not depend on. The revisited graph keeps the events
//! that were added before `r`, by their stamps, and the prefix of `w`; all other events are *deleted*. To reach each graph once, a
//! revisit is allowed only if every deleted event, and `r` itself, is a *maximal extension* of the events before it and of the
//! prefix of `w`: then these events are found again after the revisit, and no other graph leads to the same one.
//!
//! The final decrement of a reference count reads, as it were, from all other decrements. Another decrement can be made the final
//! one by a revisit under the same condition.

use raddle_axioms::views::View;

use super::event::{Access, Event, EventId, INIT, LocationId, NONE, event_id};
use super::views::covers;
use super::{Graph, Scratch};

/// The result of a backward revisit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Revisited {
    /// The write in the new graph.
    pub(crate) write: EventId,
    /// The revisited read, which is not in the new graph yet.
    pub(crate) read: Event,
    /// The co-index that the read takes if it writes.
    pub(crate) co_index: usize,
    /// The number of leading events that both graphs share.
    pub(crate) unchanged: usize,
}

impl Graph {
    /// Appends to `found` the reads that a new write `event` may revisit. `prefix` is the prefix of the write, itself included,
    /// and `co_index` the position that it will take in modification order. If the write is a read-modify-write whose source has
    /// an `rmw_successor` already, only revisits that delete the successor are allowed.
    pub(crate) fn revisits(
        &self,
        event: &Event,
        prefix: &[u32],
        co_index: usize,
        rmw_successor: Option<EventId>,
        found: &mut Vec<EventId>,
    ) {
        let co_successor = self.co(event.location).get(co_index - 1).copied();
        let latest_stamp = rmw_successor.map_or(u32::MAX, |successor| self.event(successor).stamp);
        if !self.has_read_outside(event.location, prefix) {
            return;
        }
        for &id in self.by_stamp.iter().rev() {
            let other = self.event(id);
            // The thread of a blocked read has not read yet, and blocks again after the revisit.
            if other.blocked || covers(prefix, other) {
                continue;
            }
            if !self.is_maximal_extension(id, prefix) {
                return;
            }
            if other.location != event.location || !other.reads() || other.stamp > latest_stamp {
                continue;
            }
            // Positions before and after a deleted write lead to the same revisited graph. The last of these positions is the one
            // to revisit from.
            if let Some(successor) = co_successor
                && !event.is_rmw()
                && self.event(successor).stamp > other.stamp
                && !covers(prefix, self.event(successor))
            {
                return;
            }
            let view = self.coherence_view(other.thread, other.po);
            if view.is_none_or(|view| self.coherence_floor_in(view, event.location) < co_index) {
                found.push(id);
            }
        }
    }

    /// Whether an event is a maximal extension of the events with smaller stamps and of `prefix`: a read of the last write in
    /// their modification order, a write at the end of it that none of them reads from, a first alternative, or a decrement that
    /// is final if and only if all others are among them.
    fn is_maximal_extension(&self, id: EventId, prefix: &[u32]) -> bool {
        let event = self.event(id);
        if event.location == NONE {
            return event.read == 0 || !matches!(event.access, Access::Choose(_));
        }
        let is_earlier = |other: EventId| {
            let other = self.event(other);
            other.stamp <= event.stamp || covers(prefix, other)
        };
        if event.access == Access::Decrement {
            let mut others = self.decrements(event.location).iter().filter(|&&other| other != id);
            return match event.is_final_decrement() {
                true => others.all(|&other| is_earlier(other)),
                false => !others.any(|&other| self.event(other).is_final_decrement() && is_earlier(other)),
            };
        }
        if event.is_in_co() && self.readers(event.location, id).any(is_earlier) {
            return false;
        }
        let source = if event.reads() { event.rf } else { id };
        if source != INIT && !is_earlier(source) {
            return false;
        }
        let co_index = self.co_index(event.location, source);
        self.co(event.location)[co_index..].iter().all(|&later| later == id || !is_earlier(later))
    }

    /// Appends to `found` the decrements that can be made the final one instead of `last`, which is the last event of the graph.
    pub(crate) fn alternative_final_decrements(
        &self,
        last: EventId,
        view: &mut Vec<u32>,
        found: &mut Vec<EventId>,
    ) {
        let location = self.event(last).location;
        for &decrement in self.decrements(location).iter().filter(|&&decrement| decrement != last) {
            view.clear();
            view.resize(self.width, 0);
            self.join_prefixes_of_other_decrements(location, decrement, view);
            let stamp = self.event(decrement).stamp;
            let mut later = self.by_stamp.iter().rev().take_while(|&&id| self.event(id).stamp >= stamp);
            let is_independent = !covers(view, self.event(decrement));
            if is_independent
                && later.all(|&id| {
                    let event = self.event(id);
                    event.blocked || covers(view, event) || self.is_maximal_extension(id, view)
                })
            {
                found.push(decrement);
            }
        }
    }

    /// Joins into `view` the prefixes of all decrements of a location but one.
    fn join_prefixes_of_other_decrements(&self, location: LocationId, decrement: EventId, view: &mut [u32]) {
        for &other in self.decrements(location).iter().filter(|&&other| other != decrement) {
            view.include(self.prefix.row(other as usize));
        }
    }

    /// Makes `into` the graph of a backward revisit in which `read` reads from the new write `event`, whose position in this graph
    /// is `co_index`. If `event` is a decrement, `read` is the decrement to become the final one.
    pub(crate) fn revisit(
        &self,
        event: &Event,
        co_index: usize,
        read: EventId,
        into: &mut Graph,
        scratch: &mut Scratch,
    ) -> Revisited {
        let mut prefix = std::mem::take(&mut scratch.view);
        self.prefix_of_next(event.thread, event.rf, &mut prefix);
        if event.access == Access::Decrement {
            self.join_prefixes_of_other_decrements(event.location, read, &mut prefix);
        }
        self.copy_undeleted(read, &prefix, into, &mut scratch.new_ids);
        scratch.view = prefix;
        let new_ids = &scratch.new_ids;
        let unchanged = new_ids.iter().take_while(|&&new| new != NONE).count();
        let location = event.location;
        into.set_init(location, self.init(location));
        // The write is the latest event, although events with smaller stamps follow in the new graph.
        let stamp = into.next_stamp.max(self.next_stamp);
        if event.access == Access::Decrement {
            let write = into.push(Event { stamp, ..event.as_decrement(false) }, 0);
            return Revisited { write, read: self.event(read).as_decrement(true), co_index: 0, unchanged };
        }
        let rf = new_id(new_ids, event.rf);
        let co_index = match event.is_rmw() {
            true => into.co_index(location, rf) + 1,
            false => self.co_index_in_copy(location, co_index, new_ids),
        };
        let write = into.push(Event { rf, stamp, ..*event }, co_index);
        let mut reader = *self.event(read);
        reader.set_source(write, into.value(location, write));
        Revisited { write, read: reader, co_index: into.co_index(location, write) + 1, unchanged }
    }

    /// Makes `into` a copy of the graph without `read`, and without the events with greater stamps that are not in `prefix`.
    fn copy_undeleted(&self, read: EventId, prefix: &[u32], into: &mut Graph, new_ids: &mut Vec<EventId>) {
        new_ids.clear();
        new_ids.resize(self.events.len(), NONE);
        into.width = self.width;
        into.model = self.model;
        into.clear();
        into.symmetric_predecessors.clone_from(&self.symmetric_predecessors);
        let stamp = self.event(read).stamp;
        for (id, event) in self.events.iter().enumerate() {
            let is_deleted = id == read as usize || (event.stamp > stamp && !covers(prefix, event));
            if is_deleted {
                continue;
            }
            if event.location != NONE {
                into.set_init(event.location, self.init(event.location));
            }
            let co_index = match event.is_in_co() {
                true => {
                    let co_index = self.co_index(event.location, id as EventId);
                    self.co_index_in_copy(event.location, co_index, new_ids)
                }
                false => 0,
            };
            let copy = Event { rf: new_id(new_ids, event.rf), ..*event };
            new_ids[id] = into.push(copy, co_index);
        }
        if self.order.is_complete(self.len()) {
            let order = self.order.events.iter().map(|&id| new_ids[id as usize]);
            into.order.clear();
            into.order.events.extend(order.filter(|&id| id != NONE));
            into.order.complete(into.len());
        }
    }

    /// The co-index of a write in a copy of the graph that has only the writes with a new id.
    fn co_index_in_copy(&self, location: LocationId, co_index: usize, new_ids: &[EventId]) -> usize {
        let before = self.co(location)[..co_index - 1].iter();
        1 + before.filter(|&&write| new_ids[write as usize] != NONE).count()
    }
}

/// The id of an event in a copy of its graph. Sentinels stay the same.
fn new_id(new_ids: &[EventId], id: EventId) -> EventId {
    event_id(id).map_or(id, |id| new_ids[id as usize])
}
