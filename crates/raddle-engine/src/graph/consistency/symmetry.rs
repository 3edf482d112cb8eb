//! Symmetry reduction, after SPORE (Kokologiannakis, Marmanis and Vafeiadis, PLDI 2024).
//!
//! Threads are *symmetric* if they run the same code and the rest of the program treats them the same. Exchanging them in an
//! execution gives another execution that shows nothing new. Of these executions only the *canonical* one is explored.
//!
//! Symmetric threads form a chain, in which each thread but the first has a *symmetric predecessor*. A thread and its predecessor
//! are *indistinguishable* as long as both have read from the same writes and written nothing. While they are, the predecessor goes
//! first: each event of the thread comes after the predecessor's event at the same index. Every execution has this form if, among
//! indistinguishable threads, the one that goes first is called the predecessor. At the first event that distinguishes them, the
//! predecessor must come first in modification order: it read from the earlier write, or wrote earlier. Under weak memory, earlier
//! in modification order is not earlier in time; there the predecessor may read from the later write if the thread's event depends
//! on the predecessor's.
//!
//! To the search, going first is like reads-from: the prefix of a thread's event contains the prefix of the predecessor's event. So
//! a revisit never deletes the predecessor's event and keeps the thread's; and like consistency, being canonical is preserved by
//! prefixes and by maximal extensions. So no canonical graph is lost, and none is reached twice. Under SC exactly one execution of
//! each class is canonical. Under weak memory it can be more than one.
//!
//! Deviations from SPORE:
//!
//! - Symmetry is promised by the user, not derived from the code. An execution that contradicts the promise is noticed
//!   ([`Graph::breaks_symmetry`]): indistinguishable threads make different accesses, or an event comes after the join of one
//!   symmetric thread and before the join of another.
//! - Threads may differ in events that depend on reference counts: decrements, and the fence after the final one. Where the
//!   thread makes more of these than the predecessor made before it ended, the thread no longer waits for its predecessor.

use std::mem::discriminant;

use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::{Graph, covers};
use crate::op::ThreadId;

/// The event of the symmetric predecessor that comes before an event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymmetricPrefix {
    /// None: the thread has no symmetric predecessor, or is distinguishable from it.
    None,
    /// An event that the predecessor has not made yet.
    Missing,
    /// This event.
    Event(EventId),
}

impl Graph {
    /// Sets the symmetric predecessor of a thread.
    pub(crate) fn set_symmetric_predecessor(&mut self, thread: ThreadId, predecessor: Option<ThreadId>) {
        if predecessor.is_none() && self.symmetric_predecessor(thread).is_none() {
            return;
        }
        if self.symmetric_predecessors.len() <= usize::from(thread) {
            self.symmetric_predecessors.resize(usize::from(thread) + 1, None);
        }
        self.symmetric_predecessors[usize::from(thread)] = predecessor;
    }

    pub(crate) fn symmetric_predecessor(&self, thread: ThreadId) -> Option<ThreadId> {
        *self.symmetric_predecessors.get(usize::from(thread))?
    }

    /// The event of the symmetric predecessor that comes before the event of the thread at index `po`.
    pub(crate) fn symmetric_prefix(&self, thread: ThreadId, po: u32) -> SymmetricPrefix {
        let Some(predecessor) = self.symmetric_predecessor(thread) else { return SymmetricPrefix::None };
        let (own, before) = (self.events_in(thread), self.events_in(predecessor));
        let indistinguishable = before.len() >= po as usize
            && own
                .iter()
                .zip(before)
                .take(po as usize)
                .all(|(&own, &before)| self.stay_indistinguishable(before, own));
        match before.get(po as usize) {
            _ if !indistinguishable => SymmetricPrefix::None,
            Some(&event) => SymmetricPrefix::Event(event),
            None => SymmetricPrefix::Missing,
        }
    }

    /// Whether the next event of the thread has to wait for its symmetric predecessor.
    pub(crate) fn awaits_symmetric_predecessor(&self, thread: ThreadId) -> bool {
        self.symmetric_prefix(thread, self.events_of(thread)) == SymmetricPrefix::Missing
    }

    /// Whether an event is in canonical order with the event of the symmetric predecessor.
    pub(crate) fn is_canonical(&self, id: EventId) -> bool {
        let event = self.event(id);
        let SymmetricPrefix::Event(before) = self.symmetric_prefix(event.thread, event.po) else {
            return true;
        };
        if !self.are_comparable(before, id) {
            return true;
        }
        let co_index = |id| {
            let event = self.event(id);
            self.co_index(event.location, if event.reads() { event.rf } else { id })
        };
        co_index(before) <= co_index(id) || self.depends_on_predecessor(event, before)
    }

    /// Whether a thread and its symmetric predecessor, indistinguishable so far, still are after these events.
    fn stay_indistinguishable(&self, before: EventId, id: EventId) -> bool {
        let (a, b) = (self.event(before), self.event(id));
        if a.location == NONE && b.location == NONE {
            return matches!((a.access, b.access), (Access::Begin, Access::Begin))
                || (a.access == Access::Fence && b.access == Access::Fence);
        }
        self.are_comparable(before, id) && a.reads() && !a.writes() && !b.writes() && a.rf == b.rf
    }

