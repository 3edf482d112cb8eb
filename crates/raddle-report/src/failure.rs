//! The failure model: everything needed to name, replay and explain one failing execution.
//!
//! The JSON form of [`Failure`] is the failure file. Fields are only ever added within one [`FORMAT`]; readers ignore
//! fields they do not know.

use serde::{Deserialize, Serialize};

/// The version of the failure file that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// One failing execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The file format, [`FORMAT`] when written by this version.
    pub format: u32,
    /// The test that failed, as libtest names it (`module::test`).
    pub test: String,
    /// What went wrong.
    pub kind: Kind,
    /// One sentence for the person who reads it: the panic message, who waits for whom, ...
    pub message: String,
    /// How sure it is that the code under test is wrong.
    #[serde(default)]
    pub certainty: Certainty,
    /// The thread that did it, where one did: that panicked, crashed, ran over its stack or ended the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// The program that failed; a replay needs the same one.
    pub build: Build,
    /// How the execution was found.
    pub found_by: FoundBy,
    /// The choices that make the execution.
    pub schedule: Schedule,
    /// In weak memory: how far back in modification order each access went that had a choice; 0 is the newest.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub look_back: Schedule,
    /// Under the exhaustive search: which accesses to counts of references were events of their own. 1 is the end of a handle,
    /// 2 any access to a count that something looks at; 3 and more say how a `RwLock` was taken.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub counts: Schedule,
    /// After so many events the execution had reached a limit; from then on the threads took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_since: Option<u64>,
    /// The seed of the random bytes that the code under test got, if it is not that of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<u64>,
    /// The threads of the execution, by id: 0 is the one that runs the closure.
    pub threads: Vec<Thread>,
    /// The scenario, where the test is made of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// Why the results of the scenario are wrong, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What is wrong with memory, where that is the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Everything that happened, in order.
    pub trace: Trace,
    /// The file that the failure was written to.
    #[serde(skip)]
    pub file: Option<std::path::PathBuf>,
}

/// The classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A panic left the closure, or ended a thread that nobody joined.
    Panic,
    /// No thread can run and some have not finished.
    Deadlock,
    /// Threads run, but only to wait in loops for something that no thread can do.
    Livelock,
    /// The execution made more events than the limit allows.
    StepLimit,
    /// The execution (or one step of it) took longer than the limit allows.
    TimeLimit,
    /// A thread was still running when the closure returned.
    ThreadLeak,
    /// A signal: segmentation fault, illegal instruction, abort, ...
    Crash,
    /// A thread ran over the end of its stack.
    StackOverflow,
    /// The code under test ended the process.
    Exit,
    /// The results of the operations break the contract: no order that it allows explains them.
    IncorrectResults,
    /// The object is not as it should be after the operations: its validation panicked.
    Validation,
    /// An operation stays suspended although it could go on.
    LostWakeUp,
    /// An operation waits for another thread, in an object that should be obstruction-free.
    NotObstructionFree,
    /// No operation completes for too long, in an object that should be lock-free.
    NotLockFree,
    /// Two accesses to the same memory that nothing orders, at least one of them a write and one of them not atomic.
    DataRace,
    /// An access to memory that was freed.
    UseAfterFree,
    /// Memory was freed again.
    DoubleFree,
    /// Something was freed that is no block of memory.
    InvalidFree,
    /// Memory was left that nothing refers to.
    MemoryLeak,
}

impl Kind {
    /// Its name, as failure files have it.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Kind> {
        serde_json::from_value(name.into()).ok()
    }
}

/// How sure a failure is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The execution itself shows it: the code under test can do this.
    #[default]
    Proven,
    /// The execution was ended by a limit: it may only need longer.
    Limit {
        /// Which limit, in a sentence without its full stop.
        reason: String,
    },
}

/// What is wrong with memory: which, and who did what to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The bytes that were accessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The blocks of memory that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// What explains it, in order.
    pub steps: Vec<FaultStep>,
}

/// A block of memory that the code under test allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its address. Addresses are the same in every replay.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it was allocated for (`Box<my_crate::Node>`), where debug information tells.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
}

/// One step of what went wrong with memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultStep {
    /// The thread.
    pub thread: u32,
    /// What it did.
    pub did: Did,
    /// The block or the place that it is about.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
    /// Where: an index into [`Trace::stacks`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// What a thread did to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they say what they mean")]
