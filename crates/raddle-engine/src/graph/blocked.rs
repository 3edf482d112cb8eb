//! Blocked reads.
//!
//! A thread blocks at an access if the value that it would read does not let it go on: a mutex is locked, or the read is a known
//! spin iteration. If a backward revisit gives a read such a value, or if no thread can go on, the graph holds the access as a
//! *blocked read* ([`Event::blocked`]). Its stamp and its source, the write that the thread would have read from, decide which
//! later writes the thread may still read from, so that no graph is reached twice.

use super::Graph;
use super::event::{Event, EventId, INIT};
use super::views::covers;
use crate::op::ThreadId;

impl Graph {
    /// The latest blocked read of a thread that has made no event since.
    pub(crate) fn blocked_read_of(&self, thread: ThreadId) -> Option<EventId> {
        if self.blocked_reads == 0 {
            return None;
        }
        let po = self.events_of(thread);
        let latest = self.events.iter().rposition(|event| event.thread == thread)?;
        let event = &self.events[latest];
        (event.blocked && event.po == po).then_some(latest as EventId)
    }

    /// Whether the thread of a blocked read may read from a write that was added later. The write must come after the source of
    /// each blocked read at that position of the thread. A write that is independent of one of these sources has revisited the
    /// read in a graph in which the thread did not block there.
    pub(crate) fn blocked_read_may_take(&self, blocked: EventId, write: EventId) -> bool {
        let Event { thread, po, .. } = *self.event(blocked);
        let is_same_access = |event: &&Event| event.blocked && (event.thread, event.po) == (thread, po);
        let mut reads = self.events[..=blocked as usize].iter().filter(is_same_access);
        reads.all(|read| self.source_precedes(read, write))
    }

    /// Whether the source of a blocked read is the write that its thread would have read from just before `write` was added, or
    /// just before that write was added, and so on.
    fn source_precedes(&self, read: &Event, mut write: EventId) -> bool {
        while write != INIT && self.event(write).stamp > read.stamp {
            let prefix = self.prefix.row(write as usize);
            let was_there = |&&other: &&EventId| {
                let event = self.event(other);
                other != write && (event.stamp <= read.stamp || covers(prefix, event))
            };
            write = self.co(read.location).iter().rev().find(was_there).copied().unwrap_or(INIT);
            if write == read.rf {
                return true;
            }
        }
        false
    }
}
