//! The result of a search.

use std::time::Duration;

use crate::left_out::LeftOut;
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::schedule::Schedule;
use crate::thread::ThreadStatus;

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    /// Executions made.
    pub executions: u64,
    /// Explorations that were cut because they show nothing new.
    pub blocked: u64,
    /// Execution graphs that the exhaustive search saw, and left, because they take too many preemptions.
    pub exceeded: u64,
    /// About how many executions there are, if the exhaustive search took long enough to be estimated.
    pub estimate: Option<u64>,
    /// Whether the exhaustive search saw effects of code that it does not see: what it says is then not sure.
    pub unsure: bool,
    /// Whether the exhaustive search began anew, so that what earlier processes counted is void.
    pub anew: bool,
    /// Whether the strategy has explored all it can reach.
    pub complete: bool,
    /// The same, whatever was left out. Set by whoever decides about completeness.
    pub exhausted: bool,
    /// What was left out: if there is anything, what was explored is not everything.
    pub left_out: LeftOut,
    /// Events of all executions made in this process.
    pub steps: u64,
    /// How many of them were made: executions of an exhaustive search begin where earlier ones were.
    pub steps_made: u64,
    /// Changes of thread in all executions made in this process.
    pub switches: u64,
    /// How many executions there were of each kind that the judge told apart.
    pub kinds: Vec<u64>,
    /// How long it took.
    pub elapsed: Duration,
    /// The first failure.
    pub failure: Option<Found>,
}

/// A failing execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How it ended.
    pub outcome: Outcome,
    /// Its number within the search, from 0.
    pub execution: u64,
    /// Its choices.
    pub schedule: Schedule,
    /// Its events.
    pub steps: u64,
    /// What its last panic said, and in which thread.
    pub panic: Option<(ThreadId, String)>,
    /// Its threads.
    pub threads: Vec<ThreadReport>,
}

/// How a thread stood when its execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// Its name.
    pub name: Option<String>,
    /// What it waited for.
    pub state: ThreadStatus,
    /// Whether a panic ended it.
    pub panicked: bool,
    /// Where it last paused, if a trace was recorded.
    pub paused_at: Vec<CallFrame>,
}