pub enum Did {
    Allocate,
    Free,
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
}

/// Identity of the program that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// File name of the test binary.
    pub binary: String,
    /// The binary's identity (its build id, or a hash of its text), in hexadecimal.
    pub id: String,
    /// The cargo package and target the binary was built from, where known (`my-crate`, `test:counter`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The arguments that chose how cargo built it (`--release`, `--features x`), so that a replay can build it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cargo_args: Vec<String>,
}

/// Which search found the failure, so that the same search can be run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBy {
    /// The strategy with its parameters, as the `RADDLE_STRATEGY` variable would spell it: `random`, `pct:3`.
    pub strategy: String,
    /// The memory model, as `RADDLE_MEMORY` would spell it, unless it is `sc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The search's seed.
    pub seed: u64,
    /// Number of the execution within the search, from 1.
    pub execution: u64,
    /// Number of the exploration within the test, from 0: a test may explore more than once.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub exploration: u32,
    /// What happened to freed memory, as `RADDLE_ALLOCATION` would spell it.
    /// Left out for `quarantine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<String>,
    /// The code that was known to count references, as `RADDLE_REFERENCE_COUNTS` would spell it. Left out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_counts: Option<String>,
    /// What else could happen, as `RADDLE_ALSO` would spell it. Left out if there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
}

impl FoundBy {
    /// [`Self::strategy`] of executions on real threads, of which nothing is recorded.
    pub const STRESS: &str = "stress";

    /// Whether the execution ran on real threads, so that it cannot be replayed.
    pub fn is_stress(&self) -> bool {
        self.strategy == FoundBy::STRESS
    }
}

/// The choices of an execution: the thread taken at each point where more than one could go on, or whatever else there was to
/// choose.
///
/// Written run-length encoded: `0x3 1 0x2` is threads 0, 0, 0, 1, 0, 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Schedule(pub Vec<u16>);

impl Schedule {
    /// Whether there was no choice.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One thread of the execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it stood when the execution ended.
    pub end: ThreadEnd,
}

/// How a thread stood when the execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadEnd {
    /// It had run to its end.
    Finished,
    /// It had ended by a panic.
    Panicked,
    /// It could have gone on.
    Runnable,
    /// It was waiting.
    Waiting {
        /// For what: ``mutex `A` ``, `thread 2`, `park`, ...
        on: String,
        /// The thread that holds it or that alone can end the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<u32>,
        /// Where it waits: an index into [`Trace::stacks`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u32>,
    },
}

/// A scenario of operations: what the test did, before how it was interleaved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Operations before the threads start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub init: Vec<Operation>,
    /// Operations of each thread.
    pub parallel: Vec<Vec<Operation>>,
    /// Operations after the threads have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post: Vec<Operation>,
    /// Rust code that asks a test for this scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// One operation and what it returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The call, printed: `push(1)`.
    pub call: String,
    /// The result, printed; none if the operation did not return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How the test can make the same call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
}

/// How a test makes a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The operation.
    pub operation: String,
    /// The numbers that its arguments are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u64>,
    /// The number of the call in the test's custom scenarios, if it comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<usize>,
    /// When it is given up: `suspended` or `woken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
}

/// Everything that happened in the execution, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The events.
    pub events: Vec<Event>,
    /// The call stacks that events refer to: a tree, each node one frame and the node of its caller.
    pub stacks: Vec<StackNode>,
    /// The frames that stacks refer to.
    pub frames: Vec<Frame>,
    /// How many events were left out before the first one here, when the execution was too long to keep.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// One step that the engine controlled or saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The thread that did it.
    pub thread: u32,
    /// What it did.
    pub action: Action,
    /// Where: an index into [`Trace::stacks`]; none where the code address is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Set where this event comes after one of another thread: why the threads changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switch>,
    /// The write that it reads, if it is an access that reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<Write>,
    /// The write right before its own in modification order, if it is an access that writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<Write>,
    /// The events of other threads that happened before this one, and of which its thread had not known: the last of each
    /// thread, and none that follows from another. Spawning, joining, locks and everything else that orders threads is
    /// among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synchronises_with: Vec<u32>,
}

