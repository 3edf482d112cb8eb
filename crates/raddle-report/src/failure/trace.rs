//! The trace: events, call stacks, and the values and locations that events mention.

use serde::{Deserialize, Serialize};

use super::{Change, Did};

/// The recorded events of an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The events, in an order that extends program order, reads-from and happens-before.
    pub events: Vec<Event>,
    /// The call stacks, as a tree: each node is one frame and the node of its caller.
    pub stacks: Vec<StackNode>,
    /// The frames of the call stacks.
    pub frames: Vec<Frame>,
    /// The number of events before the first recorded one, where the execution was too long to record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// One event of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The thread of the event.
    pub thread: u32,
    /// The action of the event.
    pub action: Action,
    /// The call stack: an index into [`Trace::stacks`]; none where the code address is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The reason for the context switch right before this event, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switch>,
    /// The source of a read: the write at the other end of its rf edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<Write>,
    /// The immediate predecessor of a write in modification order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<Write>,
    /// The events of other threads that happen before this event, but not before its predecessor in program order: the last of
    /// each thread, without those that another one implies. All synchronisation is included: release and acquire, fences,
    /// spawning, joining, locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synchronises_with: Vec<u32>,
    /// The changes of objects since the previous event of the trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A write to a location, as rf and mo edges refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Write {
    /// The initial value of the location.
    Initial,
    /// A write that is no event of the trace: a plain write, a write of the standard library, or an omitted one.
    Unseen,
    /// The event with this number.
    Event(u32),
}

/// The reason for a context switch, seen from the thread that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// The strategy preempted the thread, which could have continued.
    Preempted,
    /// The thread waits for a futex (a lock, a condition variable, an unpark).
    Blocked,
    /// The thread waits for another one to end.
    Joining,
    /// The thread sleeps.
    Sleeping,
    /// The thread yielded (`yield_now`).
    Yielded,
    /// The thread spins: another iteration would read the same values again.
    Spinning,
    /// The thread ended.
    Finished,
}

/// The action of an event.
#[allow(missing_docs, reason = "the variants' documentation names their fields")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// An atomic load; `newest` is set if the value is stale.
    Load {
        place: Location,
        order: Order,
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<Value>,
    },
    /// An atomic store; `newest` is the value of an earlier store that comes later in modification order, if there is one.
    Store {
        place: Location,
        order: Order,
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<Value>,
    },
    /// An atomic read-modify-write: `op` is `swap`, `fetch_add`, ...
    Rmw { place: Location, order: Order, op: String, read: Value, written: Value },
    /// A compare-exchange. `read` equals `expected` exactly if it succeeded; `newest` is set if `read` is stale; `failure` is the
    /// failure ordering of one that failed, where that differs from `order`.
    Cas {
        place: Location,
        order: Order,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Order>,
        expected: Value,
        new: Value,
        read: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<Value>,
    },
    /// A fence.
    Fence { order: Order },
    /// The beginning of a futex wait: the thread blocks if the location holds the expected value.
    Wait { place: Location, expected: Value, blocks: bool, timeout_ns: Option<u64> },
    /// The end of a futex wait.
    Woken { place: Location, timed_out: bool },
    /// A futex wake or requeue, with the woken threads.
    Wake { place: Location, woken: Vec<u32> },
    /// A plain access, or an atomic one to freed memory, recorded where it explains the failure.
    Access { place: Location, kind: Did },
    /// A plain write of `length` bytes to memory that other threads may know; `value` is what the location holds after it, if the
    /// write has at most 16 bytes. Not a scheduling point.
    Write {
        place: Location,
        length: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// An allocation, recorded where it explains the failure.
    Allocate { address: u64, size: u64 },
    /// A free, recorded where it explains the failure.
    Free { address: u64 },
    /// The creation of a thread.
    Spawn { thread: u32 },
    /// The join of a thread that has ended.
    Join { thread: u32 },
    /// The first event of a thread.
    Begin,
    /// The last event of a thread.
    End,
    /// A yield.
    Yield,
    /// A sleep, in virtual time.
    Sleep { ns: u64 },
    /// A panic.
    Panic { message: String },
    /// The call of a scenario's operation.
    Call { call: String },
    /// The return of a scenario's operation.
    Return { call: String, result: String },
    /// Any other event, in words.
    Note { text: String },
}

impl Event {
    /// Whether the event is a plain write: part of the state, no step of the interleaving.
    pub fn is_plain_write(&self) -> bool {
        matches!(self.action, Action::Write { .. })
    }
}

impl Action {
    /// The accessed location.
    pub fn place(&self) -> Option<&Location> {
        match self {
            Action::Load { place, .. }
            | Action::Store { place, .. }
            | Action::Rmw { place, .. }
            | Action::Cas { place, .. }
            | Action::Access { place, .. }
            | Action::Write { place, .. }
            | Action::Wait { place, .. }
            | Action::Woken { place, .. }
            | Action::Wake { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The value written by an atomic access, or by a plain one if it is known.
    pub fn written(&self) -> Option<Value> {
        match *self {
            Action::Write { value, .. } => value,
            Action::Store { value, .. } => Some(value),
            Action::Rmw { written, .. } => Some(written),
            Action::Cas { expected, new, read, .. } => (expected == read).then_some(new),
            _ => None,
        }
    }
}

/// A memory location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The name of the static, local or field, where debug information gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address, which is the same in every replay.
    pub address: u64,
    /// The size in bytes.
    pub size: u8,
}

/// An integer in memory, wide enough for every atomic type. Written as a decimal string, because JSON numbers have 53 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Value(pub u128);

/// A memory order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// `Relaxed`
    Relaxed,
    /// `Acquire`
    Acquire,
    /// `Release`
    Release,
    /// `AcqRel`
    AcqRel,
    /// `SeqCst`
    SeqCst,
}

/// A node of the tree of call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackNode {
    /// The innermost frame: an index into [`Trace::frames`].
    pub frame: u32,
    /// The stack of the caller: an index into [`Trace::stacks`], smaller than this node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
}

/// One frame of a call stack: a function, inlined or not, and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The demangled function, without its hash: `my_crate::Counter::inc`.
    pub function: String,
    /// The source file, relative to the workspace where it lies inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the function belongs to the standard library or to Raddle, and not to the user or their dependencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
    /// Whether the function belongs to a dependency that cargo has fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dependency: bool,
}

impl From<Value> for String {
    fn from(value: Value) -> String {
        value.0.to_string()
    }
}

impl TryFrom<String> for Value {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Value, Self::Error> {
        text.parse().map(Value)
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
