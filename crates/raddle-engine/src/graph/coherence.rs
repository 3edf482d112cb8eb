//! Reads-from and modification order of each location.
//!
//! A write is named by its [`EventId`], the initial write by [`INIT`]. Its *co-index* is its position in modification order: 0 for
//! the initial write, and from 1 for the others.

use super::Graph;
use super::event::{Event, EventId, INIT, LocationId, NONE, event_id};
use super::views::covers;
use crate::op::ThreadId;

/// The accesses of one location.
#[derive(Clone, Debug)]
pub(super) struct LocationAccesses {
    /// The initial value.
    pub(super) init: u64,
    /// The writes in modification order, without the initial one. The write at index `i` has the co-index `i + 1`.
    pub(super) co: Vec<EventId>,
    /// The reads, read-modify-writes and blocked reads among them.
    pub(super) reads: Vec<EventId>,
    /// The latest event that reads the initial value, or [`NONE`].
    latest_reader_of_init: EventId,
    /// For each thread that has read the location its latest read, or [`NONE`] if that was removed.
    latest_reads: Vec<(ThreadId, EventId)>,
    /// The decrements, if the location is a reference count.
    pub(super) decrements: Vec<EventId>,
}

impl Default for LocationAccesses {
    fn default() -> LocationAccesses {
        LocationAccesses {
            init: 0,
            co: Vec::new(),
            reads: Vec::new(),
            latest_reader_of_init: NONE,
            latest_reads: Vec::new(),
            decrements: Vec::new(),
        }
    }
}

impl LocationAccesses {
    /// Removes all accesses. The initial value stays.
    pub(super) fn clear(&mut self) {
        self.co.clear();
        self.reads.clear();
        self.latest_reader_of_init = NONE;
        self.latest_reads.clear();
        self.decrements.clear();
    }
}

/// Links of an event to other accesses of its location. An id is [`NONE`] where there is no such access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    /// The co-index of a write; 0 for other events.
    co_index: u32,
    /// For a write: the latest event that reads from it.
    latest_reader: EventId,
    /// For a read: the previous one that reads from the same write.
    previous_reader: EventId,
    /// For a read: the previous one of its thread at this location.
    previous_read: EventId,
}

impl Links {
    pub(super) const NONE: Links =
        Links { co_index: 0, latest_reader: NONE, previous_reader: NONE, previous_read: NONE };
}

impl Graph {
    /// The writes of a location in modification order, without the initial one.
    pub(crate) fn co(&self, location: LocationId) -> &[EventId] {
        self.locations.get(location as usize).map_or(&[], |location| &location.co)
    }

    /// The reads of a location.
    pub(crate) fn reads(&self, location: LocationId) -> &[EventId] {
        self.locations.get(location as usize).map_or(&[], |location| &location.reads)
    }

    /// Whether a location has reads or writes.
    pub(crate) fn is_accessed(&self, location: LocationId) -> bool {
        !self.co(location).is_empty() || !self.reads(location).is_empty()
    }

    /// The value that a write of the location wrote.
    pub(crate) fn value(&self, location: LocationId, write: EventId) -> u64 {
        match write {
            INIT => self.locations.get(location as usize).map_or(0, |location| location.init),
            write => self.event(write).written.expect("a read's source is a write"),
        }
    }

    /// The co-index of a write.
    #[inline]
    pub(crate) fn co_index(&self, location: LocationId, write: EventId) -> usize {
        match write {
            INIT => 0,
            write => {
                let co_index = self.links[write as usize].co_index as usize;
                debug_assert_eq!(self.write_at(location, co_index), write);
                co_index
            }
        }
    }

    /// The write with a co-index.
    #[inline]
    pub(crate) fn write_at(&self, location: LocationId, co_index: usize) -> EventId {
        if co_index == 0 { INIT } else { self.co(location)[co_index - 1] }
    }

    /// The last write in modification order.
    pub(crate) fn co_max(&self, location: LocationId) -> EventId {
        self.co(location).last().copied().unwrap_or(INIT)
    }

    /// The value of the last write in modification order.
    pub(crate) fn co_max_value(&self, location: LocationId) -> u64 {
        self.value(location, self.co_max(location))
    }

