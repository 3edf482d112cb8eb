//! Uniform random choice among the threads that can go on.

use super::stale_reads::StaleReadPolicy;
use super::start_policy::StartPolicy;
use super::yield_policy::YieldPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Random {
    seed: u64,
    rng: Rng,
    start_policy: StartPolicy,
    yield_policy: YieldPolicy,
    stale_reads: StaleReadPolicy,
}

impl Random {
    /// The random strategy of this seed.
    pub fn new(seed: u64) -> Random {
        Random {
            seed,
            rng: Rng::new(seed),
            start_policy: StartPolicy::default(),
            yield_policy: YieldPolicy::default(),
            stale_reads: StaleReadPolicy::default(),
        }
    }
}

impl Strategy for Random {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        self.start_policy.begin(&mut self.rng);
        self.yield_policy.begin();
        self.stale_reads.begin();
        true
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let threads = self.yield_policy.choose(&mut self.rng, point);
        threads[self.rng.below(threads.len())]
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
