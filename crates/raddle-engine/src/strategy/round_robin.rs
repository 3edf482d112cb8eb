//! Round robin: each thread runs for a fixed number of choices, then the next in turn. The quantum grows by one with each
//! execution, until a whole execution fits into it.

use super::{Point, Strategy};
use crate::thread::ThreadId;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct RoundRobin {
    quantum: u64,
    left: u64,
    longest: usize,
}

impl RoundRobin {
    /// Round robin, beginning with a quantum of one.
    pub fn new() -> RoundRobin {
        RoundRobin::default()
    }
}

impl Strategy for RoundRobin {
    fn begin(&mut self, execution: u64) -> bool {
        self.quantum = execution + 1;
        self.left = self.quantum;
        execution == 0 || self.quantum <= self.longest as u64 + 1
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        if self.left > 0 && point.current_can_go_on() {
            self.left -= 1;
            return point.current;
        }
        self.left = self.quantum - 1;
        point.next_in_turn()
    }

    fn end(&mut self, choices: usize) {
        self.longest = self.longest.max(choices);
    }

    fn is_indexed(&self) -> bool {
        false
    }
}
