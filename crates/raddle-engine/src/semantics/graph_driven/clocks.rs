//! Clocks beside an execution graph, for the race detector: graphs do not contain everything that orders accesses, such
//! as abstract reference counts.

use crate::detect::fault::AccessKind;
use crate::execution::{Engine, Exploration, sites};
use crate::graph::event::EventId;
use crate::location_table::MemoryLocation;
use crate::op::Caller;

impl Engine {
    /// Updates the clocks for an event that the current thread has added to the graph.
    pub(super) fn follow_clocks(&mut self, id: EventId) {
        let all = self.keeps_clocks();
        let Exploration { detector: Some(detector), checker: Some(checker), .. } = &mut self.exploration
        else {
            return;
        };
        if let Some(memory) = &mut self.execution.memory {
            detector.follow(id, *checker.event(id), &mut memory.sync, all);
        }
    }

    /// Checks the latest event of the graph, an atomic access of the current thread, for races.
    pub(super) fn accessed_along_graph(&mut self, location: MemoryLocation, caller: Caller) {
        let Some((event, time)) = self.exploration.detector.as_ref().and_then(|detector| detector.latest())
        else {
            return;
        };
        let kind = if event.written.is_some() { AccessKind::AtomicWrite } else { AccessKind::AtomicRead };
        // SAFETY: instrumented code has frame pointers.
        let site = unsafe { sites::of(caller.pc, caller.fp) };
        self.accessed(location, site, kind, caller, time);
    }
}
