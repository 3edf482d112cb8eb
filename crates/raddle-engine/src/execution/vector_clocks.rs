//! The vector clocks of an execution: those of spawns and joins at first, and all when these do not suffice.
//!
//! Most clocks are kept for the race detector alone, at every atomic access. Many programs need few of them: threads share atomics, and
//! whatever else they access is ordered by spawns and joins. Therefore a search begins with the clocks of these, and of scopes. An access that
//! they do not order with a conflicting one is no race yet: the execution goes on, is repeated with all clocks, and so are all that follow.
//!
//! **Invariant:** spawns and joins order no more than all synchronisation does, so an execution without such an access has no race.
//! Weak memory and traces need all clocks: which stores a read may see, and what happened before an event, depends on them.

use super::Engine;
use crate::happens_before::Model;

impl Engine {
    /// Whether all clocks are kept, and store histories.
    #[inline(always)]
    pub fn keeps_clocks(&self) -> bool {
        self.exploration.keeps_all_clocks
    }

    /// Decides which clocks the execution that begins keeps.
    pub(super) fn begin_clocks(&mut self) {
        let wants_all =
            self.exploration.needs_all_clocks || self.exploration.trace.is_some() || self.is_weak();
        self.exploration.keeps_all_clocks = self.execution.memory.is_some() && wants_all;
    }

    /// Whether reads may be stale.
    #[inline]
    pub(crate) fn is_weak(&self) -> bool {
        self.execution.memory.as_ref().is_some_and(|memory| memory.model() == Model::Rc11)
    }

    /// Lets this execution, which is repeated, and those that follow keep all clocks.
    pub(crate) fn need_all_clocks(&mut self) {
        self.exploration.needs_all_clocks = true;
    }

    /// Whether the execution lacked clocks that it needs.
    pub(super) fn lacks_clocks(&self) -> bool {
        self.exploration.needs_all_clocks
            && !self.exploration.keeps_all_clocks
            && self.execution.memory.is_some()
    }
}
