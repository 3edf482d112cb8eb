//! Uniform random choice among the threads that can go on.

use super::haste::Haste;
use super::look_back::LookBack;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Random {
    seed: u64,
    rng: Rng,
    haste: Haste,
    look_back: LookBack,
}

impl Random {
    /// The random strategy of this seed.
    pub fn new(seed: u64) -> Random {
        Random { seed, rng: Rng::new(seed), haste: Haste::default(), look_back: LookBack::default() }
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
