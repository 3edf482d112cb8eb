//! The preemption bound of the search (see [`preemption_bound`](crate::graph::consistency::preemption_bound)).

use super::ModelChecker;
use crate::graph::Graph;
use crate::graph::consistency::preemption_bound::{Blocking, Bound};
use crate::graph::event::Event;
use crate::op::ThreadId;

impl ModelChecker {
    /// Whether the graph of the current execution, which cannot go on, is within the bound.
    pub(crate) fn is_within_bound(&mut self) -> bool {
        self.check_bound(Bound::admits)
    }

    /// The number of graphs seen that exceed the bound. If it is 0, the search without a bound explores the same graphs.
    pub(crate) fn graphs_beyond_bound(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.exceeded)
    }

    /// Sets the number of graphs that exceed the bound to 0.
    pub(crate) fn reset_graphs_beyond_bound(&mut self) {
        self.set_graphs_beyond_bound(0);
    }

    pub(super) fn set_graphs_beyond_bound(&mut self, exceeded: u64) {
        if let Some(bound) = &mut self.bound {
            bound.exceeded = exceeded;
        }
    }

    pub(super) fn check_bound(&mut self, check: fn(&mut Bound, &Graph, &ModelChecker) -> bool) -> bool {
        let Some(mut bound) = self.bound.take() else { return true };
        let within = check(&mut bound, self.graph(), self);
        self.bound = Some(bound);
        within
    }
}

impl Blocking for ModelChecker {
    fn is_blocked(&self, event: &Event, value: u64) -> bool {
        let reads_hash = self.graph().reads_hash_before(event);
        !event.access.accepts(value) || self.spins.blocks(event.thread, reads_hash, value)
    }

    fn may_spin(&self, event: &Event) -> bool {
        self.spins.may_spin(event.thread, self.graph().reads_hash_before(event))
    }

    fn pending(&self, thread: ThreadId) -> Option<Event> {
        match self.blocked.get(thread) {
            Some(&event) => Some(Event { po: self.graph().events_of(thread), ..event }),
            // A thread that waits for its symmetric predecessor makes the same access as that.
            None => self.pending(self.awaited_symmetric_predecessor(thread)?),
        }
    }
}
