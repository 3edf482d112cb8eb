//! Scheduling points of interleavings: where threads may change, and who goes on.

use crate::execution::{Engine, Execution};
use crate::left_out::Reason;
use crate::op::{Pending, ThreadId};
use crate::outcome::Outcome;
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

    #[inline(never)]
    pub(super) fn choose_at_point(&mut self, pending: Pending) {
        self.check_limits();
        self.note_pause();
        self.current().pending = pending;
        if !self.execution.lockers.is_empty() {
            self.release_lockers();
        }
        self.execution.in_a_row += u32::from(self.execution.runnable.len() > 1);
        if self.execution.in_a_row > MOST_IN_A_ROW && self.execution.fair.is_none() {
            return self.stand_back();
        }
        let next = self.decide();
        self.switch_to(next, SwitchReason::Preempted);
    }

    /// The thread that the strategy chooses, or the next one in turn if the execution goes on fairly.
    pub(super) fn next_by_strategy(&mut self) -> Option<ThreadId> {
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

    /// Finds out who could go on, and who of them does not ask to go later.
    #[cold]
    pub(super) fn ask_who_goes_later(&mut self) {
        let Execution { willing, eager, runnable, clock, is_yielding, current, .. } = &mut self.execution;
        eager.clear();
        eager.extend(runnable.iter().filter(|&&thread| !*is_yielding || thread != *current));
        willing.clear();
        willing.extend(runnable.iter().copied().chain(clock.nearly_due()));
        willing.sort_unstable();
    }

    /// Lets another thread go on, if one can.
    pub(super) fn stand_back(&mut self) {
        let me = self.execution.current;
        self.exploration.left_out.add(Reason::LongExecutions);
        self.exploration.strategy.demote(me);
        self.execution.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.make_runnable(me);
        self.switch_to(next, SwitchReason::Yielded);
    }
}
