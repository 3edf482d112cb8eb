//! Fair scheduling of executions that reach a limit, so that not ending is a failure only if it is fair.
//!
//! A strategy may starve a thread for ever: one that waits for a mutex which another thread locks again and again, or
//! one for which others wait in loops with effects. Real schedulers do not. So an execution that reaches its limit of
//! events or of time does not end: from then on threads take turns.
//!
//! - Of the runnable threads, the one whose last turn is longest ago goes next. A turn has a random length, mostly
//!   short and sometimes long, so that neither lockstep nor interruption keeps threads from progress.
//! - A thread that yields ends its turn. A thread that waited for a mutex has its turn at the first scheduling point at
//!   which the mutex is free.
//! - Reads see the newest values. With each round virtual time passes, up to the next deadline if there is one, and
//!   suspended spinning threads make another iteration.
//!
//! An execution that does not end even then is reported as [`Endless`](super::Outcome::Endless). Fair scheduling
//! depends only on the event at which it begins, which is part of the [`Schedule`](crate::Schedule).

use super::{Engine, Outcome};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::thread::Wake;

/// Limit of fair events. With `n` threads, that is more than `MOST_EVENTS / n / 64` rounds.
const MOST_EVENTS: u64 = 100_000;

/// Logarithm of the longest turn: the length of a turn, in events, is below a random power of two up to this one.
const LONGEST_TURN: usize = 9;

/// The state of the fair scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    /// Events before the first fair one.
    pub(crate) since: u64,
    rng: Rng,
    /// The number of the latest turn, and of each thread's latest.
    turn: u32,
    turns: Vec<u32>,
    /// Events left in the turn.
    left: u32,
    /// The turn in which the round began.
    round: u32,
}

impl Fair {
    fn new(since: u64) -> Fair {
        Fair { since, rng: Rng::new(since), turn: 0, turns: Vec::new(), left: 0, round: 0 }
    }

    /// The number of the thread's latest turn.
    fn latest(&self, thread: ThreadId) -> u32 {
        self.turns.get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// Begins a turn of the thread whose latest turn is longest ago.
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

    /// Whether every thread has had a turn since this was last true.
    fn ends_round(&mut self, mut threads: impl Iterator<Item = ThreadId>) -> bool {
        let ends = threads.all(|thread| self.latest(thread) > self.round);
        if ends {
            self.round = self.turn;
        }
        ends
    }
}

impl Engine {
    /// The execution has reached its limit of events or of time: it becomes fair, or ends if it already is.
    #[cold]
    #[inline(never)]
    pub(crate) fn reach_limit(&mut self) {
        match &self.execution.fair {
            None => {
                let fair = Fair::new(self.execution.steps);
                self.execution.fair = Some(Box::new(fair));
                self.execution.step_limit = self.execution.steps;
                self.goes_on_fairly();
                // The time limit starts again.
                (self.exploration.watchdog.expired, self.exploration.watchdog.ticks) = (false, 0);
            }
            Some(_) if self.exploration.watchdog.expired => self.stop(Outcome::TimeLimit),
            Some(fair) if self.execution.steps - fair.since > MOST_EVENTS => self.stop(Outcome::Endless),
            Some(_) => {}
        }
    }

    /// The event from which the execution is fair, if it is.
    pub(crate) fn fair_since(&self) -> Option<u64> {
        self.execution.fair.as_ref().map(|fair| fair.since)
    }

    /// The next thread by fair scheduling.
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

    /// The next of the given threads by fair scheduling, in a graph-driven execution.
    pub(crate) fn next_fairly_of(&mut self, threads: &[ThreadId]) -> Option<ThreadId> {
        let current = self.execution.current;
        let fair = self.execution.fair.as_mut()?;
        if fair.left > 0 && threads.contains(&current) {
            fair.left -= 1;
            return Some(current);
        }
        fair.begin_turn(threads.iter().copied())
    }

    /// Ends a round: the clock advances to the next deadline, and spinning threads make another iteration.
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
