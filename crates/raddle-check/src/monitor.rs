//! Near-linear deciders for histories of collections in which no value is added twice.
//!
//! The checker takes one by itself when the model names its [`Collection`] and the history allows it. The rules are
//! those of Henzinger et al. (queue), Gibbons and Korach (register), and the decrease-and-conquer family of Lee et al.
//! (stack, priority queue), with operations that find the collection empty.
//!
//! All speak of ranks, not times, so that no two ends of operations coincide. A value is certainly inside between the
//! first return and the last call of its operations: its *critical* interval. What matters is which gaps between
//! neighbouring ranks such intervals cover.

mod cover;
mod facts;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;
mod tree;

#[cfg(feature = "models")]
pub(crate) use priority_queue::priority;

use facts::Facts;

use crate::timeline::Span;
use crate::value::Value;

/// A collection that a monitor knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collection {
    /// First in, first out.
    Queue,
    /// Last in, first out.
    Stack,
    /// Best first. The priority of an element that is a pair is its first part; any other element is its own priority.
    PriorityQueue {
        /// Whether the smallest comes first instead of the largest.
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

impl Collection {
    /// The name of the monitor.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Collection::Queue => "queue",
            Collection::Stack => "stack",
            Collection::PriorityQueue { .. } => "priority-queue",
            Collection::Set => "set",
            Collection::Register { .. } => "register",
        }
    }
}

/// What a monitor found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted,
    Violation(Complaint),
}

/// Why a monitor rejects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) summary: String,
    /// Operations that are wrong by themselves, by position.
    pub(crate) core: Vec<usize>,
}

/// An operation as a monitor sees it.
pub(crate) enum Seen {
    Role(Role),
    /// It reads and its outcome is unknown: as if it were not there.
    Ignored,
    /// No role describes it.
    Unclear,
}

/// Decides whether operations of `collection` are linearizable; the error says why this monitor cannot.
pub(crate) fn decide(
    collection: &Collection,
    operations: usize,
    spans: impl FnOnce() -> Vec<Span>,
    seen: impl Fn(usize) -> Seen,
) -> Result<Answer, String> {
    facts::look_for_repetition(operations, &seen)?;
    let facts = match Facts::gather(collection, spans(), &seen)? {
        Ok(facts) => facts,
        Err(complaint) => return Ok(Answer::Violation(complaint)),
    };
    let name = |op: u32| match seen(op as usize) {
        Seen::Role(Role::Add(value) | Role::Remove(value) | Role::Peek(value) | Role::Absent(value)) => value,
        _ => Value::Nil,
    };
    let result = match collection {
        Collection::Queue => queue::check(&facts, &name),
        Collection::Stack => stack::check(&facts, &name),
        Collection::PriorityQueue { smallest_first } => priority_queue::check(&facts, &name, *smallest_first),
        Collection::Set => set::check(&facts, &name),
        Collection::Register { .. } => register::check(&facts, &name),
    };
    Ok(match result {
        Ok(()) => Answer::Accepted,
        Err(complaint) => Answer::Violation(complaint),
    })
}
