//! The scheduler: the transitions between threads that both semantics share.

use super::Engine;
use super::control::Flow;
use crate::op::ThreadId;
use crate::platform::unwind;
use crate::thread::ThreadStatus;
use crate::trace::SwitchReason;

impl Engine {
    /// Counts a step without a scheduling point.
    pub(crate) fn count_step(&mut self) {
        self.execution.steps += 1;
        self.check_limits();
    }

    /// Saves the call stack at which the current thread pauses, for reports of blocked threads.
    #[inline(always)]
    pub(crate) fn save_pause_stack(&mut self) {
        if self.exploration.trace.is_some() || self.exploration.limits.notes_stacks {
            self.save_stack();
        }
    }

    #[cold]
    #[inline(never)]
    fn save_stack(&mut self) {
        self.record_announced_write(None);
        self.current().paused_at = unwind::call_stack();
    }

    pub(crate) fn check_limits(&mut self) {
        if self.execution.steps > self.execution.step_limit || self.exploration.watchdog.expired {
            self.reach_limit();
        }
    }

    /// The next thread. Called on the stack of a virtual thread; does not return if the execution is over.
    #[inline]
    pub(crate) fn decide(&mut self) -> ThreadId {
        match self.next_thread() {
            Some(next) => next,
            None => {
                let outcome =
                    self.execution.outcome.take().expect("without a next thread there is an outcome");
                self.stop(outcome)
            }
        }
    }

    #[inline]
    pub(crate) fn switch_to(&mut self, next: ThreadId, reason: SwitchReason) {
        if next != self.execution.current {
            self.leave_for(next, reason);
            // SAFETY: the current thread calls this.
            unsafe { Engine::pass(self, Flow::Thread(self.execution.current), Flow::Thread(next)) };
        }
    }

    #[inline]
    pub(super) fn leave_for(&mut self, next: ThreadId, reason: SwitchReason) {
        if next != self.execution.current {
            self.execution.switches += 1;
            self.execution.in_a_row = 0;
            if let Some(trace) = &mut self.exploration.trace {
                trace.switch(reason);
            }
        }
    }

    pub(crate) fn make_runnable(&mut self, thread: ThreadId) {
        self.threads[thread as usize].status = ThreadStatus::Runnable;
        if let Err(position) = self.execution.runnable.binary_search(&thread) {
            self.execution.runnable.insert(position, thread);
        }
    }
}
