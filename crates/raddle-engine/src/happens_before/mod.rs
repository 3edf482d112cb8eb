//! The happens-before order of an execution: vector clocks, and how accesses, fences, spawns and joins advance them.
//!
//! Pure: threads and memory orders come in, clocks come out. Both semantics and the race detector use it.

pub mod clock;
pub mod sync;

/// The memory model: which values a read may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Sequential consistency: the newest.
    #[default]
    Sc,
    /// Those that C++20 allows, as repaired in RC11: a read may see an older one.
    Rc11,
}
