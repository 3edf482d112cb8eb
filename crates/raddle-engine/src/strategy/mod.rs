//! Strategies, which pick the next schedule. One file per strategy; all of them implement [`Strategy`].

mod bounded;
mod continuing;
mod enumerating;
mod only_marked;
mod pct;
mod pin_main_thread;
mod pos;
mod random;
mod round_robin;
mod scripted;
mod stale_reads;
mod start_policy;
mod turns;
mod yield_policy;

pub use bounded::Bounded;
pub use continuing::Continuing;
pub use enumerating::Enumerating;
pub use only_marked::OnlyMarked;
pub use pct::Pct;
pub use pin_main_thread::PinMainThread;
pub use pos::Pos;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use scripted::Scripted;
pub use turns::{Infeasible, TurnLog, TurnSource, Turns, Why};

use crate::op::{Pending, ThreadId};
use crate::thread::{ThreadStatus, VThread};

/// A scheduling point at which more than one thread can go on.
#[derive(Debug)]
pub struct Point<'a> {
    /// The thread that ran last. It need not be runnable.
    pub current: ThreadId,
    /// The threads that can go on, in ascending order; at least two.
    pub runnable: &'a [ThreadId],
    /// The active ones of them. The others yield, or sleep and would delay the rest if they woke now.
    pub active: &'a [ThreadId],
    pub(crate) steps: Steps<'a>,
    /// Number of earlier such points in this execution.
    pub choice: usize,
}

/// The threads at a scheduling point, with the steps that they take next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Steps<'a> {
    /// Threads that are there now.
    Now(&'a [Box<VThread>]),
    /// The steps of threads that were there in an earlier execution.
    Saved(&'a [Pending]),
}

impl Point<'_> {
    /// Whether the thread that ran last is active.
    #[inline]
    pub fn current_goes_on(&self) -> bool {
        self.active.contains(&self.current)
    }

    /// The threads among which to choose by default: the active ones, if any. In ascending order, at least one.
    #[inline]
    pub fn preferred(&self) -> &[ThreadId] {
        if self.active.is_empty() { self.runnable } else { self.active }
    }

    /// The step that the thread takes if it is chosen.
    #[inline]
    pub fn pending(&self, thread: ThreadId) -> Pending {
        match self.steps {
            Steps::Now(threads) => threads[thread as usize].pending,
            Steps::Saved(steps) => steps[thread as usize],
        }
    }

    /// The status of a thread. None for those of an earlier execution.
    pub(crate) fn status(&self, thread: ThreadId) -> Option<ThreadStatus> {
        match self.steps {
            Steps::Now(threads) => threads.get(usize::from(thread)).map(|thread| thread.status),
            Steps::Saved(_) => None,
        }
    }

    /// The default choice: the current thread, else the next in turn.
    pub fn default_choice(&self) -> ThreadId {
        if self.current_goes_on() {
            return self.current;
        }
        self.next_in_turn()
    }

    /// The next preferred thread after the current one, in order of their numbers.
    pub fn next_in_turn(&self) -> ThreadId {
        let threads = self.preferred();
        *threads.iter().find(|&&thread| thread > self.current).unwrap_or(&threads[0])
    }
}

/// A strategy: picks schedules. It is called on the path of every event: it must not block and should not allocate.
///
/// Life of a search: [`begin`](Strategy::begin), [`choose`](Strategy::choose) at each scheduling point,
/// [`end`](Strategy::end), and again, until `begin` returns false or the search's budget is spent.
pub trait Strategy {
    /// Prepares the execution with this number (from 0). False if there is nothing left to explore.
    fn begin(&mut self, execution: u64) -> bool;

    /// The thread that goes on: one of [`Point::runnable`].
    fn choose(&mut self, point: &Point<'_>) -> ThreadId;

    /// The position in modification order of an access with several `alternatives`: below that number, 0 is the newest.
    /// `choice` accesses had a choice before in this execution.
    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize;

    /// Which of the waiting threads a wake-up of one wakes, by its position; the first has waited longest. `choice` is that of
    /// [`choose_reads_from`](Strategy::choose_reads_from), among whose choices this one counts.
    fn choose_waiter(&mut self, waiters: &[ThreadId], choice: usize) -> usize {
        self.choose_reads_from(waiters.len(), choice)
    }

    /// Demotes a thread that has made many events while others were runnable: it may wait for them, in a loop with
    /// effects.
    fn demote(&mut self, _thread: ThreadId) {}

    /// Ends an execution with this many choices.
    fn end(&mut self, _choices: usize) {}

    /// Whether an execution depends on its number only, so that executions can be made in any order, by several
    /// processes. Execution 0 is made first in every process.
    fn is_indexed(&self) -> bool;

    /// Whether, in the execution that begins, a new thread runs to its first event at once, before anything is chosen.
    fn starts_threads_eagerly(&self) -> bool {
        false
    }

    /// Whether all that the strategy knows of an execution is its number, the points at which threads are chosen, and the answers to its
    /// other questions. Then executions with the same first choices may begin at a checkpoint behind them.
    fn depends_on_points_alone(&self) -> bool {
        false
    }

    /// Whether all schedules that the strategy can reach were explored, once `begin` has returned false.
    fn is_exhaustive(&self) -> bool {
        false
    }
}
