//! A given schedule: what a person wrote down, or what a failure file recorded.

use super::{Point, Strategy};
use crate::thread::ThreadId;

/// Takes the given threads at the first choices, then lets each thread run as long as it can. Makes one execution.
///
/// A choice that names a thread which cannot go on ends the execution as [`Diverged`](crate::Outcome::Diverged).
#[derive(Debug)]
pub struct Scripted {
    script: Vec<ThreadId>,
}

impl Scripted {
    /// The strategy that follows this script.
    pub fn new(script: Vec<ThreadId>) -> Scripted {
        Scripted { script }
    }
}

impl Strategy for Scripted {
    fn begin(&mut self, execution: u64) -> bool {
        execution == 0
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        self.script.get(point.choice).copied().unwrap_or_else(|| point.default_choice())
    }

    fn is_indexed(&self) -> bool {
        false
    }
}
