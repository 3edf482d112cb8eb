//! What a thread is in the middle of, where executions follow a graph.

use std::ops::Range;

use crate::model_checker::Locking;

/// The scope that a thread belongs to, along an execution graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// The address of the number of its threads, by which scopes are told apart.
    pub(crate) count: usize,
    /// The word at which the owner of the scope parks.
    pub(crate) parker: usize,
    /// Whether the thread has left the scope.
    pub(crate) left: Left,
}

/// Whether a thread has left its scope: it has done all that the scope waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It runs.
    No,
    /// It left by this event of the execution graph.
    By(u32),
    /// The end of the scope comes after that event.
    SeenByOwner,
}

/// The latest counts of handles that `std::thread` made: those of a thread's result are among them when the thread is made.
pub(crate) type HandleCounts = [usize; 8];

/// A lock of `RwLock` that a thread holds. The word in memory counts all holders, too.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) lock: usize,
    pub(crate) shared: bool,
    /// The gates that it keeps closed.
    pub(crate) gates: Range<u16>,
    /// The shares that it consists of; none if the lock is one place.
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
    /// Not in one.
    #[default]
    None,
    /// Asked: what it made of the first values.
    Asked(usize, [u128; VALUES]),
    /// The event was made, and read this.
    Made(u128),
}

/// How many values a loop is asked about.
pub(crate) const VALUES: usize = 4;
