//! Per-thread state of graph-driven executions.

use std::ops::Range;

use crate::model_checker::Locking;

/// The `thread::scope` that a thread belongs to, in a graph-driven execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// The address of the scope's thread count, which identifies the scope.
    pub(crate) count: usize,
    /// The futex at which the owner of the scope parks.
    pub(crate) parker: usize,
    /// Whether the thread has left the scope.
    pub(crate) left: Left,
}

/// Whether a thread has left its scope, which waits for nothing more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The thread runs in the scope.
    No,
    /// The thread left by this event of the execution graph.
    By(u32),
    /// The end of the scope has observed the event.
    SeenByOwner,
}

/// The latest reference counts that `std::thread` made. When a thread is spawned, those of its result are among them.
pub(crate) type HandleCounts = [usize; 8];

/// A lock of a `RwLock` that a thread holds. The word in memory counts all holders, too.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) lock: usize,
    pub(crate) shared: bool,
    /// The gates that the holder keeps closed.
    pub(crate) gates: Range<u16>,
    /// The shares that the holder has; none if the lock is one location.
    pub(crate) shares: Range<u16>,
}

impl Hold {
    pub(crate) fn new(lock: usize, shared: bool, locking: Locking) -> Hold {
        let Locking { whole, number } = locking;
        let all = match (whole, shared) {
            (true, _) => 0..0,
            (false, true) => number..number + 1,
            (false, false) => 0..number,
        };
        Hold { lock, shared, gates: all.clone(), shares: all }
    }
}

/// Progress of a thread through the loop into which the compiler expanded a read-modify-write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expansion {
    /// Outside of such a loop.
    #[default]
    None,
    /// Probing: the results of the loop for the first values.
    Asked(usize, [u128; VALUES]),
    /// The event was made, and read this value.
    Made(u128),
}

/// Number of values that identify the operation of a loop.
pub(crate) const VALUES: usize = 4;
