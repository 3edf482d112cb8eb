//! Limits on time and memory that end a search instead of the process.

use std::time::{Duration, Instant};

/// How much a check may use before it gives up with an unknown verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time for the whole check.
    pub time: Option<Duration>,
    /// Bytes held by one search: states, transitions and configurations, as counted by the checker.
    pub memory: Option<usize>,
}

/// Which limit ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
}

/// What is left of the [`Limits`] of one search.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    deadline: Option<Instant>,
    memory: usize,
    /// Configurations expanded so far.
    pub(crate) steps: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits, start: Instant) -> Budget {
        Budget {
            deadline: limits.time.map(|time| start + time),
            memory: limits.memory.unwrap_or(usize::MAX),
            steps: 0,
        }
    }

    /// Counts one step of a search that holds `bytes` now.
    pub(crate) fn spend(&mut self, bytes: impl FnOnce() -> usize) -> Result<(), Exhausted> {
        self.steps += 1;
        if self.memory != usize::MAX && bytes() > self.memory {
            return Err(Exhausted::Memory);
        }
        // Reading the clock costs more than a step; models slow enough to matter here take microseconds a step.
        if self.steps.is_multiple_of(256) { self.check_time() } else { Ok(()) }
    }

    pub(crate) fn check_time(&self) -> Result<(), Exhausted> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Exhausted::Time),
            _ => Ok(()),
        }
    }
}
