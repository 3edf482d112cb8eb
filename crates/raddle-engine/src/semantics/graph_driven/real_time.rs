//! The real-time order of operations along an execution graph.
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
    /// Whether the time at which operations begin and end is part of what is explored.
    pub(crate) fn explores_time(&mut self) -> bool {
        self.checker().model() == Model::Sc
    }

    /// The current thread, number `me` of a scenario of so many, begins an operation: it looks how far each of the others has
    /// come, and that is all that time means. Returns the number of the event.
    pub(crate) fn look_at_others(&mut self, me: usize, threads: usize) -> Option<EventId> {
        let mut first = None;
        for other in (0..threads).filter(|&other| other != me) {
            let id = self.take_step_of_scenario(other, Access::ReadCompletions);
            first.get_or_insert(id);
        }
        first
    }

    /// The current thread, number `me` of a scenario, has ended its operation of this number.
    pub(crate) fn tell_others(&mut self, me: usize, ended: u32) -> EventId {
        self.take_step_of_scenario(me, Access::Store(ended.into()))
    }

    /// It orders nothing in memory, so that what races still does.
    fn take_step_of_scenario(&mut self, thread: usize, access: Access) -> EventId {
        let at = Location { address: SyntheticLocation::Completed(thread).address(), size: 8, value: None };
        self.take_step(access, Order::Relaxed, || Some(at), NONE, 0);
        self.checker().made() as EventId - 1
    }
}
