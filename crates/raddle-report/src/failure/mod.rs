//! The failure model: the data by which one failing execution is named, replayed and explained.
//!
//! The JSON form of [`Failure`] is the failure file, described in `FORMAT.md`. Within one [`FORMAT`] fields are only ever added, and
//! readers ignore unknown fields. Field names are those of the file.

mod alternatives;
mod debug_text;
mod kind;
mod memory;
mod objects;
mod origin;
mod scenario;
mod schedule;
mod thread;
mod trace;
mod value_text;

use serde::{Deserialize, Serialize};

pub use alternatives::{NearestPass, PointOfNoReturn};
pub use kind::{Certainty, Kind};
pub use memory::{Block, Did, Fault, FaultStep};
pub use objects::{Change, Datum, Field, Object, Objects, Pointer, Root};
pub use origin::{Build, FoundBy};
pub use scenario::{Operation, Recipe, Scenario};
pub use schedule::Schedule;
pub use thread::{Primitive, Thread, ThreadEnd, WaitingFor};
pub use trace::{Action, Event, Frame, Location, Order, StackNode, Switch, Trace, Value, Write};
pub use value_text::ValueText;

/// The version of the failure file that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// One failing execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The version of the file format, [`FORMAT`] when written by this crate.
    pub format: u32,
    /// The name of the failing test, as libtest spells it (`module::test`).
    pub test: String,
    /// The class of the failure.
    pub kind: Kind,
    /// The failure in one sentence: the panic message, the number of blocked threads, ...
    pub message: String,
    /// The strength of the evidence against the code under test.
    #[serde(default)]
    pub certainty: Certainty,
    /// The thread that panicked, crashed, overflowed its stack or ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// The program that failed; a replay needs the same one.
    pub build: Build,
    /// The search that found the execution.
    pub found_by: FoundBy,
    /// The scheduling choices that reproduce the execution.
    pub schedule: Schedule,
    /// In weak memory, the reads-from choices: for each access with a choice, the distance of its write from the newest write in
    /// modification order.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub look_back: Schedule,
    /// Under the exhaustive search, the abstraction of each access to a reference count or `RwLock`: 1 is a decrement that is an
    /// event, 2 is a precise access, 3 and more are the modes of a `RwLock`.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub counts: Schedule,
    /// The number of events after which the execution had reached a limit and the threads were scheduled fairly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_since: Option<u64>,
    /// The seed of the random bytes given to the code under test, unless it is the seed of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<u64>,
    /// The threads of the execution, by number; thread 0 runs the closure.
    pub threads: Vec<Thread>,
    /// The scenario of a declarative test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// The explanation of incorrect results, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The memory error or data race, where the failure is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The events of the execution.
    pub trace: Trace,
    /// The objects that the threads share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Objects>,
    /// The event from which on the failure was unavoidable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_of_no_return: Option<PointOfNoReturn>,
    /// The passing execution that is most like the failing one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_pass: Option<Box<NearestPass>>,
    /// The path of the failure file, once written.
    #[serde(skip)]
    pub file: Option<std::path::PathBuf>,
}
