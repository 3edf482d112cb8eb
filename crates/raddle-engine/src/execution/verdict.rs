//! The last word on an execution, for those who know more than the engine: whether its results are right.

use super::Engine;
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::schedule::Schedule;
use crate::thread::State;

/// An execution that has ended. Its memory is still whole: threads that did not end are where they stopped.
#[derive(Clone, Copy, Debug)]
pub struct EndedExecution<'a> {
    /// How it ended, as far as the engine can tell.
    pub outcome: &'a Outcome,
    /// Its events.
    pub steps: u64,
    /// Its changes of thread.
    pub switches: u64,
    /// How many threads it had.
    pub threads: usize,
    /// The first thread that could not go on by itself: it waited for a lock or a wake-up, or span.
    pub waited: Option<ThreadId>,
    pub(crate) engine: &'a Engine,
}

impl EndedExecution<'_> {
    /// Its choices.
    pub fn schedule(&self) -> Schedule {
        self.engine.choices()
    }

    /// Where the threads stood that the outcome is about, each by its return addresses, innermost first, if that is
    /// [noted](crate::Config::notes_stacks): the one that stopped the execution, or all that were left.
    pub fn stacks(&self) -> Vec<Vec<usize>> {
        let addresses = |stack: &[CallFrame]| stack.iter().map(|frame| frame.return_address).collect();
        let threads = &self.engine.threads[..self.engine.alive];
        match self.outcome {
            Outcome::ThreadLeak => {
                let leaked = self.engine.leaked.borrow();
                leaked.iter().map(|&id| addresses(&threads[usize::from(id)].paused_at)).collect()
            }
            Outcome::Deadlock | Outcome::Livelock | Outcome::Endless | Outcome::TimeLimit => {
                let left = threads.iter().filter(|thread| thread.state != State::Finished);
                left.map(|thread| addresses(&thread.paused_at)).collect()
            }
            _ => vec![addresses(&self.engine.stopped_at)],
        }
    }

    /// Says of which kind the execution is, for those who tell executions apart by their results:
    /// [`SearchReport::kinds`](crate::SearchReport::kinds) says how many there were of each. Equal results are of one kind, in
    /// every process; the numbers are small and those of the process.
    pub fn is_of_kind(&self, kind: usize) {
        self.engine.kind.set(Some(kind));
    }

    /// When each event of an execution happens that follows a graph: an order that sequential consistency allows, and in which
    /// each operation begins at one moment. None if there is no such order; then the graph is that of no execution.
    ///
    /// # Panics
    /// If the execution follows no graph.
    pub fn moments(&self) -> Option<Vec<u32>> {
        self.engine.exhaustive.as_ref().expect("it follows a graph").linear_extension()
    }
}

/// Says how an execution is to count: as the engine says, or otherwise. What it allocates is the engine's and stays.
pub type Judge<'a> = dyn FnMut(&EndedExecution<'_>) -> Outcome + 'a;

/// The judge that knows no more than the engine.
pub fn as_it_ended(ended: &EndedExecution<'_>) -> Outcome {
    ended.outcome.clone()
}
