//! The result of a search.

use std::time::Duration;

use crate::left_out::LeftOut;
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::schedule::Schedule;
use crate::thread::ThreadStatus;

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    /// Executions.
    pub executions: u64,
    /// Those of them that were recognised as equal to others, and not made.
    pub recognised: u64,
    /// Blocked executions, which show nothing new.
    pub blocked: u64,
    /// Execution graphs beyond the preemption bound.
    pub exceeded: u64,
    /// The estimated number of executions, if the exhaustive search took long enough for an estimate.
    pub estimate: Option<u64>,
    /// Whether the exhaustive search saw uninstrumented writes, so that its result is inconclusive.
    pub inconclusive: bool,
    /// Whether the exhaustive search restarted, so that earlier processes' counts are void.
    pub restarted: bool,
    /// Whether the strategy has explored all that it can reach.
    pub complete: bool,
    /// The same, whatever was left out. Set by the caller, who decides about completeness.
    pub exhausted: bool,
    /// Behaviour that was left out. If there is any, the search is not complete.
    pub left_out: LeftOut,
    /// Events of all executions in this process, including those before checkpoints.
    pub steps: u64,
    /// Events that were made rather than restored: executions of an exhaustive search begin at checkpoints.
    pub steps_made: u64,
    /// Context switches of all executions in this process.
    pub switches: u64,
    /// Executions by outcome class.
    pub outcome_counts: Vec<u64>,
    /// Elapsed time.
    pub elapsed: Duration,
    /// The first failure.
    pub failure: Option<Found>,
}

/// An execution with its outcome, most often a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The outcome.
    pub outcome: Outcome,
    /// The number within the search, from 0.
    pub execution: u64,
    /// The choices.
    pub schedule: Schedule,
    /// The number of events.
    pub steps: u64,
    /// The thread and message of the last panic.
    pub panic: Option<(ThreadId, String)>,
    /// The threads.
    pub threads: Vec<ThreadReport>,
}

/// A thread at the end of its execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// The name.
    pub name: Option<String>,
    /// The status: what it waited for.
    pub state: ThreadStatus,
    /// Whether the thread panicked.
    pub panicked: bool,
    /// The call stack of its last pause, if stacks were saved.
    pub paused_at: Vec<CallFrame>,
}
