//! The real-time order of operations in graph-driven executions.
//!
//! Under sequential consistency two executions that differ only in which operation ended before which began are different. Each
//! thread of a scenario has a synthetic location that only it writes, the number of operations that it has completed; a thread that
//! begins an operation reads those of all others.

use super::synthetic::SyntheticLocation;
use crate::execution::Engine;
use crate::graph::Model;
use crate::graph::event::{Access, EventId, NONE};
use crate::model_checker::Location;
use crate::op::Order;

impl Engine {
    /// Whether the real-time order of operations is explored.
    pub(super) fn explores_time(&mut self) -> bool {
        self.checker().model() == Model::Sc
    }

    /// The current thread, number `me` of a scenario with `threads` threads, begins an operation: it reads the
    /// completion counts of the others, which is all that real time means. Returns the number of the first event.
    pub(super) fn read_completions(&mut self, me: usize, threads: usize) -> Option<EventId> {
        let mut first = None;
        for other in (0..threads).filter(|&other| other != me) {
            let id = self.take_step_of_scenario(other, Access::ReadCompletions);
            first.get_or_insert(id);
        }
        first
    }

    /// The current thread, number `me` of a scenario, has completed its operation number `ended`.
    pub(super) fn complete_operation(&mut self, me: usize, ended: u32) -> EventId {
        self.take_step_of_scenario(me, Access::Store(ended.into()))
    }

    /// A step at a completion count. It is relaxed, because real time orders nothing in memory: races remain races.
    fn take_step_of_scenario(&mut self, thread: usize, access: Access) -> EventId {
        let at = Location { address: SyntheticLocation::Completed(thread).address(), size: 8, value: None };
        self.take_step(access, Order::Relaxed, || Some(at), NONE, 0);
        self.checker().made() as EventId - 1
    }
}
