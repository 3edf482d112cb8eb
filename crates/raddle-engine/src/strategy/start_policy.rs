//! How strategies that sample start threads: eagerly in most executions.

use crate::rng::Rng;

/// In one of so many executions threads are started by choice, on the average: code that is not instrumented may tell.
const BY_CHOICE: usize = 8;

/// Chooses at random whether an execution starts threads eagerly.
#[derive(Clone, Debug, Default)]
pub(super) struct StartPolicy {
    pub(super) is_eager: bool,
}

impl StartPolicy {
    /// Begins an execution.
    pub(super) fn begin(&mut self, rng: &mut Rng) {
        self.is_eager = rng.below(BY_CHOICE) != 0;
    }
}
