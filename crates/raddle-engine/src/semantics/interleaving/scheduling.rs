//! Scheduling points of interleavings, and the choice of the next thread.

use crate::execution::prefixes::Prefix;
use crate::execution::{Engine, Execution};
use crate::left_out::Reason;
use crate::op::{Pending, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::strategy::{Point, Steps};
use crate::thread::ThreadStatus;
use crate::trace::SwitchReason;

/// Largest number of consecutive events of a thread while others are runnable. Real schedulers are fair; without this
/// bound, a strategy of priorities would let a thread wait for another in a loop for ever.
const MOST_IN_A_ROW: u32 = 1000;

impl Engine {
    /// A scheduling point, before an event: the strategy chooses the next thread. Returns when the current thread may
    /// take its step.
    #[inline]
    pub(crate) fn point(&mut self, pending: Pending) {
        self.execution.steps += 1;
        if self.execution.runnable.len() > 1
            || !self.execution.lockers.is_empty()
            || self.execution.clock.may_wake_early()
            || self.execution.steps > self.execution.step_limit
            || self.exploration.watchdog.expired
        {
            self.choose_at_point(pending);
        }
    }

    #[inline(never)]
    pub(super) fn choose_at_point(&mut self, pending: Pending) {
        self.check_limits();
        self.save_pause_stack();
        self.current().pending = pending;
        if !self.execution.lockers.is_empty() {
            self.release_lockers();
        }
        self.execution.in_a_row += u32::from(self.execution.runnable.len() > 1);
        if self.execution.in_a_row > MOST_IN_A_ROW && self.execution.fair.is_none() {
            return self.deprioritise_current();
        }
        let next = self.decide();
        self.switch_to(next, SwitchReason::Preempted);
    }

    /// The thread that the strategy chooses, or the next one by fair scheduling.
    pub(super) fn next_by_strategy(&mut self) -> Option<ThreadId> {
        if self.execution.fair.is_some() {
            return self.next_fairly();
        }
        let starting = self.next_by_eager_start();
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
            let some_defer = self.execution.is_yielding || self.execution.clock.may_wake_early();
            if some_defer {
                self.collect_candidates();
            }
            let candidates = if some_defer { &self.execution.candidates } else { &self.execution.runnable };
            if let [only] = candidates[..] {
                return Some(only);
            }
            let starting = starting.filter(|thread| candidates.contains(thread));
            if starting.is_none() && self.execution.order_hash.is_some() && !self.is_as_simulated() {
                self.execution.outcome = Some(Outcome::Discarded(Discarded::Repeat));
                return None;
            }
            let chosen = match self.execution.prefix {
                _ if starting.is_some() => starting,
                Prefix::Left => None,
                _ => self.choose_by_prefix(some_defer),
            };
            let (runnable, active) = if some_defer {
                (&self.execution.candidates, &self.execution.active)
            } else {
                (&self.execution.runnable, &self.execution.runnable)
            };
            let choice = self.execution.schedule.len();
            let (current, steps) = (self.execution.current, Steps::Now(&self.threads));
            let point = Point { current, runnable, active, steps, choice };
            let next = chosen.unwrap_or_else(|| self.exploration.choose(&point));
            // A scripted schedule may name a thread that is not runnable, or does not exist.
            if !runnable.contains(&next) {
                self.execution.outcome = Some(Outcome::Diverged { choice });
                return None;
            }
            if let Some(log) = &mut self.exploration.choice_log {
                log.record_choice(self.execution.current, next, runnable, active);
            }
            self.execution.schedule.push(next);
            if self.threads[next as usize].status != ThreadStatus::Runnable {
                self.end_sleep(next);
            }
            return Some(next);
        }
    }

    /// Collects the threads that could go on, and those of them that neither yield nor sleep.
    #[cold]
    pub(super) fn collect_candidates(&mut self) {
        let Execution { candidates, active, runnable, clock, is_yielding, current, .. } = &mut self.execution;
        active.clear();
        active.extend(runnable.iter().filter(|&&thread| !*is_yielding || thread != *current));
        candidates.clear();
        candidates.extend(runnable.iter().copied().chain(clock.within_delay()));
        candidates.sort_unstable();
    }

    /// Deprioritises the current thread and switches to another, if one is runnable.
    pub(super) fn deprioritise_current(&mut self) {
        let me = self.execution.current;
        self.exploration.left_out.add(Reason::LongExecutions);
        self.exploration.strategy.demote(me);
        self.execution.prefix = Prefix::Left;
        self.void_hash();
        self.execution.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.make_runnable(me);
        self.switch_to(next, SwitchReason::Yielded);
    }
}