/// A write to a place, as others refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Write {
    /// What the place held before any event wrote it.
    Initial,
    /// A write that is no event of the trace: a plain one, one of the standard library, or one that was left out.
    Unseen,
    /// The event of this number.
    Event(u32),
}

/// Why the thread before this one stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// The strategy chose so; the thread could have gone on.
    Preempted,
    /// It waits for a futex (a lock, a condition, a park).
    Blocked,
    /// It waits for another thread to end.
    Joining,
    /// It sleeps.
    Sleeping,
    /// It gave way (`yield_now`).
    Yielded,
    /// It spins: it would only read the same values again.
    Spinning,
    /// It came to its end.
    Finished,
}

/// What an event did.
#[allow(missing_docs, reason = "the variants' documentation names their fields")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// An atomic load; `newest` if the value is an older one.
    Load {
        place: Place,
        order: Order,
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<Value>,
    },
    /// An atomic store; `newest` if an earlier store comes later in modification order, so that the place holds that one's value.
    Store {
        place: Place,
        order: Order,
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<Value>,
    },
    /// An atomic read-modify-write: `op` is `swap`, `fetch_add`, ...
    Rmw { place: Place, order: Order, op: String, read: Value, written: Value },
    /// A compare-exchange; `read` equals `expected` exactly if it succeeded; `newest` if what it read is an older value;
    /// `failure` is the order of the load that it was, if it failed and that order is another.
    Cas {
        place: Place,
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
    /// A futex wait begins: the thread blocks unless the place no longer holds the expected value.
    Wait { place: Place, expected: Value, blocks: bool, timeout_ns: Option<u64> },
    /// A futex wait ends.
    Woken { place: Place, timed_out: bool },
    /// A futex wake (or requeue), with the threads it woke.
    Wake { place: Place, woken: Vec<u32> },
    /// A plain access, or an atomic one that could not be made because the memory is gone. Recorded where it explains the
    /// failure.
    Access { place: Place, kind: Did },
    /// A block of memory is allocated. Recorded where it explains the failure.
    Allocate { address: u64, size: u64 },
    /// A block of memory is freed. Recorded where it explains the failure.
    Free { address: u64 },
    /// A thread is made.
    Spawn { thread: u32 },
    /// A thread was waited for and has ended.
    Join { thread: u32 },
    /// The thread begins.
    Begin,
    /// The thread ends.
    End,
    /// The thread gives way.
    Yield,
    /// The thread sleeps; time is virtual.
    Sleep { ns: u64 },
    /// The thread panics.
    Panic { message: String },
    /// An operation of the scenario begins.
    Call { call: String },
    /// An operation of the scenario returns.
    Return { call: String, result: String },
    /// Something worth a line that has no class of its own.
    Note { text: String },
}

impl Action {
    /// The place that it touched.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Action::Load { place, .. }
            | Action::Store { place, .. }
            | Action::Rmw { place, .. }
            | Action::Cas { place, .. }
            | Action::Access { place, .. }
            | Action::Wait { place, .. }
            | Action::Woken { place, .. }
            | Action::Wake { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The value that an atomic access wrote.
    pub fn written(&self) -> Option<Value> {
        match *self {
            Action::Store { value, .. } => Some(value),
            Action::Rmw { written, .. } => Some(written),
            Action::Cas { expected, new, read, .. } => (expected == read).then_some(new),
            _ => None,
        }
    }
}

/// A memory location that an event touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The name of the static, local or field, where debug information gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address. Addresses are the same in every replay.
    pub address: u64,
    /// Its size in bytes.
    pub size: u8,
}

/// An integer in memory, wide enough for every atomic. Written as a decimal string beyond 53 bits.
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
    /// The stack of its caller: an index into [`Trace::stacks`], always smaller than this node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
}

/// One frame of a call stack: a function (inlined or not) and the line in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The demangled function, without its hash: `my_crate::Counter::inc`.
    pub function: String,
    /// The source file as the compiler wrote it, made relative to the workspace where it lies inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether it belongs to the standard library or to Raddle rather than to the user or their dependencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        raddle_options::schedule::encode(&schedule.0)
    }
}

impl TryFrom<String> for Schedule {
    type Error = String;

    fn try_from(text: String) -> Result<Schedule, String> {
        raddle_options::schedule::decode(&text).map(Schedule)
    }
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

fn is_zero_u32(n: &u32) -> bool {
    *n == 0
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
