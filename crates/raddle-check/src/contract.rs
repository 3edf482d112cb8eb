//! What makes a history correct.

pub(crate) mod linearizable;

use crate::engine::Attempt;
use crate::engine::limits::Exhausted;

/// The relation between a history and the model that has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contract {
    /// Each operation takes effect at one instant between its call and its return.
    #[default]
    Linearizable,
}

/// What a contract's search found in one part.
pub(crate) enum Finding {
    Accepted,
    /// `operation` and the orders are positions in the part.
    Rejected {
        operation: Option<usize>,
        prefix: usize,
        attempts: Vec<Attempt>,
    },
    Unknown {
        limit: Exhausted,
        events: usize,
    },
}
