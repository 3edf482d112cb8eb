//! Checkpoints of graph-driven executions: where later executions begin.
//!
//! ```text
//!   explorer:           ┌─ takes a snapshot ─┐        …  ─ restores the snapshot ──┐
//!   thread:  … event ───┘                    └─ the event with one source, …       └─ the event with another source, …
//! ```
//!
//! A step of a thread may therefore return several times. Operations own no memory of the engine while they take a
//! step: the memory would be freed as often.

use std::mem;
use std::rc::Rc;

use crate::execution::{Backend, Engine};
use crate::graph::event::EventId;

impl Engine {
    /// Takes a checkpoint before the effects of an event that the current thread has just added to the graph, if other
    /// executions may begin there. True if this is one of them: the event is yet to be made.
    #[inline]
    pub(super) fn checkpoint_before(&mut self, id: EventId) -> bool {
        self.exploration.checker.as_ref().is_some_and(|graphs| graphs.wants_checkpoint(id))
            && self.may_take_checkpoints()
            && self.take_checkpoint(id)
    }

    /// Whether checkpoints capture everything that the code under test can change, and no trace or log needs the whole
    /// execution.
    pub(in crate::semantics) fn may_take_checkpoints(&self) -> bool {
        self.exploration.limits.backend == Backend::Coroutines
            && self.exploration.pages.is_some()
            && self.execution.mappings.is_empty()
            && !self.exploration.environment.is_changed()
            && self.exploration.trace.is_none()
            && self.exploration.choice_log.is_none()
            && self.execution.fair.is_none()
    }

    /// Takes a checkpoint. Returns false now, and true once for each execution that begins there.
    #[inline(never)]
    fn take_checkpoint(&mut self, id: EventId) -> bool {
        let this: *mut Engine = self;
        // SAFETY: nothing else uses the engine until the explorer passes control back. Then the engine may be in
        // another execution, so it is read anew.
        unsafe {
            Engine::ask_explorer(this, &mut || (*this).take_checkpoint_on_explorer(id));
            mem::take(&mut (*this).execution.is_restored)
        }
    }

    /// Runs on the explorer's stack, so that the stacks of all threads stand still.
    fn take_checkpoint_on_explorer(&mut self, id: EventId) {
        let Some(graphs) = &mut self.exploration.checker else { return };
        let mut point = graphs.new_checkpoint();
        let machine = Rc::get_mut(&mut point).expect("it is spare").machine_mut();
        let copied = self.snapshot(machine);
        if let Some(graphs) = self.exploration.checker.as_mut().filter(|_| copied) {
            graphs.add_checkpoint(id, point);
        }
    }
}