    /// The read-modify-write that reads from the write with this co-index. By atomicity it is the next in modification order.
    pub(crate) fn rmw_successor(&self, location: LocationId, co_index: usize) -> Option<EventId> {
        let next = *self.co(location).get(co_index)?;
        self.event(next).is_rmw().then_some(next)
    }

    /// The events that read from a write, latest first, blocked reads among them.
    pub(super) fn readers(&self, location: LocationId, write: EventId) -> impl Iterator<Item = EventId> {
        let latest = match write {
            INIT => {
                self.locations.get(location as usize).map_or(NONE, |location| location.latest_reader_of_init)
            }
            write => self.links[write as usize].latest_reader,
        };
        std::iter::successors(event_id(latest), move |&id| event_id(self.links[id as usize].previous_reader))
    }

    /// Whether a read of the location is not covered by the view.
    pub(super) fn has_read_outside(&self, location: LocationId, view: &[u32]) -> bool {
        let reads = self.locations.get(location as usize).map_or(&[][..], |location| &location.latest_reads);
        reads.iter().any(|&(_, read)| read != NONE && !covers(view, self.event(read)))
    }

    /// The lowest co-index that the next event of a thread may read from. A write of the thread comes after that co-index.
    pub(crate) fn coherence_floor(&self, thread: ThreadId, location: LocationId) -> usize {
        if self.threads.len() <= usize::from(thread) {
            return 0;
        }
        match self.coherence_view(thread, self.events_of(thread)) {
            Some(view) => self.coherence_floor_in(view, location),
            None => 0,
        }
    }

    /// The highest co-index of a write that the view covers, or of which it covers a reader.
    pub(super) fn coherence_floor_in(&self, view: &[u32], location: LocationId) -> usize {
        let is_covered = |id: EventId| {
            let event = self.event(id);
            !event.blocked && covers(view, event)
        };
        let is_known = |&write: &EventId| is_covered(write) || self.readers(location, write).any(is_covered);
        self.co(location).iter().rposition(is_known).map_or(0, |index| index + 1)
    }

    pub(super) fn link_write(&mut self, id: EventId, event: &Event, co_index: usize) {
        self.location_mut(event.location).co.insert(co_index - 1, id);
        self.renumber(event.location, co_index);
    }

    /// Undoes [`Graph::link_write`] of the last event.
    pub(super) fn unlink_write(&mut self, id: EventId, event: &Event) {
        let co_index = self.links[id as usize].co_index as usize;
        self.locations[event.location as usize].co.remove(co_index - 1);
        self.renumber(event.location, co_index);
    }

    /// Sets the co-indices of all writes from this one on.
    fn renumber(&mut self, location: LocationId, from: usize) {
        let Graph { locations, links, .. } = self;
        for (index, &write) in locations[location as usize].co.iter().enumerate().skip(from - 1) {
            links[write as usize].co_index = index as u32 + 1;
        }
    }

    pub(super) fn link_read(&mut self, id: EventId, event: &Event) {
        self.location_mut(event.location).reads.push(id);
        let Graph { locations, links, .. } = self;
        let location = &mut locations[event.location as usize];
        let latest_reader = match event.rf {
            INIT => &mut location.latest_reader_of_init,
            source => &mut links[source as usize].latest_reader,
        };
        let previous_reader = std::mem::replace(latest_reader, id);
        let mut latest_reads = location.latest_reads.iter_mut();
        let previous_read = match latest_reads.find(|(thread, _)| *thread == event.thread) {
            Some((_, latest)) => std::mem::replace(latest, id),
            None => {
                location.latest_reads.push((event.thread, id));
                NONE
            }
        };
        links[id as usize] = Links { previous_reader, previous_read, ..Links::NONE };
    }

    /// Undoes [`Graph::link_read`] of the last event.
    pub(super) fn unlink_read(&mut self, id: EventId, event: &Event) {
        let Graph { locations, links, .. } = self;
        let location = &mut locations[event.location as usize];
        debug_assert_eq!(location.reads.last(), Some(&id));
        location.reads.pop();
        let Links { previous_reader, previous_read, .. } = links[id as usize];
        match event.rf {
            INIT => location.latest_reader_of_init = previous_reader,
            source => links[source as usize].latest_reader = previous_reader,
        }
        let mut latest_reads = location.latest_reads.iter_mut();
        if let Some((_, latest)) = latest_reads.find(|(thread, _)| *thread == event.thread) {
            *latest = previous_read;
        }
    }
}
