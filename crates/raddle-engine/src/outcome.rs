//! Outcomes of executions.

use crate::detect::fault::Fault;
use crate::op::ThreadId;

/// The outcome of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The closure returned and all threads ended.
    Passed,
    /// A panic left the closure, or ended a thread that was not joined.
    Panic {
        /// The thread.
        thread: ThreadId,
    },
    /// No thread can run.
    Deadlock,
    /// The remaining threads spin, and no write can release them.
    Livelock,
    /// The execution did not end under [fair scheduling](crate::execution), either.
    Endless,
    /// The time limit was exceeded.
    TimeLimit,
    /// The closure returned, but threads are left that can never run again.
    ThreadLeak,
    /// A signal ended the execution.
    Crash {
        /// The thread that ran.
        thread: ThreadId,
        /// The signal's number.
        signal: i32,
        /// The faulting address, for memory faults.
        address: usize,
    },
    /// A thread overflowed its stack.
    StackOverflow {
        /// The thread.
        thread: ThreadId,
    },
    /// A memory error.
    Fault(Fault),
    /// The code under test ended the process.
    Exit {
        /// The thread that did.
        thread: ThreadId,
        /// The exit code.
        code: i32,
    },
    /// The judge rejected the results of an execution that passed.
    Rejected,
    /// The strategy chose a thread that cannot run: the execution is not the one that the schedule was made for.
    Diverged {
        /// Number of the choice, from 0.
        choice: usize,
    },
    /// Behaviour that the exhaustive search does not support: accesses of different sizes to the same memory or of 128
    /// bits, a fence in all threads, or a long sleep that another strategy handles better.
    Unsupported {
        /// The thread that did it.
        thread: ThreadId,
    },
    /// Threads declared symmetric behaved differently.
    Asymmetric {
        /// The thread that showed it.
        thread: ThreadId,
    },
    /// The execution is discarded.
    Discarded(Discarded),
}

impl Outcome {
    /// The outcome with its thread renumbered.
    pub(crate) fn map_thread(mut self, number: impl Fn(ThreadId) -> ThreadId) -> Outcome {
        match &mut self {
            Outcome::Panic { thread }
            | Outcome::Crash { thread, .. }
            | Outcome::StackOverflow { thread }
            | Outcome::Exit { thread, .. }
            | Outcome::Unsupported { thread }
            | Outcome::Asymmetric { thread } => *thread = number(*thread),
            _ => {}
        }
        self
    }
}

/// The reason for discarding an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// A thread is blocked in a way that another execution continues: this one shows nothing new.
    Blocked,
    /// Every interleaving of the execution has more preemptions than the bound allows.
    BoundExceeded,
    /// The execution must be repeated with a new fact: a spin assumption, or a line of a stack that threads share.
    Repeat,
    /// The search restarts with a finer abstraction; earlier executions do not count.
    Restart,
}
