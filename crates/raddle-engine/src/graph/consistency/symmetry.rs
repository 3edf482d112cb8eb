//! Threads that are alike.
//!
//! Threads that do the same, and that the rest of the program treats alike, can be exchanged in an execution: the result is
//! another execution that shows nothing new. Of those only one is explored, that in which the threads are in *order*.
//!
//! Threads that are alike form a chain, each but the first with a *leader*. A thread is tied to its leader as long as both have
//! read from the same writes and written nothing. While it is tied, the leader goes first: each event comes after the leader's event
//! of the same number. Any execution can be made in this way, if each time it is the leader who is called so among those that
//! are tied. Where the two are tied no longer, because they read different writes or write, the leader must have come first: it
//! read the older write, or wrote first. Under weak memory, older is not earlier; there the leader may read the newer write if
//! its event is needed for that of the thread.
//!
//! To the search, going first is like reading from: what the thread does depends on what its leader did (the prefix of an
//! event contains that of the leader's event). So a revisit never takes away the leader's event and keeps the other, and being in
//! order is, like consistency, kept by prefixes and by events that are added last: no graph that is in order is lost, none is
//! made twice. Under sequential consistency, exactly one of the executions that can be exchanged is in order; under weak memory it
//! can be more than one.
//!
//! The idea of exploring threads in order is that of SPORE (Kokologiannakis, Marmanis and Vafeiadis, PLDI 2024).
//!
//! That threads are alike is promised, not known. What contradicts it in an execution is noticed ([`Graph::tells_apart`]): tied
//! threads that do different things, or something that happens after the end of one was waited for and before that of another.
//! Handles of an `Arc` that are dropped say nothing, nor the fence that whoever drops the last makes. Where that is more than the leader has done
//! before it ended, the thread is let go.

use std::mem::discriminant;

use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::{Graph, covers};
use crate::op::ThreadId;

/// What comes before an event of a thread because its leader goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymmetricPrefix {
    /// Nothing: the thread is not tied to another.
    None,
    /// What the leader has not done yet.
    Missing,
    /// This event of the leader.
    Event(EventId),
}

impl Graph {
    /// Says which thread goes first of two that are alike.
    pub(crate) fn set_leader(&mut self, thread: ThreadId, leader: Option<ThreadId>) {
        if leader.is_none() && self.leader(thread).is_none() {
            return;
        }
        if self.leaders.len() <= usize::from(thread) {
            self.leaders.resize(usize::from(thread) + 1, None);
        }
        self.leaders[usize::from(thread)] = leader;
    }

    pub(crate) fn leader(&self, thread: ThreadId) -> Option<ThreadId> {
        *self.leaders.get(usize::from(thread))?
    }

    /// What comes before the event with this number of the thread.
    pub(crate) fn forerunner(&self, thread: ThreadId, po: u32) -> SymmetricPrefix {
        let Some(leader) = self.leader(thread) else { return SymmetricPrefix::None };
        let (own, leads) = (self.events_in(thread), self.events_in(leader));
        let tied = leads.len() >= po as usize
            && own.iter().zip(leads).take(po as usize).all(|(&own, &leads)| self.ties(leads, own));
        match leads.get(po as usize) {
            _ if !tied => SymmetricPrefix::None,
            Some(&event) => SymmetricPrefix::Event(event),
            None => SymmetricPrefix::Missing,
        }
    }

    /// Whether the thread has to wait for its leader.
    pub(crate) fn is_held(&self, thread: ThreadId) -> bool {
        self.forerunner(thread, self.events_of(thread)) == SymmetricPrefix::Missing
    }

    /// Whether the event is in order with that of its leader.
    pub(crate) fn is_in_order(&self, id: EventId) -> bool {
        let event = self.event(id);
        let SymmetricPrefix::Event(before) = self.forerunner(event.thread, event.po) else { return true };
        if !self.can_be_compared(before, id) {
            return true;
        }
        let rank = |id| {
            let event = self.event(id);
            self.rank(event.place, if event.reads() { event.rf } else { id })
        };
        rank(before) <= rank(id) || self.needs(event, before)
    }

    /// Whether two threads that are alike, and tied so far, are still tied after these events.
    fn ties(&self, leads: EventId, follows: EventId) -> bool {
        let (a, b) = (self.event(leads), self.event(follows));
        if a.place == NONE && b.place == NONE {
            return matches!((a.access, b.access), (Access::Begin, Access::Begin))
                || (a.access == Access::Fence && b.access == Access::Fence);
        }
        self.can_be_compared(leads, follows) && a.reads() && !a.writes() && !b.writes() && a.rf == b.rf
    }

