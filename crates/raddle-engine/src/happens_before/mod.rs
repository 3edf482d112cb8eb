//! Happens-before: vector clocks, and their update by accesses, fences, spawns and joins.
//!
//! **Invariant:** pure: threads and memory orders come in, clocks come out. Both semantics and the race detector use
//! it.

pub mod clock;
pub mod sync;

/// The memory model: which values a read may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Sequential consistency: a read sees the newest value.
    #[default]
    Sc,
    /// RC11, with the release sequences of C++20: a read may see an older value.
    Rc11,
}
