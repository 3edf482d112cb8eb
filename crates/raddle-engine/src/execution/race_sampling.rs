//! The executions that the race detector follows.
//!
//! Following an execution costs more than making it: clocks are kept for every atomic access, and plain accesses are recorded.
//! Most executions of a sampling strategy order the same accesses as some execution before. Therefore the detector follows the first
//! [`FIRST`] executions of such a strategy, and one in [`ONE_IN`] of the others. A race that a share `q` of the executions shows is
//! missed by `n` executions with probability `(1 - q)^FIRST * (1 - q / ONE_IN)^(n - FIRST)`. Where executions are
//! [recognised](super::recognition), it also follows those whose order of events is new.
//!
//! **Invariants:** Whether an execution is followed depends on its number alone, so that the first failure does not depend on the
//! number of processes. Strategies that claim all executions, replays, and every execution that fails are followed. Accesses to freed
//! memory are noticed in all executions.

use super::race_detector::RaceDetector;
use super::{Engine, Exploration};
use crate::happens_before::Model;
use crate::platform::global::{GLOBAL, Wanted};
use crate::weak_memory::Memory;

/// The number of executions that are followed at first.
pub(super) const FIRST: u64 = 1024;

/// One in this many later executions is followed.
const ONE_IN: u64 = 12;

/// The race detector and the clocks that only it needs, while they do not follow the current execution.
#[derive(Debug)]
pub(crate) struct Resting {
    detector: Box<RaceDetector>,
    memory: Option<Box<Memory>>,
}

impl Exploration {
    /// Whether the detector follows the execution with this number.
    pub(super) fn follows(&self, execution: u64) -> bool {
        self.checker.is_some()
            || !self.strategy.is_indexed()
            || execution < FIRST
            || spread(execution).is_multiple_of(ONE_IN)
    }
}

impl Engine {
    /// Lets the race detector follow the execution that begins, or rest.
    pub(super) fn follow_accesses(&mut self, follows: bool) {
        let Exploration { detector, resting, .. } = &mut self.exploration;
        if follows {
            if let Some(Resting { detector: rested, memory }) = resting.take() {
                *detector = Some(rested);
                self.execution.memory = memory.or(self.execution.memory.take());
            }
        } else if let Some(detector) = detector.take() {
            let is_for_races = |memory: &mut Box<Memory>| memory.model() == Model::Sc;
            let memory = self.execution.memory.take_if(is_for_races);
            *resting = Some(Resting { detector, memory });
        }
        let follows = self.follows_accesses();
        GLOBAL.wants_allocations.set(follows);
        GLOBAL.volatile.set(0);
        GLOBAL.wanted_announcements.set(if follows { Wanted::All } else { Wanted::Freed });
    }

    /// Whether plain accesses are of interest, apart from those to freed memory.
    #[inline(always)]
    pub(crate) fn follows_accesses(&self) -> bool {
        self.exploration.detector.is_some() || self.exploration.trace.is_some()
    }

    /// Whether the race detector rested in the latest execution.
    pub(crate) fn has_rested(&self) -> bool {
        self.exploration.resting.is_some()
    }
}

/// A permutation of the numbers that spreads neighbours.
fn spread(execution: u64) -> u64 {
    execution.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
