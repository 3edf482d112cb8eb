//! The configuration of a search, and its progress.

use std::time::Duration;

use super::Effort;
use crate::execution::{Also, Backend};
use crate::happens_before::Model;
use crate::isolate::heap;

/// The configuration of a search.
#[derive(Clone, Debug)]
pub struct Config {
    /// Limit of executions.
    pub executions: u64,
    /// Limit of time.
    pub budget: Option<Duration>,
    /// The larger effort granted to an exhaustive search that is estimated to finish within it. If the estimate is far
    /// beyond, the search ends at once.
    pub extended_effort: Option<Effort>,
    /// Time limit of an execution.
    pub time_limit: Duration,
    /// Limit of events of an execution.
    pub max_steps: u64,
    /// The implementation of virtual threads.
    pub backend: Backend,
    /// Bytes of stack per virtual thread.
    pub stack_size: usize,
    /// Seed of the random bytes of the code under test.
    pub seed: u64,
    /// Number of processes; 1 searches in this one.
    pub workers: usize,
    /// Executions in this process before it forks: a shorter search is not worth a process.
    pub alone: u64,
    /// Whether memory that existed before is rolled back: only if no other thread of the process uses it.
    pub roll_back_pages: bool,
    /// Whether the search is exhaustive.
    pub exhaustive: bool,
    /// Preemption bound of an exhaustive search.
    pub preemptions: Option<usize>,
    /// Whether an exhaustive search ends as soon as uninstrumented writes make it inconclusive.
    pub stop_when_inconclusive: bool,
    /// Whether each execution runs in a child process.
    pub fork: bool,
    /// Whether threads that can never run again after the closure's end are a failure.
    pub report_leaks: bool,
    /// Whether a thread that seems to spin runs on until its spinning is proven, for callers that ask which threads had
    /// to wait.
    pub prove_spins: bool,
    /// Whether a compare-exchange that fails has the failure order of the program in an exhaustive search, also where every compiler
    /// makes it sequentially consistent.
    pub strict_cas_failure_order: bool,
    /// Whether an exhaustive search explores executions in which other threads do nothing during a long sleep.
    pub sleeps_order_nothing: bool,
    /// Whether memory that is unreachable and not freed at the end of an execution is a failure.
    pub check_leaks: bool,
    /// Whether sampled executions are recognised, and not made, if they take no step that others did not take before. For judges whose
    /// verdict depends on the order of events alone.
    pub recognises: bool,
    /// Optional behaviour that is explored.
    pub also: Also,
    /// Whether the strategy claims to make all interleavings. Then the increment of an `Arc`'s count is a scheduling
    /// point, and a spinning thread is suspended only if each iteration is proven equal to the one before.
    pub claims_all: bool,
    /// Whether every execution saves the call stacks of its threads, for judges that need them.
    pub notes_stacks: bool,
    /// Whether data races are detected, which needs clocks.
    pub races: bool,
    /// What happens to freed memory.
    pub allocation: heap::Policy,
    /// Address of std's flag that threads need a signal stack. It is cleared during the exploration, because the engine
    /// has one.
    pub signal_stack_flag: Option<usize>,
    /// Address at which the frames of the functions that called the exploration begin, if known.
    pub callers: Option<usize>,
    /// The memory model.
    pub memory: Model,
    /// Functions that the user marked as counting references.
    pub reference_counts: Vec<String>,
    /// The name of the strategy.
    pub label: String,
    /// Called a few times a second.
    pub progress: fn(&Progress<'_>),
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Executions so far.
    pub executions: u64,
    /// The estimated number of executions, if known.
    pub estimate: Option<u64>,
    /// Number of choices of the latest execution.
    pub depth: usize,
}
