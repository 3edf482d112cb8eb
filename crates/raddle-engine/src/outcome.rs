//! How executions end.

use crate::detect::fault::Fault;
use crate::op::ThreadId;

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The closure returned and all threads ended.
    Passed,
    /// A panic left the closure, or ended a thread that nobody joined.
    Panic {
        /// The thread.
        thread: ThreadId,
    },
    /// No thread can run.
    Deadlock,
    /// The threads that are left only spin, and nothing can change that.
    Livelock,
    /// The execution did not end, although every thread that could go on did, again and again: see `engine::fair`.
    Endless,
    /// More time than allowed.
    TimeLimit,
    /// The closure returned, but threads are left that can never run again.
    ThreadLeak,
    /// A signal.
    Crash {
        /// The thread that ran.
        thread: ThreadId,
        /// The signal's number.
        signal: i32,
        /// The address it was about, for memory faults.
        address: usize,
    },
    /// A thread's stack was too small.
    StackOverflow {
        /// The thread.
        thread: ThreadId,
    },
    /// Memory was not used as memory may be.
    Fault(Fault),
    /// The code under test ended the process.
    Exit {
        /// The thread that did.
        thread: ThreadId,
        /// The exit code.
        code: i32,
    },
    /// The execution ended well, but its results are wrong: the judge says so.
    Rejected,
    /// The strategy asked for a thread that cannot run: the execution is not the one it was made for.
    Diverged {
        /// Number of the choice, from 0.
        choice: usize,
    },
    /// Something that the exhaustive search cannot follow: accesses of different sizes to the same memory or of 128 bits, a
    /// fence in all threads, or a long sleep where other searches can do better.
    Unsupported {
        /// The thread that did it.
        thread: ThreadId,
    },
    /// Threads declared symmetric behaved differently.
    Asymmetric {
        /// The thread that showed it.
        thread: ThreadId,
    },
    /// The execution does not count.
    Discarded(Discarded),
}

impl Outcome {
    /// The same outcome of an execution whose threads have other numbers.
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

/// Why an execution does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// A thread is blocked in a way that another execution continues: this one shows nothing new.
    Blocked,
    /// Every interleaving of the execution has more preemptions than the bound allows.
    BoundExceeded,
    /// The execution has to be repeated with what it found out: a spin assumption, a line of a stack that threads share.
    Repeat,
    /// The search restarts with a finer abstraction; the executions that it has made do not count.
    Restart,
}
