//! The verdict on an execution, by callers that know whether its results are right.

use super::Engine;
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::schedule::Schedule;
use crate::thread::ThreadStatus;

/// An execution that has ended. Its memory is still intact: threads that did not end are where they stopped.
#[derive(Clone, Copy, Debug)]
pub struct EndedExecution<'a> {
    /// The outcome, as far as the engine can tell.
    pub outcome: &'a Outcome,
    /// Number of events.
    pub steps: u64,
    /// Number of context switches.
    pub switches: u64,
    /// Number of threads.
    pub threads: usize,
    /// The first thread that blocked on a lock or a wake-up, or spun.
    pub waited: Option<ThreadId>,
    pub(crate) engine: &'a Engine,
}

impl EndedExecution<'_> {
    /// Rolls the statics back, and the memory that existed before the exploration. A judge that runs code of the user's does so first:
    /// statics of the execution may point to memory that will be used again, and the code may keep such pointers in thread-locals.
    /// The execution's own memory stays whole.
    pub fn roll_back_statics(&self) {
        if let Some(pages) = &self.engine.exploration.pages {
            pages.roll_back();
        }
    }

    /// Whether the execution counts: it is no repetition of another, and it is not discarded.
    pub fn counts(&self) -> bool {
        self.engine.exploration.scripted_limit.is_none() && !matches!(self.outcome, Outcome::Discarded(_))
    }

    /// The choices that make the execution again.
    pub fn schedule(&self) -> Schedule {
        self.engine.choices()
    }

    /// The call stacks of the threads that the outcome is about, if they are [saved](crate::Config::notes_stacks): of
    /// the thread that stopped the execution, or of all that were left. Each is a list of return addresses, innermost
    /// first.
    pub fn stacks(&self) -> Vec<Vec<usize>> {
        let addresses = |stack: &[CallFrame]| stack.iter().map(|frame| frame.return_address).collect();
        let threads = &self.engine.threads[..self.engine.execution.alive];
        match self.outcome {
            Outcome::ThreadLeak => {
                let leaked = self.engine.execution.leaked.borrow();
                leaked.iter().map(|&id| addresses(&threads[usize::from(id)].paused_at)).collect()
            }
            Outcome::Deadlock | Outcome::Livelock | Outcome::Endless | Outcome::TimeLimit => {
                let left = threads.iter().filter(|thread| thread.status != ThreadStatus::Finished);
                left.map(|thread| addresses(&thread.paused_at)).collect()
            }
            _ => vec![addresses(&self.engine.execution.stopped_at)],
        }
    }

    /// Sets the outcome class of the execution, for callers that distinguish executions by their results.
    /// [`SearchReport::outcome_counts`](crate::SearchReport::outcome_counts) counts the executions of each class. Equal results have one
    /// class in every process; the numbers are small and private to the process.
    pub fn set_outcome_class(&self, kind: usize) {
        self.engine.execution.outcome_class.set(Some(kind));
    }

    /// The position of each event in a linear extension of the execution graph: an order that sequential consistency
    /// allows, and in which each operation begins at one moment. None if there is none; then the graph is that of no
    /// execution.
    ///
    /// # Panics
    /// If the execution follows no graph.
    pub fn moments(&self) -> Option<Vec<u32>> {
        self.engine.linear_extension()
    }
}

/// The callback that decides the outcome of an ended execution. Its allocations belong to the engine and persist.
pub type Judge<'a> = dyn FnMut(&EndedExecution<'_>) -> Outcome + 'a;

/// The judge that accepts the engine's outcome.
pub fn as_it_ended(ended: &EndedExecution<'_>) -> Outcome {
    ended.outcome.clone()
}
