//! Which of several values an access has to do with, for strategies that sample.

use crate::rng::Rng;

/// Accesses that could go back do so once in this many times. Drawn for each execution: some bugs need all of its reads to be
/// old, others a single one.
const ONE_IN: [usize; 3] = [2, 4, 16];

/// Chooses at random how far back accesses go: mostly not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct StaleReadPolicy {
    /// Drawn when it is first needed, so that searches in which nothing is ever old draw the same threads as ever.
    one_in: Option<usize>,
}

impl StaleReadPolicy {
    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.one_in = None;
    }

    /// A number below `alternatives`.
    pub(super) fn choose(&mut self, rng: &mut Rng, alternatives: usize) -> usize {
        let one_in = *self.one_in.get_or_insert_with(|| ONE_IN[rng.below(ONE_IN.len())]);
        match rng.below(one_in) {
            0 => 1 + rng.below(alternatives - 1),
            _ => 0,
        }
    }
}
