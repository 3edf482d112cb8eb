//! Which execution graphs are explored: those that the memory model allows, within the preemption bound, and one of each set of
//! symmetric ones.

pub(crate) mod preemption_bound;
pub(super) mod rc11;
pub(super) mod sc;
pub(super) mod symmetry;