    /// Whether two events are accesses of the same kind to the same location.
    fn are_comparable(&self, before: EventId, id: EventId) -> bool {
        let (a, b) = (self.event(before), self.event(id));
        let accesses_memory = |event: &Event| event.reads() || event.writes();
        a.location != NONE
            && a.location == b.location
            && discriminant(&a.access) == discriminant(&b.access)
            && accesses_memory(a)
            && accesses_memory(b)
    }

    /// Whether an event depends, by program order or reads-from, on the event `before` of the symmetric predecessor, or on the
    /// event of an earlier thread of the chain that is indistinguishable from the predecessor there.
    fn depends_on_predecessor(&self, event: &Event, before: EventId) -> bool {
        let own = self.events_in(event.thread)[..event.po as usize].last().copied();
        let source = event.source();
        let depends_on = |other: EventId| {
            let covers = |id: EventId| covers(self.prefix.row(id as usize), self.event(other));
            own.is_some_and(covers) || source.is_some_and(covers)
        };
        let previous = |&id: &EventId| match self.symmetric_prefix(self.event(id).thread, event.po) {
            SymmetricPrefix::Event(before) => {
                Some(before).filter(|&before| self.stay_indistinguishable(before, id))
            }
            _ => None,
        };
        std::iter::successors(Some(before), previous).any(depends_on)
    }

    /// Whether a new event contradicts the promise that threads are symmetric.
    pub(crate) fn breaks_symmetry(&self, event: &Event) -> bool {
        let is_acquire_fence = event.access == Access::Fence && !event.order.releases();
        if self.symmetric_predecessors.is_empty() || is_acquire_fence {
            return false;
        }
        let differs = match self.symmetric_prefix(event.thread, self.events_of(event.thread)) {
            // The thread leaves its scope, and the predecessor did something else before that.
            SymmetricPrefix::Event(before) if event.access == Access::LeaveScope => {
                !depends_on_refcounts(self.event(before).access)
            }
            _ if depends_on_refcounts(event.access) => false,
            SymmetricPrefix::None => false,
            SymmetricPrefix::Missing => true,
            SymmetricPrefix::Event(before) => {
                let Event { thread, po, access, .. } = *self.event(before);
                let rest = self.events_in(thread)[po as usize..].iter().map(|&id| self.event(id).access);
                let same = |access: Access| discriminant(&access) == discriminant(&event.access);
                match access {
                    // After it left its scope, the predecessor still runs the destructors of its thread-locals.
                    Access::LeaveScope => rest
                        .into_iter()
                        .find(|&access| !depends_on_refcounts(access))
                        .is_none_or(|access| !same(access)),
                    access => !depends_on_refcounts(access) && !same(access),
                }
            }
        };
        differs || self.separates_symmetric_joins(event)
    }

    /// Whether a thread that has ended is indistinguishable from its symmetric predecessor, which made more events.
    pub(crate) fn ended_before_symmetric_predecessor(&self, thread: ThreadId) -> bool {
        let po = self.events_of(thread);
        let rest = match self.symmetric_prefix(thread, po) {
            SymmetricPrefix::Event(before) => &self.events_in(self.event(before).thread)[po as usize..],
            _ => &[],
        };
        po > 0 && rest.iter().any(|&id| !depends_on_refcounts(self.event(id).access))
    }

    /// Whether a new event follows the join of one of two symmetric threads, but not the join of the other.
    fn separates_symmetric_joins(&self, event: &Event) -> bool {
        // The join of a scoped thread may include the steps by which that thread leaves its scope.
        if joined_by(event.access).is_some() || event.access == Access::LeaveScope {
            return false;
        }
        let latest = || self.events_in(event.thread).iter().rev().map(|&id| self.event(id).access);
        let belongs_to_join = |access: &Access| {
            joined_by(*access).is_some() || matches!(access, Access::Fence | Access::LeaveScope)
        };
        let joins = || latest().take_while(belongs_to_join).filter_map(joined_by);
        let joined = |thread: ThreadId| joins().any(|joined| joined == thread);
        (0..self.symmetric_predecessors.len() as ThreadId).any(|thread| {
            let predecessor = self.symmetric_predecessor(thread);
            predecessor.is_some_and(|predecessor| joined(thread) != joined(predecessor))
        })
    }

    fn events_in(&self, thread: ThreadId) -> &[EventId] {
        self.threads.get(usize::from(thread)).map_or(&[], |events| events)
    }
}

/// The thread whose end the access waits for.
fn joined_by(access: Access) -> Option<ThreadId> {
    match access {
        Access::Join(thread) | Access::EndScope(thread) => Some(thread),
        _ => None,
    }
}

/// Whether a thread makes the access or not, depending on which thread drops the last reference to a value.
fn depends_on_refcounts(access: Access) -> bool {
    matches!(access, Access::Fence | Access::Decrement | Access::LeaveScope)
}
