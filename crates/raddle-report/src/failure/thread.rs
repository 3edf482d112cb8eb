//! The threads of an execution, and their state at its end.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Location;

/// One thread of the execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The name given to the thread by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The state of the thread when the execution ended.
    pub end: ThreadEnd,
}

/// The state of a thread when the execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadEnd {
    /// The thread had returned.
    Finished,
    /// The thread had ended by a panic.
    Panicked,
    /// The thread was not blocked.
    Runnable,
    /// The thread was blocked. Made by [`ThreadEnd::waiting`].
    Waiting {
        /// The awaited thing in words: the printed form of `awaited`.
        on: String,
        /// The awaited thing; none in files of versions that wrote `on` alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        awaited: Option<WaitingFor>,
        /// The thread that holds the awaited thing, or that alone can end the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<u32>,
        /// The call stack: an index into [`Trace::stacks`](super::Trace::stacks).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u32>,
    },
}

impl ThreadEnd {
    /// The state of a blocked thread.
    pub fn waiting(target: WaitingFor, held_by: Option<u32>, at: Option<u32>) -> ThreadEnd {
        ThreadEnd::Waiting { on: target.to_string(), awaited: Some(target), held_by, at }
    }
}

/// The thing that a blocked thread waits for. The printed form is a noun phrase: ``mutex `A` ``, `thread 2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingFor {
    /// The end of a thread.
    Thread(u32),
    /// The end of all threads of a scope.
    Scope,
    /// The end of a sleep.
    Clock,
    /// A wake-up by, or the release of, a synchronisation primitive.
    Primitive {
        /// The kind of the primitive.
        kind: Primitive,
        /// The futex or lock word.
        place: Location,
    },
    /// A change of memory, in a spinloop.
    SpinLoop {
        /// The location that the loop reads, where its last event was a read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Location>,
    },
}

/// The kinds of synchronisation primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Primitive {
    /// A mutex.
    Mutex,
    /// A read-write lock.
    RwLock,
    /// A condition variable.
    Condvar,
    /// One-time initialisation.
    Once,
    /// A barrier.
    Barrier,
    /// A channel.
    Channel,
    /// The parking of a thread.
    Park,
    /// A futex whose purpose is not known.
    Futex,
    /// A monitor, which a thread is about to enter.
    Monitor,
}

impl Primitive {
    /// Whether one thread at a time holds the primitive, for which the others wait.
    pub fn has_holder(self) -> bool {
        matches!(self, Primitive::Mutex | Primitive::RwLock | Primitive::Once | Primitive::Monitor)
    }
}

impl WaitingFor {
    /// The memory location that must change for the wait to end.
    pub fn place(&self) -> Option<&Location> {
        match self {
            WaitingFor::Primitive { place, .. } => Some(place),
            WaitingFor::SpinLoop { place } => place.as_ref(),
            WaitingFor::Thread(_) | WaitingFor::Scope | WaitingFor::Clock => None,
        }
    }
}

impl fmt::Display for WaitingFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitingFor::Thread(thread) => write!(f, "thread {thread}"),
            WaitingFor::Scope => f.write_str("the threads of a scope"),
            WaitingFor::Clock => f.write_str("the clock"),
            WaitingFor::Primitive { kind, place: Location { name: Some(name), .. } } => {
                write!(f, "{kind} `{name}`")
            }
            WaitingFor::Primitive { kind, .. } => kind.fmt(f),
            WaitingFor::SpinLoop { place: None } => f.write_str("a loop"),
            WaitingFor::SpinLoop { place: Some(Location { name: Some(name), .. }) } => {
                write!(f, "a change of `{name}`, in a loop")
            }
            WaitingFor::SpinLoop { place: Some(_) } => f.write_str("a change, in a loop"),
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Primitive::Mutex => "mutex",
            Primitive::RwLock => "read-write lock",
            Primitive::Condvar => "condition",
            Primitive::Once => "initialisation",
            Primitive::Barrier => "barrier",
            Primitive::Channel => "channel",
            Primitive::Park => "unpark",
            Primitive::Futex => "a wake-up",
            Primitive::Monitor => "monitor",
        })
    }
}
