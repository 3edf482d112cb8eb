//! POS: Partial Order Sampling (Yuan, Yang, Gu, CAV 2018).
//!
//! Every pending event has an independent random priority; the highest runs. Then its thread's next event, and every
//! pending event that conflicts with the one that ran, are given new ones. Needs neither depth nor length, and samples
//! partial orders far more evenly than a random walk.

use super::stale_reads::StaleReadPolicy;
use super::start_policy::StartPolicy;
use super::yield_policy::YieldPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Pos {
    seed: u64,
    rng: Rng,
    start_policy: StartPolicy,
    yield_policy: YieldPolicy,
    stale_reads: StaleReadPolicy,
    /// Priorities of the threads' pending events; 0 is unknown.
    priorities: Vec<u64>,
}

impl Pos {
    /// Partial order sampling with this seed.
    pub fn new(seed: u64) -> Pos {
        Pos {
            seed,
            rng: Rng::new(seed),
            start_policy: StartPolicy::default(),
            yield_policy: YieldPolicy::default(),
            stale_reads: StaleReadPolicy::default(),
            priorities: Vec::new(),
        }
    }

    fn priority(&mut self, thread: ThreadId) -> &mut u64 {
        let index = usize::from(thread);
        if self.priorities.len() <= index {
            self.priorities.resize(index + 1, 0);
        }
        if self.priorities[index] == 0 {
            self.priorities[index] = self.rng.next() | 1;
        }
        &mut self.priorities[index]
    }
}

impl Strategy for Pos {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        self.start_policy.begin(&mut self.rng);
        self.yield_policy.begin();
        self.stale_reads.begin();
        self.priorities.clear();
        true
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let threads = self.yield_policy.choose(&mut self.rng, point);
        let mut best = (0, threads[0]);
        for &thread in threads {
            best = best.max((*self.priority(thread), thread));
        }
        let chosen = best.1;
        let event = point.pending(chosen);
        for &thread in point.runnable {
            if thread == chosen || point.pending(thread).conflicts(&event) {
                *self.priority(thread) = 0;
            }
        }
        chosen
    }

    fn choose_reads_from(&mut self, alternatives: usize, _choice: usize) -> usize {
        self.stale_reads.choose(&mut self.rng, alternatives)
    }

    fn is_indexed(&self) -> bool {
        true
    }

    fn starts_threads_eagerly(&self) -> bool {
        self.start_policy.is_eager
    }

    fn depends_on_points_alone(&self) -> bool {
        true
    }
}
