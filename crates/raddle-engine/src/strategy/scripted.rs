//! A given schedule, from a person or a failure file.

use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::schedule::{ALL_POINTS, Schedule};

/// A strategy that makes the given choices, then lets each thread run as long as it can and read the newest values. It
/// makes one execution.
///
/// A choice that names a thread which cannot go on ends the execution as [`Diverged`](crate::Outcome::Diverged).
#[derive(Debug)]
pub struct Scripted {
    script: Schedule,
}

impl Scripted {
    /// The strategy that follows this script.
    pub fn new(mut script: Schedule) -> Scripted {
        if script.threads.first() == Some(&ALL_POINTS) {
            script.threads.remove(0);
        }
        Scripted { script }
    }
}

impl Strategy for Scripted {
    fn begin(&mut self, execution: u64) -> bool {
        execution == 0
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        self.script.threads.get(point.choice).copied().unwrap_or_else(|| point.default_choice())
    }

    fn choose_reads_from(&mut self, _alternatives: usize, choice: usize) -> usize {
        self.script.mo_offsets.get(choice).copied().unwrap_or(0).into()
    }

    fn is_indexed(&self) -> bool {
        false
    }
}
