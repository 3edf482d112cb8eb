//! Where executions begin that follow a graph: at a checkpoint of an earlier one.
//!
//! ```text
//!   explorer:           ┌─ takes a snapshot ─┐        …  ─ restores the snapshot ──┐
//!   thread:  … event ───┘                    └─ the event with one source, …       └─ the event with another source, …
//! ```
//!
//! A step of a thread may therefore return several times. Operations own no memory of the engine while they take one: the memory would
//! be freed as often.

use std::mem;
use std::rc::Rc;

use crate::execution::{Backend, Engine};
use crate::graph::event::EventId;

impl Engine {
    /// The current thread has just made an event of the graph, but for its effects. Keeps how everything stood before, if
    /// others may begin there. True if this is one of them: the event is yet to be made.
    #[inline]
    pub(super) fn begins_here(&mut self, id: EventId) -> bool {
        self.exploration.checker.as_ref().is_some_and(|graphs| graphs.wants_checkpoint(id))
            && self.keeps_points()
            && self.keep(id)
    }

    /// Whether executions may begin where others were, and all that the code under test can change is known.
    fn keeps_points(&self) -> bool {
        self.exploration.limits.backend == Backend::Coroutines
            && self.exploration.pages.is_some()
            && self.execution.mappings.is_empty()
            && !self.exploration.environment.is_changed()
            && self.exploration.trace.is_none()
            && self.exploration.choice_log.is_none()
            && self.execution.fair.is_none()
    }

    /// Returns once now, and once for each execution that begins here: then with true.
    #[inline(never)]
    fn keep(&mut self, id: EventId) -> bool {
        let this: *mut Engine = self;
        // SAFETY: nothing else uses the engine until the explorer passes control back. What this function knew then may be another
        // execution's.
        unsafe {
            Engine::ask_explorer(this, &mut || (*this).keep_now(id));
            mem::take(&mut (*this).execution.is_restored)
        }
    }

    /// Runs on the explorer's stack, so that those of all threads stand still.
    fn keep_now(&mut self, id: EventId) {
        let Some(graphs) = &mut self.exploration.checker else { return };
        let mut point = graphs.new_checkpoint();
        let machine = Rc::get_mut(&mut point).expect("it is spare").machine_mut();
        let copied = self.snapshot(machine);
        if let Some(graphs) = self.exploration.checker.as_mut().filter(|_| copied) {
            graphs.add_checkpoint(id, point);
        }
    }
}
