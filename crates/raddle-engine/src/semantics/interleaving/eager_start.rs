//! Eager starts: a new thread runs to its first event at once, and control goes back to the thread that spawned it.
//!
//! What a thread does before its first event, and its parent between spawns, is seen by nobody: every execution is equivalent to one in
//! which the threads were started eagerly. Two choices for each thread are made by nobody then, neither at the spawn nor at the first
//! event. The strategy knows the first steps of all threads when it first chooses, and executions have all spawns in common, so that they
//! begin behind them ([prefixes](crate::execution::prefixes)).
//!
//! Not every event is seen: parts of the standard library are not instrumented. Therefore strategies start threads eagerly in most
//! executions, not in all of them.
//!
//! **Invariant:** The schedule has the choices at the spawn and at the first event like any others, so that a replay need not know how they
//! were made.

use crate::execution::Engine;
use crate::op::ThreadId;

impl Engine {
    /// Lets the thread, which the current one has just made, be the next one, and return from its first event.
    pub(super) fn start_eagerly(&mut self, thread: ThreadId) {
        if self.execution.starts_eagerly {
            self.threads[thread as usize].returns_to = Some(self.execution.current);
            self.execution.starting = Some(thread);
        }
    }

    /// The next thread, if an eager start decides it: the one that was just made, or the one that made the current thread.
    #[inline]
    pub(super) fn next_by_eager_start(&mut self) -> Option<ThreadId> {
        if !self.execution.starts_eagerly {
            return None;
        }
        let current = usize::from(self.execution.current);
        self.execution.starting.take().or_else(|| {
            self.threads[current].returns_to?;
            self.threads[current].returns_to.take()
        })
    }
}
