//! The configuration of a search, and how far it has come.

use std::time::Duration;

use super::Effort;
use crate::execution::{Also, Backend};
use crate::happens_before::Model;
use crate::isolate::heap;

/// What to search and for how long.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many executions at most.
    pub executions: u64,
    /// How long at most.
    pub budget: Option<Duration>,
    /// What an exhaustive search may cost instead, if an estimate says that it comes to its end within that. If that is far,
    /// the search ends at once.
    pub reach: Option<Effort>,
    /// How long one execution may take.
    pub time_limit: Duration,
    /// Events per execution.
    pub max_steps: u64,
    /// What virtual threads run on.
    pub backend: Backend,
    /// Bytes of stack per virtual thread.
    pub stack_size: usize,
    /// Seed of what the code under test sees as random.
    pub seed: u64,
    /// Worker processes; 1 searches in this one.
    pub workers: usize,
    /// How many executions are made in this one before there are others: what is done sooner is not worth a process.
    pub alone: u64,
    /// Whether memory that existed before is rolled back: only if no other thread of the process uses it.
    pub roll_back_pages: bool,
    /// Whether every execution is to be explored once.
    pub exhaustive: bool,
    /// How many preemptions the executions of an exhaustive search may take.
    pub preemptions: Option<usize>,
    /// Whether such a search ends as soon as it is not sure of what it says.
    pub only_if_sure: bool,
    /// Whether each execution is made in a process of its own.
    pub fork: bool,
    /// Whether threads that can never run again after the closure's end are a failure.
    pub report_leaks: bool,
    /// Whether a thread that seems to spin goes on alone until that is proven: for those who ask which threads had to wait.
    pub prove_spins: bool,
    /// Whether the exhaustive search takes the memory model to the letter, also where no compiler does.
    pub to_the_letter: bool,
    /// Whether memory that was not freed at an execution's end is a failure.
    pub check_leaks: bool,
    /// What else may happen.
    pub also: Also,
    /// Whether the strategy claims to make all interleavings: then threads may change where a handle of an `Arc` is made, and a thread
    /// that goes round is left out only if each round is proven to be like the one before.
    pub claims_all: bool,
    /// Whether every execution notes where its threads stand: for those who judge a failure by that.
    pub notes_stacks: bool,
    /// Whether data races are looked for, which needs clocks.
    pub races: bool,
    /// What happens to freed memory.
    pub allocation: heap::Policy,
    /// Where std notes that threads need a signal stack of their own: switched off meanwhile, for the engine has one.
    pub signal_stack_flag: Option<usize>,
    /// Where the frames of the functions begin that called the exploration, if that is known.
    pub callers: Option<usize>,
    /// Which values reads may see.
    pub memory: Model,
    /// The code that the classifier knows to count references, besides that of std.
    pub reference_counts: Vec<String>,
    /// What the strategy is called.
    pub label: String,
    /// Called a few times a second.
    pub progress: fn(&Progress<'_>),
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Executions made.
    pub executions: u64,
    /// About how many there are, if that is known.
    pub estimate: Option<u64>,
    /// Choices of the latest execution.
    pub depth: usize,
}
