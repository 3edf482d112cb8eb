//! Uniform random choice among the threads that can go on.

use super::haste::YieldPolicy;
use super::look_back::StaleReadPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Random {
    seed: u64,
    rng: Rng,
    haste: YieldPolicy,
    look_back: StaleReadPolicy,
}

impl Random {
    /// The random strategy of this seed.
    pub fn new(seed: u64) -> Random {
        Random {
            seed,
            rng: Rng::new(seed),
            haste: YieldPolicy::default(),
            look_back: StaleReadPolicy::default(),
        }
    }
}

impl Strategy for Random {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        self.haste.begin();
        self.look_back.begin();
        true
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let threads = self.haste.choose(&mut self.rng, point);
        threads[self.rng.below(threads.len())]
    }

    fn look_back(&mut self, ways: usize, _choice: usize) -> usize {
        self.look_back.choose(&mut self.rng, ways)
    }

    fn is_indexed(&self) -> bool {
        true
    }
}