    fn can_be_compared(&self, leads: EventId, follows: EventId) -> bool {
        let (a, b) = (self.event(leads), self.event(follows));
        let accesses_memory = |event: &Event| event.reads() || event.writes();
        a.place != NONE
            && a.place == b.place
            && discriminant(&a.access) == discriminant(&b.access)
            && accesses_memory(a)
            && accesses_memory(b)
    }

    /// Whether an event cannot be without the leader's, or without one that is tied to that.
    fn needs(&self, event: &Event, before: EventId) -> bool {
        let own = self.events_in(event.thread)[..event.po as usize].last().copied();
        let source = (event.rf < NONE).then_some(event.rf);
        let follows = |other: EventId| {
            let covers = |id: EventId| covers(self.prefix.row(id as usize), self.event(other));
            own.is_some_and(covers) || source.is_some_and(covers)
        };
        let one_before = |&id: &EventId| match self.forerunner(self.event(id).thread, event.po) {
            SymmetricPrefix::Event(before) => Some(before).filter(|&before| self.ties(before, id)),
            _ => None,
        };
        std::iter::successors(Some(before), one_before).any(follows)
    }

    /// Whether a new event shows that threads are not alike.
    pub(crate) fn tells_apart(&self, event: &Event) -> bool {
        let by_the_way = event.access == Access::Fence && !event.order.releases();
        if self.leaders.is_empty() || by_the_way {
            return false;
        }
        let differs = match self.forerunner(event.thread, self.events_of(event.thread)) {
            // It has done all that the leader has, and that did more.
            SymmetricPrefix::Event(before) if event.access == Access::LeaveScope => {
                !depends_on_handles(self.event(before).access)
            }
            _ if depends_on_handles(event.access) => false,
            SymmetricPrefix::None => false,
            SymmetricPrefix::Missing => true,
            SymmetricPrefix::Event(before) => {
                let Event { thread, po, access, .. } = *self.event(before);
                let rest = self.events_in(thread)[po as usize..].iter().map(|&id| self.event(id).access);
                let same = |access: Access| discriminant(&access) == discriminant(&event.access);
                match access {
                    // Before it, the leader has done all but the destructors of its thread-locals.
                    Access::LeaveScope => rest
                        .into_iter()
                        .find(|&access| !depends_on_handles(access))
                        .is_none_or(|access| !same(access)),
                    access => !depends_on_handles(access) && !same(access),
                }
            }
        };
        differs || self.comes_between_joins(event)
    }

    /// Whether a thread that has ended did the same as its leader, but that went on.
    pub(crate) fn ended_before_leader(&self, thread: ThreadId) -> bool {
        let po = self.events_of(thread);
        let rest = match self.forerunner(thread, po) {
            SymmetricPrefix::Event(before) => &self.events_in(self.event(before).thread)[po as usize..],
            _ => &[],
        };
        po > 0 && rest.iter().any(|&id| !depends_on_handles(self.event(id).access))
    }

    /// Whether the event follows the join of one of two threads that are alike, but not that of the other.
    fn comes_between_joins(&self, event: &Event) -> bool {
        // Whoever joins a thread of a scope may be the one by whom the thread leaves that scope.
        if joined_by(event.access).is_some() || event.access == Access::LeaveScope {
            return false;
        }
        let latest = || self.events_in(event.thread).iter().rev().map(|&id| self.event(id).access);
        let belongs_to_join = |access: &Access| {
            joined_by(*access).is_some() || matches!(access, Access::Fence | Access::LeaveScope)
        };
        let joins = || latest().take_while(belongs_to_join).filter_map(joined_by);
        let joined = |thread: ThreadId| joins().any(|joined| joined == thread);
        (0..self.leaders.len() as ThreadId)
            .any(|thread| self.leader(thread).is_some_and(|leader| joined(thread) != joined(leader)))
    }

    fn events_in(&self, thread: ThreadId) -> &[EventId] {
        self.threads.get(usize::from(thread)).map_or(&[], |events| events)
    }
}

/// The thread whose end is waited for.
fn joined_by(access: Access) -> Option<ThreadId> {
    match access {
        Access::Join(thread) | Access::EndScope(thread) => Some(thread),
        _ => None,
    }
}

/// Whether a thread may do that or not, depending on who has the last handle of an `Arc`, or of the result of a scoped thread.
fn depends_on_handles(access: Access) -> bool {
    matches!(access, Access::Fence | Access::Drop | Access::LeaveScope)
}
