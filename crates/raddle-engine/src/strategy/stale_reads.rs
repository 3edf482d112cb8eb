//! Stale reads of strategies that sample.

use crate::rng::Rng;

/// Inverse probabilities of a stale access, one of which is drawn for each execution: some bugs need all reads to be
/// stale, others a single one.
const ONE_IN: [usize; 3] = [2, 4, 16];

/// Chooses positions in modification order at random: mostly the newest.
#[derive(Clone, Debug, Default)]
pub(super) struct StaleReadPolicy {
    /// Drawn when first needed, so that programs without such choices have the same schedules as ever.
    one_in: Option<usize>,
}

impl StaleReadPolicy {
    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.one_in = None;
    }

    /// The position in modification order: a number below `alternatives`.
    pub(super) fn choose(&mut self, rng: &mut Rng, alternatives: usize) -> usize {
        let one_in = *self.one_in.get_or_insert_with(|| ONE_IN[rng.below(ONE_IN.len())]);
        match rng.below(one_in) {
            0 => 1 + rng.below(alternatives - 1),
            _ => 0,
        }
    }
}
