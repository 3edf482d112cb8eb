//! A debugger at the events of an execution: stops at the wanted event and at the end, and the return to the beginning.
//!
//! Everything happens where events are recorded, so executions that nobody debugs pay nothing.

use super::Engine;
use crate::op::ThreadId;
use crate::outcome::{Discarded, Outcome};
use crate::platform::debugger::{Shared, Standing, ThreadEntry};
use crate::thread::ThreadStatus;
use crate::trace::{Action, Trace};

/// The debugger of an exploration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debugger {
    shared: Shared,
    /// Whether an event of the current execution was made.
    has_begun: bool,
    /// Whether the debugger was told of the event that is recorded next, before its effect.
    is_told: bool,
}

impl Debugger {
    pub(crate) fn new(shared: Shared) -> Debugger {
        Debugger { shared, has_begun: false, is_told: false }
    }
}

impl Engine {
    /// Tells the debugger of an event of the current thread, which calls this. Does not return if the debugger wants to begin
    /// again.
    #[inline]
    pub(super) fn tell_debugger(&mut self) {
        let Some(debugger) = &mut self.exploration.debugger else { return };
        if !std::mem::take(&mut debugger.is_told) {
            let thread = self.execution.current;
            let must_stop = self.count_for_debugger(thread);
            self.stop_for_debugger(must_stop);
        }
    }

    /// Tells the debugger of a write that the current thread is about to make, so that memory is still as it was before. The write is
    /// recorded next.
    #[inline]
    pub(crate) fn tell_debugger_before(&mut self, action: impl FnOnce() -> Action) {
        if self.exploration.debugger.is_some() && self.exploration.trace.is_some() {
            self.tell_debugger_now(&action());
        }
    }

    #[cold]
    fn tell_debugger_now(&mut self, action: &Action) {
        let steps = self.execution.steps;
        let counts = |trace: &Trace| steps >= trace.skipped_steps && !trace.is_watched(action);
        if self.exploration.trace.as_ref().is_some_and(counts) {
            self.tell_debugger();
            if let Some(debugger) = &mut self.exploration.debugger {
                debugger.is_told = true;
            }
        }
    }

    /// Tells the debugger of an event that a signal handler will end the execution with.
    pub(crate) fn tell_debugger_of_crash(&mut self) {
        if self.exploration.trace.is_some() && self.exploration.debugger.is_some() {
            let thread = self.execution.current;
            if self.count_for_debugger(thread)
                && let Some(debugger) = self.exploration.debugger
            {
                debugger.shared.stop(Standing::Event);
            }
        }
    }

    /// The outcome of an execution that the debugger has left. There is nothing to judge: it may not have begun to run the code
    /// under test.
    pub(super) fn left_by_debugger(&self) -> Option<Outcome> {
        let is_left = self.exploration.debugger.is_some_and(|debugger| debugger.shared.wants_again());
        is_left.then_some(Outcome::Discarded(Discarded::Repeat))
    }

    /// Tells the debugger that the execution is over. If the debugger wants to begin again, the execution does not count.
    pub(super) fn tell_debugger_of_end(&mut self) {
        if self.exploration.trace.is_none() {
            return;
        }
        let Some(debugger) = &mut self.exploration.debugger else { return };
        (debugger.has_begun, debugger.is_told) = (false, false);
        let shared = debugger.shared;
        self.list_threads(shared);
        if !shared.wants_again() {
            shared.stop(Standing::End);
        }
        if shared.wants_again() {
            shared.begins_again();
            self.execution.outcome = Some(Outcome::Discarded(Discarded::Repeat));
        }
    }

    #[cold]
    fn count_for_debugger(&mut self, thread: ThreadId) -> bool {
        let current = &raw const self.execution.current;
        let Some(debugger) = &mut self.exploration.debugger else { return false };
        let shared = debugger.shared;
        if !std::mem::replace(&mut debugger.has_begun, true) {
            shared.begin(current);
        }
        let must_stop = shared.count(thread.into());
        self.list_threads(shared);
        must_stop
    }

    #[cold]
    fn stop_for_debugger(&mut self, must_stop: bool) {
        let Some(Debugger { shared, .. }) = self.exploration.debugger else { return };
        if must_stop {
            shared.stop(Standing::Event);
        }
        if shared.wants_again() {
            self.stop(Outcome::Discarded(Discarded::Repeat));
        }
    }

    fn list_threads(&self, shared: Shared) {
        let threads = self.threads[..self.execution.alive].iter();
        shared.list(threads.map(|thread| ThreadEntry {
            context: &raw const thread.context,
            has_ended: thread.status == ThreadStatus::Finished,
            name: thread.name.as_deref().unwrap_or_default(),
        }));
    }
}
