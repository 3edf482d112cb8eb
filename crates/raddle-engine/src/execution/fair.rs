//! Executions that did not end within their limits go on fairly, so that not ending is a failure only if it is fair.
//!
//! A strategy may starve a thread for ever: one that waits for a mutex which another locks again and again, one that others wait
//! for in loops with effects. Real schedulers do not. So an execution that reaches its limit of events or of time is not ended.
//! From then on threads take turns:
//!
//! - The thread that has not had a turn for longest goes on, of all that can. A turn has a random length, mostly short and now and
//!   then long, so that neither lockstep nor interruption keeps threads from what they are at.
//! - A thread that gives way ends its turn. A thread that waited for a mutex has its turn at the first point at which that is free.
//! - Reads see the newest values. With each round virtual time passes, up to the next deadline if there is one, and threads that
//!   were left out because they spin look again.
//!
//! What does not end even then is reported, as [`Endless`](super::Outcome::Endless). All of it depends only on the event at which it
//! began, which is part of the [`Schedule`](crate::Schedule).

use super::{Engine, Outcome};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::thread::Wake;

/// Events that an execution may make fairly. With `n` threads, that is more than `MOST_EVENTS / n / 64` rounds.
const MOST_EVENTS: u64 = 100_000;

/// The length of a turn, in events, is below a power of two that is drawn; this is the highest, by its logarithm.
const LONGEST_TURN: usize = 9;

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    /// How many events had been made when it began.
    pub(crate) since: u64,
    rng: Rng,
    /// The number of the latest turn, and for each thread that of its latest.
    turn: u32,
    turns: Vec<u32>,
    /// How many events are left of the turn.
    left: u32,
    /// The turn in which the round began.
    round: u32,
}

impl Fair {
    fn new(since: u64) -> Fair {
        Fair { since, rng: Rng::new(since), turn: 0, turns: Vec::new(), left: 0, round: 0 }
    }

    /// When the thread had its latest turn.
    fn latest(&self, thread: ThreadId) -> u32 {
        self.turns.get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// Begins a turn of one of the threads: of the one that waits for longest.
    fn begin_turn(&mut self, threads: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
        let next = threads.min_by_key(|&thread| self.latest(thread))?;
        let index = usize::from(next);
        if self.turns.len() <= index {
            self.turns.resize(index + 1, 0);
        }
        self.turn += 1;
        self.turns[index] = self.turn;
        let longest = 1 << self.rng.below(LONGEST_TURN + 1);
        self.left = 1 + self.rng.below(longest) as u32;
        Some(next)
    }

    /// Whether every thread that can go on has had a turn since this was last true.
    fn ends_round(&mut self, mut threads: impl Iterator<Item = ThreadId>) -> bool {
        let ends = threads.all(|thread| self.latest(thread) > self.round);
        if ends {
            self.round = self.turn;
        }
        ends
    }
}

impl Engine {
    /// The execution has made as many events as it may, or has taken as long.
    #[cold]
    #[inline(never)]
    pub(crate) fn reach_limit(&mut self) {
        match &self.execution.fair {
            None => {
                let fair = Fair::new(self.execution.steps);
                self.execution.fair = Some(Box::new(fair));
                self.execution.step_limit = self.execution.steps;
                self.goes_on_fairly();
                // It has as much time once more.
                (self.exploration.watchdog.expired, self.exploration.watchdog.ticks) = (false, 0);
            }
            Some(_) if self.exploration.watchdog.expired => self.stop(Outcome::TimeLimit),
            Some(fair) if self.execution.steps - fair.since > MOST_EVENTS => self.stop(Outcome::Endless),
            Some(_) => {}
        }
    }

    /// Since which event the execution goes on fairly, if it does.
    pub(crate) fn fair_since(&self) -> Option<u64> {
        self.execution.fair.as_ref().map(|fair| fair.since)
    }

    /// Who goes on, of those that can.
    #[cold]
    pub(crate) fn next_fairly(&mut self) -> Option<ThreadId> {
        loop {
            let waiting = self.execution.lockers.len();
            self.release_lockers();
            let released = self.execution.lockers.len() < waiting;
            if self.execution.runnable.is_empty() {
                if !self.pass_time() {
                    return None;
                }
                continue;
            }
            let fair = self.execution.fair.as_mut().expect("the execution goes on fairly");
            let goes_on = fair.left > 0 && !self.execution.is_yielding && !released;
            if goes_on && self.execution.runnable.contains(&self.execution.current) {
                fair.left -= 1;
                return Some(self.execution.current);
            }
            if fair.ends_round(self.execution.runnable.iter().copied()) {
                self.let_time_pass();
            }
            let fair = self.execution.fair.as_mut().expect("the execution goes on fairly");
            let current = self.execution.current;
            let others = self.execution.runnable.len() > 1;
            let steps_back = |thread: ThreadId| others && thread == current;
            return fair
                .begin_turn(self.execution.runnable.iter().copied().filter(|&thread| !steps_back(thread)));
        }
    }

    /// The same along an execution graph, for threads that can go on there.
    pub(crate) fn next_fairly_of(&mut self, threads: &[ThreadId]) -> Option<ThreadId> {
        let current = self.execution.current;
        let fair = self.execution.fair.as_mut()?;
        if fair.left > 0 && threads.contains(&current) {
            fair.left -= 1;
            return Some(current);
        }
        fair.begin_turn(threads.iter().copied())
    }

    /// A round is over: those who wait for the clock go on when their time comes, and those who spin look again.
    fn let_time_pass(&mut self) {
        let mut clock = std::mem::take(&mut self.execution.clock);
        let moved = clock.jump(|thread| {
            self.execution.futexes.cancel(thread);
            self.unblock(thread, Wake::TimedOut);
        });
        self.execution.clock = clock;
        if !moved {
            self.execution.clock.drift();
        }
        self.release_all_spinners();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_turn() {
        let mut fair = Fair::new(7);
        let mut turns = [0; 5];
        for _ in 0..1000 {
            let next = fair.begin_turn(0..5).unwrap();
            turns[usize::from(next)] += 1;
            assert!(fair.left >= 1);
        }
        assert_eq!(turns, [200; 5]);
    }

    #[test]
    fn a_round_ends_when_all_had_a_turn() {
        let mut fair = Fair::new(7);
        assert!(!fair.ends_round(0..2));
        fair.begin_turn(0..2);
        assert!(!fair.ends_round(0..2));
        fair.begin_turn(0..2);
        assert!(fair.ends_round(0..2));
        assert!(!fair.ends_round(0..2));
    }
}
