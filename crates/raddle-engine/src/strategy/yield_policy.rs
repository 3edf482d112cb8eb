//! Whether threads that ask to go later do, for strategies that sample.

use super::Point;
use crate::op::ThreadId;
use crate::rng::Rng;

/// Of so many points at which a thread gives way or sleeps, this many go by as if it did not. Drawn for each execution: some
/// bugs need a thread to go round a loop in yield_policy, others to wait patiently. Never all of them, so that loops make progress.
const IGNORED: [usize; 4] = [0, 0, OF / 4, OF - 1];
const OF: usize = 16;

/// Chooses at random when to ignore that threads ask to go later.
#[derive(Clone, Debug, Default)]
pub(super) struct YieldPolicy {
    /// Drawn when it is first needed, so that searches in which nobody ever asks draw the same threads as ever.
    ignored: Option<usize>,
}

impl YieldPolicy {
    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.ignored = None;
    }

    /// The threads among which to choose.
    #[inline]
    pub(super) fn choose<'a>(&mut self, rng: &mut Rng, point: &'a Point<'_>) -> &'a [ThreadId] {
        if point.active.len() == point.runnable.len() {
            return point.runnable;
        }
        let ignored = *self.ignored.get_or_insert_with(|| IGNORED[rng.below(IGNORED.len())]);
        if rng.below(OF) < ignored { point.runnable } else { point.preferred() }
    }
}
