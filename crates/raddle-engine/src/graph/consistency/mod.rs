//! The execution graphs that are explored: those that the memory model allows, within the preemption bound, and one
//! representative of each class of symmetric graphs.
//!
//! | module | what it decides |
//! |---|---|
//! | `sc` | sequential consistency |
//! | `rc11`, `psc` | RC11 |
//! | [`preemption_bound`] | the least number of preemptions that a graph takes |
//! | `symmetry` | whether symmetric threads are in canonical order |

pub(crate) mod preemption_bound;
pub(super) mod psc;
pub(super) mod rc11;
pub(super) mod sc;
pub(super) mod symmetry;

#[cfg(test)]
mod tests;
