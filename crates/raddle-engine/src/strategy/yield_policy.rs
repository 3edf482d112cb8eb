//! Obedience of strategies that sample to yields and sleeps.

use super::Point;
use crate::op::ThreadId;
use crate::rng::Rng;

/// Probabilities, in sixteenths, that a yield or short sleep is ignored, one of which is drawn for each execution: some
/// bugs need a thread to spin through a loop in haste, others to wait patiently. Never all of them, so that loops make
/// progress.
const IGNORED: [usize; 4] = [0, 0, OF / 4, OF - 1];
const OF: usize = 16;

/// Chooses at random which yields and short sleeps to ignore.
#[derive(Clone, Debug, Default)]
pub(super) struct YieldPolicy {
    /// Drawn when first needed, so that programs without yields have the same schedules as ever.
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
