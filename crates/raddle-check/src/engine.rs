//! The search for an order that explains a history.
//!
//! [`frontier`] walks the events of a history in real time and keeps every way to have ordered what happened so far;
//! [`chains`] orders operations that are tied only by chains and counts. Both step through one [`lts`]: the model,
//! turned lazily into numbered states and transitions.

pub(crate) mod chains;
pub(crate) mod config;
pub(crate) mod frontier;
pub(crate) mod limits;
pub(crate) mod lts;
pub(crate) mod mask;

/// How far one attempt to order a history got before nothing fitted any more.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// The operations in the order they were placed.
    pub(crate) order: Vec<usize>,
    /// Where that led.
    pub(crate) state: lts::StateId,
    /// What may come next, where that is not a matter of real time.
    pub(crate) next: Option<Vec<usize>>,
}
