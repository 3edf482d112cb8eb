//! The next thread of graph-driven executions.

use super::synthetic::SyntheticLocation;
use crate::execution::Engine;
use crate::model_checker::BlockedSpinners;
use crate::op::{Effect, Pending, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::thread::ThreadStatus;
use crate::trace::SwitchReason;

/// Consecutive events that are added for one thread while others are runnable.
const MOST_ADDED_IN_A_ROW: u32 = 100;

/// The order in which threads go on past the end of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The thread may write.
    Writer,
    /// The thread is at a load and only reads, as far as is known. A load that is added after all writes has its other sources as
    /// forward revisits, which take back nothing. Added before them, it is revisited by each write, which takes back all events since.
    Reader,
    /// The thread goes on only where no other can.
    Last,
}

impl Engine {
    /// Reschedules without an event of the current thread.
    pub(super) fn reschedule(&mut self) {
        self.execution.steps += 1;
        let others = self.execution.runnable.len() > 1;
        let is_limited =
            self.execution.steps > self.execution.step_limit || self.exploration.watchdog.expired;
        if others || is_limited || self.execution.clock.may_wake_early() {
            self.check_limits();
            self.save_pause_stack();
            self.current().pending = Pending::NOTHING;
            self.execution.in_a_row += u32::from(others);
            let next = self.decide();
            self.switch_to(next, SwitchReason::Preempted);
        }
    }

    /// The next thread: as the graph says, and beyond its end any that can go on.
    pub(super) fn next_along_graph(&mut self) -> Option<ThreadId> {
        loop {
            let graph = self.exploration.checker.as_mut().expect("the execution follows a graph");
            if let Some(next) = graph.turn() {
                if self.threads[..self.execution.alive]
                    .get(usize::from(next))
                    .is_some_and(|t| t.status == ThreadStatus::Runnable)
                {
                    return Some(next);
                }
                if self.time_out(next) {
                    continue;
                }
                let choice = self.checker().made();
                self.execution.outcome = Some(Outcome::Diverged { choice });
                return None;
            }
            if let Some(next) = graph.must_go_on() {
                return Some(next);
            }
            let current = self.execution.current;
            let runs = |thread: &ThreadId| graph.can_go_on(*thread);
            let goes_last = |thread: ThreadId| graph.goes_last() == Some(thread);
            if self.execution.fair.is_some() {
                let runnable: Vec<ThreadId> = self.execution.runnable.iter().copied().filter(runs).collect();
                if !runnable.is_empty() {
                    return self.next_fairly_of(&runnable);
                }
            } else {
                // Any order of events leads to the same graphs. The threads with the lowest rank go first, the current one before
                // others, but not for ever.
                let rank = |thread: ThreadId| {
                    let is_at_load = self.threads[usize::from(thread)].pending.effect == Effect::Read;
                    match is_at_load && graph.only_reads(thread) {
                        _ if goes_last(thread) => Rank::Last,
                        true => Rank::Reader,
                        false => Rank::Writer,
                    }
                };
                let goes_on =
                    self.threads[usize::from(current)].status == ThreadStatus::Runnable && runs(&current);
                let own = rank(current);
                let is_patient = goes_on && self.execution.in_a_row < MOST_ADDED_IN_A_ROW;
                let first = match is_patient && own == Rank::Writer {
                    true => None,
                    false => {
                        let others = self.execution.runnable.iter().copied();
                        let others = others.filter(|thread| *thread != current && runs(thread));
                        others.map(|thread| (rank(thread), thread)).min()
                    }
                };
                match first {
                    Some((rank, next)) if !is_patient || rank < own => return Some(next),
                    _ if goes_on => {
                        self.execution.in_a_row = if is_patient { self.execution.in_a_row + 1 } else { 0 };
                        return Some(current);
                    }
                    _ => {}
                }
            }
            let has_ended =
                |thread: ThreadId| self.threads[usize::from(thread)].status == ThreadStatus::Finished;
            let alone =
                |&&thread: &&ThreadId| graph.awaited_symmetric_predecessor(thread).is_some_and(has_ended);
            if let Some(&next) = self.execution.runnable.iter().find(alone) {
                graph.stop_awaiting_symmetric_predecessor(next);
                return Some(next);
            }
            // Loops that yield may have bounds of their own.
            if let Some(next) = graph.release_spinner() {
                return Some(next);
            }
            graph.enumerate_blocked_reads();
            let loops = graph.blocked_spinners();
            for &thread in &self.execution.runnable {
                if let Some(address) = graph.awaited_address(thread) {
                    let address = SyntheticLocation::in_memory(address);
                    self.threads[thread as usize].status = ThreadStatus::Lock { address };
                }
            }
            if self.execution.runnable.is_empty() && self.pass_time() {
                continue;
            }
            if self.execution.outcome.is_none() {
                self.execution.outcome = Some(match loops {
                    BlockedSpinners::None => self.outcome_at_rest(),
                    BlockedSpinners::ReadStale => Outcome::Discarded(Discarded::Blocked),
                    BlockedSpinners::Livelocked => Outcome::Livelock,
                });
                self.record_last_waits();
            }
            return None;
        }
    }
}
