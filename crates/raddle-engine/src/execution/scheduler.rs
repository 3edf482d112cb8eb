//! The scheduler: where threads may change, and who goes on.

use super::control::Flow;
use super::{Engine, Outcome};
use crate::op::{Pending, ThreadId};
use crate::platform::unwind;
use crate::strategy::Point;
use crate::thread::State;
use crate::trace::SwitchReason;

/// Events that a thread may make in a row while others could go on. Real schedulers are fair; without this, a strategy of
/// priorities would let a thread wait for another in a loop for ever.
const MOST_IN_A_ROW: u32 = 1000;

impl Engine {
    /// Before a step that others can notice: lets the strategy choose who goes on. Returns when the current thread may
    /// take its step.
    #[inline]
    pub(crate) fn point(&mut self, pending: Pending) {
        self.execution.steps += 1;
        if self.execution.runnable.len() > 1
            || !self.execution.lockers.is_empty()
            || self.execution.clock.may_wake_somebody()
            || self.execution.steps > self.execution.step_limit
            || self.exploration.watchdog.expired
        {
            self.choose_at_point(pending);
        }
    }

    /// Counts a step at which threads do not change.
    pub(crate) fn count_step(&mut self) {
        self.execution.steps += 1;
        self.check_limits();
    }

    #[inline(never)]
    pub(super) fn choose_at_point(&mut self, pending: Pending) {
        self.check_limits();
        self.note_pause();
        self.current().pending = pending;
        if !self.execution.lockers.is_empty() {
            self.release_lockers();
        }
        self.execution.in_a_row += u32::from(self.execution.runnable.len() > 1);
        if self.execution.in_a_row > MOST_IN_A_ROW && !self.follows_graph() && self.execution.fair.is_none() {
            return self.stand_back();
        }
        let next = self.decide();
        self.switch_to(next, SwitchReason::Preempted);
    }

    /// Notes where the current thread pauses, for the report of who waits where.
    #[inline]
    pub(super) fn note_pause(&mut self) {
        if self.exploration.trace.is_some() || self.exploration.limits.notes_stacks {
            self.current().paused_at = unwind::call_stack();
        }
    }

    pub(super) fn check_limits(&mut self) {
        if self.execution.steps > self.execution.step_limit || self.exploration.watchdog.expired {
            self.reach_limit();
        }
    }

    /// Who goes on, from the stack of a virtual thread.
    #[inline]
    pub(super) fn decide(&mut self) -> ThreadId {
        match self.find_next() {
            Some(next) => next,
            None => {
                let outcome =
                    self.execution.outcome.take().expect("without a next thread there is an outcome");
                self.stop(outcome)
            }
        }
    }

    /// The one place where the next thread is chosen. None if the execution is over; then the outcome is set.
    pub(super) fn find_next(&mut self) -> Option<ThreadId> {
        if self.exploration.exhaustive.is_some() {
            return self.next_along_graph();
        }
        if self.execution.fair.is_some() {
            return self.next_fairly();
        }
        loop {
            if !self.execution.lockers.is_empty() {
                self.release_lockers();
            }
            if self.execution.runnable.is_empty() {
                if !self.pass_time() {
                    return None;
                }
                continue;
            }
            let some_ask = self.execution.is_yielding || self.execution.clock.may_wake_somebody();
            if some_ask {
                self.ask_who_goes_later();
            }
            let (runnable, eager) = if some_ask {
                (&self.execution.willing, &self.execution.eager)
            } else {
                (&self.execution.runnable, &self.execution.runnable)
            };
            if let [only] = runnable[..] {
                return Some(only);
            }
            let choice = self.execution.schedule.len();
            let point =
                Point { current: self.execution.current, runnable, eager, threads: &self.threads, choice };
            let next = self.exploration.strategy.choose(&point);
            // A script may name a thread that cannot go on, or one that does not exist.
            if !runnable.contains(&next) {
                self.execution.outcome = Some(Outcome::Diverged { choice });
                return None;
            }
            if let Some(log) = &mut self.exploration.choice_log {
                log.note(self.execution.current, next, runnable, eager);
            }
            self.execution.schedule.push(next);
            if self.threads[next as usize].state != State::Runnable {
                self.end_sleep(next);
            }
            return Some(next);
        }
    }

    #[inline]
    pub(super) fn switch_to(&mut self, next: ThreadId, reason: SwitchReason) {
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

    pub(super) fn make_runnable(&mut self, thread: ThreadId) {
        self.threads[thread as usize].state = State::Runnable;
        if let Err(place) = self.execution.runnable.binary_search(&thread) {
            self.execution.runnable.insert(place, thread);
        }
    }
}
