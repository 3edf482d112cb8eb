//! Answers as data. `QUERY.md` describes their JSON form.

use serde::{Deserialize, Serialize};

/// The answer to a [`Question`](super::Question) of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the payloads are documented")]
pub enum Answer {
    Origin(Origin),
    Accesses(Accesses),
    Missed(Missed),
    Before(Before),
    Order(Order),
    When(When),
    PointOfNoReturn(PointOfNoReturn),
    NearestPass(NearestPass),
    Why { answers: Vec<Answer> },
}

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The number of the event.
    pub event: u32,
    /// The thread of the event.
    pub thread: u32,
    /// The event in words, as the report prints it.
    pub text: String,
    /// The source line: `queue.rs:12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// The chain of reads and writes by which a value came about, backwards in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The value in question, as the report prints it; none for events without one, such as a panic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The chain. The first step is the event in question.
    pub steps: Vec<Step>,
    /// The end of the chain.
    pub end: End,
}

/// One step of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The event.
    pub at: Moment,
    /// The relation of the step before (the later event) to this one.
    pub link: Link,
    /// Whether the relation is recorded. If not, it is likely.
    pub certain: bool,
}

/// The relation of a later event to an earlier one in the chain of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// The event in question.
    Asked,
    /// The later event reads what the earlier one wrote.
    ReadsFrom,
    /// The thread read the same value earlier.
    SameValue,
    /// The thread computed the value from one that it read earlier.
    ComputedFrom,
    /// The thread read the value that the message or result mentions.
    Mentioned,
    /// The operation returned the value that the message mentions.
    Returned,
    /// The last read of the thread.
    LastRead,
}

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The initial value of the location.
    Initial {
        /// The name of the location.
        location: String,
    },
    /// A write that is not recorded: plain or by the standard library, or before the first recorded event.
    NotRecorded {
        /// The name of the location.
        location: String,
    },
    /// A value of the thread's own: a constant, or moved into the thread when it was spawned.
    Own {
        /// The thread.
        thread: u32,
        /// The event that spawned the thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawned_by: Option<Moment>,
    },
    /// The address of an object or of an allocated block.
    Address {
        /// The object, or the block in words.
        of: String,
        /// The event that made it, where recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<Moment>,
    },
    /// The chain is longer than this.
    CutOff,
}

/// The accesses to a memory location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// The name of the location.
    pub location: String,
    /// The writes, in modification order.
    pub writes: Vec<Moment>,
    /// The reads, in the order of the trace.
    pub reads: Vec<Read>,
    /// The misses of all writes.
    pub missed: Vec<Missed>,
}

/// A read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The event.
    pub at: Moment,
    /// The number of the event that wrote the value; none for the initial value and for writes that are no events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Whether a newer write exists at that time of the trace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// A write, and who should have seen it and did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// The write.
    pub write: Moment,
    /// The events that missed it.
    pub by: Vec<Miss>,
}

/// An event that missed a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// The event.
    pub at: Moment,
    /// The kind of the miss.
    pub how: HowMissed,
    /// For [`HowMissed::Overwrote`], the read whose older value the thread relied on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Moment>,
    /// The last event of the writing thread that happens before the read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knew: Option<Moment>,
    /// The edge of happens-before whose absence allowed the miss: from the write to the read.
    pub missing: (u32, u32),
}

/// The kinds of misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HowMissed {
    /// The event comes later in the trace and reads an older value.
    ReadOlder,
    /// The event overwrites the write although its thread last read an older value.
    Overwrote,
}

/// The events that happen before an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The event in question.
    pub event: Moment,
    /// For each other thread with such events, the last of them.
    pub threads: Vec<Known>,
    /// For each other thread, the events earlier in the trace that need not have happened before.
    pub unordered: Vec<Unordered>,
}

/// The events of a thread that happen before another event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The last of them.
    pub last: Moment,
    /// The number of them.
    pub events: u32,
    /// The synchronisation that orders them: edges between threads from the last of them to the event in question.
    pub path: Vec<Edge>,
}

/// The events of a thread that precede an event in the trace only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unordered {
    /// The first of them.
    pub first: Moment,
    /// The number of them.
    pub events: u32,
}

/// A synchronises-with edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The earlier event.
    pub from: Moment,
    /// The later event, of another thread.
    pub to: Moment,
}

/// The order of two events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// One event.
    pub first: Moment,
    /// The other event.
    pub second: Moment,
    /// The relation.
    pub relation: Relation,
    /// The synchronisation that orders them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Edge>,
    /// If the events are unordered, the last event of the earlier one's thread that happens before the later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knew: Option<Moment>,
}

/// The relation of two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The first happens before the second.
    Before,
    /// The second happens before the first.
    After,
    /// Both are the same event.
    Same,
    /// Neither happens before the other.
    Unordered,
}

/// The times at which a condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// The condition.
    pub condition: String,
    /// The spans of time, in order.
    pub spans: Vec<Span>,
}

/// A span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The event after which the condition holds; none if it holds before the first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Moment>,
    /// The event after which the condition no longer holds; none if it holds to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
}

/// The event from which on the failure was unavoidable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointOfNoReturn {
    /// The event.
    pub event: Moment,
    /// The number of executions that were tried.
    pub executions: u64,
    /// Whether there are no others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhaustive: bool,
}

/// The passing execution that is most like the failing one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearestPass {
    /// The last event that both executions have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<Moment>,
    /// The next event of the failing execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<Moment>,
    /// The next event of the passing execution; its number is one of that execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Moment>,
    /// The scheduling choices of the passing execution.
    pub schedule: String,
}
