//! Near-linear deciders for histories of collections in which no value is added twice.
//!
//! The checker takes one by itself when the model names its [`Collection`] and the history allows it.

use crate::value::Value;

/// A collection that a monitor knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collection {
    /// First in, first out.
    Queue,
    /// Last in, first out.
    Stack,
    /// The largest element first; values may be ranked otherwise, see [`crate::model::priority_queue`].
    PriorityQueue {
        /// Whether the smallest comes first instead.
        smallest_first: bool,
    },
    /// Elements that are present or not.
    Set,
    /// One cell.
    Register {
        /// What it holds before any write.
        initial: Value,
    },
}

/// What an operation with its result is to a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It put this value in: enqueue, push, insert, write.
    Add(Value),
    /// It took this value out.
    Remove(Value),
    /// It saw this value where the collection shows values (head, top, the register) and left it there.
    Peek(Value),
    /// It saw that this value is not there (sets only).
    Absent(Value),
    /// It found the collection empty.
    Empty,
}
