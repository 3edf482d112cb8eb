//! Round robin: each thread runs for a fixed number of choices, then the next in turn. The quantum grows by one with each
//! execution, until a whole execution fits into it.

use super::stale_reads::StaleReadPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct RoundRobin {
    quantum: u64,
    left: u64,
    longest: usize,
    /// For reads-from choices, which turns leave open.
    rng: Rng,
    stale_reads: StaleReadPolicy,
}

impl RoundRobin {
    /// Round robin, beginning with a quantum of one.
    pub fn new() -> RoundRobin {
        RoundRobin {
            quantum: 0,
            left: 0,
            longest: 0,
            rng: Rng::new(0),
            stale_reads: StaleReadPolicy::default(),
        }
    }
}

impl Default for RoundRobin {
    fn default() -> RoundRobin {
        RoundRobin::new()
    }
}

impl Strategy for RoundRobin {
    fn begin(&mut self, execution: u64) -> bool {
        self.quantum = execution + 1;
        self.left = self.quantum;
        self.rng = Rng::of_execution(0, execution);
        self.stale_reads.begin();
        execution == 0 || self.quantum <= self.longest as u64 + 1
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        if self.left > 0 && point.current_goes_on() {
            self.left -= 1;
            return point.current;
        }
        self.left = self.quantum - 1;
        point.next_in_turn()
    }

    fn choose_reads_from(&mut self, alternatives: usize, _choice: usize) -> usize {
        self.stale_reads.choose(&mut self.rng, alternatives)
    }

    fn end(&mut self, choices: usize) {
        self.longest = self.longest.max(choices);
    }

    fn is_indexed(&self) -> bool {
        false
    }
}
