//! The engine's queries: which thread goes next, and which can go on.

use super::ModelChecker;
use crate::graph::consistency::preemption_bound::Blocking;
use crate::graph::event::{Access, Event, EventId};
use crate::op::ThreadId;

/// The accesses at which threads are blocked past the end of the graph, by thread.
#[derive(Debug, Default)]
pub(super) struct BlockedRequests(Vec<Option<Event>>);

impl BlockedRequests {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn get(&self, thread: ThreadId) -> Option<&Event> {
        self.0.get(usize::from(thread))?.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.0.iter().flatten()
    }

    pub(super) fn to_vec(&self) -> Vec<Event> {
        self.iter().copied().collect()
    }

    /// Blocks the thread of an event.
    pub(super) fn insert(&mut self, event: Event) {
        let thread = usize::from(event.thread);
        if self.0.len() <= thread {
            self.0.resize(thread + 1, None);
        }
        self.0[thread] = Some(event);
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        if let Some(event) = self.0.get_mut(usize::from(thread)) {
            *event = None;
        }
    }
}

impl ModelChecker {
    /// The thread of the next event of the graph or of the schedule. None past their end.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<ThreadId> {
        if let Some(script) = self.replay.as_ref().or(self.beginning.as_ref()) {
            return script.thread(self.made);
        }
        let graph = &self.branches.current().graph;
        while let Some(event) = graph.events.get(self.made) {
            if !event.blocked {
                return Some(event.thread);
            }
            self.made += 1;
        }
        None
    }

    /// Whether the execution is past the end of the graph.
    pub(crate) fn is_past_graph(&mut self) -> bool {
        self.turn().is_none()
    }

    /// Whether a thread can go on past the end of the graph: it is neither blocked nor has to wait for its symmetric predecessor.
    pub(crate) fn can_go_on(&self, thread: ThreadId) -> bool {
        match self.blocked.get(thread) {
            Some(event) => self.accepts_co_max(event, self.graph().blocked_read_of(thread)),
            None => self.awaited_symmetric_predecessor(thread).is_none(),
        }
    }

    /// The thread that must go on before all others past the end of the graph: a blocked read takes the first write with which
    /// its thread can go on.
    pub(crate) fn must_go_on(&self) -> Option<ThreadId> {
        let graph = self.graph();
        if graph.blocked_reads == 0 {
            return None;
        }
        let ready = graph.by_stamp.iter().find(|&&id| {
            let event = graph.event(id);
            let blocked = if event.blocked { graph.blocked_read_of(event.thread) } else { None };
            blocked == Some(id) && self.accepts_co_max(event, blocked)
        });
        ready.map(|&id| graph.event(id).thread)
    }

    /// Whether a thread is taken for one that only reads.
    pub(crate) fn only_reads(&self, thread: ThreadId) -> bool {
        self.knows_readers == Some(true)
            && !self.has_written.get(usize::from(thread)).is_some_and(|&has_written| has_written)
    }

    /// Learns from the first execution, which has just ended, which threads only read. If they read before others wrote, the search
    /// begins anew, with these threads last: all later graphs would have these reads first. True if the execution is void for that
    /// reason.
    pub(crate) fn learn_readers(&mut self) -> bool {
        let is_decided = self.knows_readers.is_some();
        if is_decided || self.replay.is_some() || self.beginning.is_some() || self.probe.is_some() {
            return false;
        }
        // A later execution, because the first one did not pass: the order is settled.
        let is_first = self.initial_len == 0;
        self.knows_readers = Some(is_first);
        if !is_first {
            return false;
        }
        let graph = self.graph();
        let mut early = graph.events.iter().zip(0..).filter(|(event, id)| {
            let is_load = event.access.reads_only() && !event.blocked && self.only_reads(event.thread);
            is_load && graph.co(event.location).iter().any(|write| write > id)
        });
        let begins_anew = early.next().is_some();
        if begins_anew {
            self.restart();
        }
        begins_anew
    }

    /// Notes that a thread adds a write, until readers are known.
    pub(super) fn note_write(&mut self, thread: ThreadId) {
        if self.knows_readers.is_some() {
            return;
        }
        let thread = usize::from(thread);
        if self.has_written.len() <= thread {
            self.has_written.resize(thread + 1, false);
        }
        self.has_written[thread] = true;
    }

    /// The address at which a thread is blocked.
    pub(crate) fn awaited_address(&self, thread: ThreadId) -> Option<usize> {
        self.locations.address(self.pending(thread)?.location)
    }

    /// Whether an event, which is the next one of its thread, can read a value without blocking.
    pub(super) fn accepts(&self, event: &Event, value: u64) -> bool {
        event.access.accepts(value) && !self.is_spin_read(event, value)
    }

    /// Whether an event, which is the next one of its thread, can read from the last write in modification order without blocking.
    /// The thread may have a blocked read at this position.
    pub(super) fn accepts_co_max(&self, event: &Event, blocked: Option<EventId>) -> bool {
        let graph = self.graph();
        let co_max = graph.co_max(event.location);
        self.accepts(event, graph.value(event.location, co_max))
            && blocked.is_none_or(|blocked| graph.blocked_read_may_take(blocked, co_max))
    }

    /// The number of events that the execution has made, blocked reads included. It is the id of the next event.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// The access of the next event of a thread in the graph.
    pub(crate) fn next_event_of(&self, thread: ThreadId) -> Option<Access> {
        let rest = self.graph().events.get(self.made..)?;
        rest.iter().find(|event| event.thread == thread && !event.blocked).map(|event| event.access)
    }

    /// The index in program order of the next event, which is the thread's.
    pub(crate) fn next_po(&self, thread: ThreadId) -> u32 {
        match self.replay.as_ref().or(self.beginning.as_ref()) {
            None if self.made < self.graph().len() => self.graph().events[self.made].po,
            _ => self.graph().events_of(thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Model;
    use crate::graph::event::NONE;
    use crate::model_checker::{Answer, Location, Request};
    use crate::op::Order;

    /// Begins an execution that consists of these accesses to one location.
    fn execute(checker: &mut ModelChecker, accesses: &[(ThreadId, Access)]) {
        assert!(checker.begin());
        let mut value = 0;
        for &(thread, access) in accesses {
            let memory = Some(Location { address: 64, size: 8, value: Some(value) });
            let request = Request { thread, access, order: Order::Relaxed, memory, follows: NONE };
            match checker.request(&request) {
                Answer::Done { write, .. } => value = write.unwrap_or(value),
                answer => panic!("{answer:?}"),
            }
        }
    }

    const READ: (ThreadId, Access) = (1, Access::Load);
    const WRITE: (ThreadId, Access) = (2, Access::Store(1));

    #[test]
    fn a_search_begins_anew_if_a_reader_came_first() {
        let mut checker = ModelChecker::new(Model::Sc);
        execute(&mut checker, &[READ, WRITE]);
        assert!(!checker.only_reads(1), "nothing is known before the end of an execution");
        assert!(checker.learn_readers());
        assert_eq!([1, 2].map(|thread| checker.only_reads(thread)), [true, false]);

        execute(&mut checker, &[WRITE, READ]);
        assert!(!checker.learn_readers(), "the search begins anew once");
        // The other source of the read.
        execute(&mut checker, &[WRITE, READ]);
        assert!(!checker.begin());
    }

    #[test]
    fn a_search_goes_on_if_readers_came_last() {
        let mut checker = ModelChecker::new(Model::Sc);
        execute(&mut checker, &[WRITE, READ]);
        assert!(!checker.learn_readers());
        assert!(checker.only_reads(1) && !checker.only_reads(2));
    }

    #[test]
    fn writers_may_read_first() {
        let mut checker = ModelChecker::new(Model::Sc);
        execute(&mut checker, &[READ, (1, Access::Store(2)), WRITE]);
        assert!(!checker.learn_readers());
        assert!(!checker.only_reads(1));
    }
}
