//! Uniform random choice among the threads that can go on.

use super::{Point, Strategy};
use crate::rng::Rng;
use crate::thread::ThreadId;

/// See the [module](self).
#[derive(Debug)]
pub struct Random {
    seed: u64,
    rng: Rng,
}

impl Random {
    /// The random strategy of this seed.
    pub fn new(seed: u64) -> Random {
        Random { seed, rng: Rng::new(seed) }
    }
}

impl Strategy for Random {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        true
    }

    #[inline]
    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        point.runnable[self.rng.below(point.runnable.len())]
    }

    fn is_indexed(&self) -> bool {
        true
    }
}
