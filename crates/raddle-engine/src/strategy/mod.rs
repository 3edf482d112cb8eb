//! How the next schedule is picked. One file per strategy; all of them implement [`Strategy`].

mod bounded;
mod pct;
mod pin_main_thread;
mod pos;
mod random;
mod round_robin;
mod scripted;
mod stale_reads;
mod yield_policy;

pub use bounded::Bounded;
pub use pct::Pct;
pub use pin_main_thread::PinMainThread;
pub use pos::Pos;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use scripted::Scripted;

use crate::op::{Pending, ThreadId};
use crate::thread::VThread;

/// A point of an execution at which more than one thread can go on.
#[derive(Debug)]
pub struct Point<'a> {
    /// The thread that ran last. It need not be able to go on.
    pub current: ThreadId,
    /// The threads that can, in ascending order; at least two.
    pub runnable: &'a [ThreadId],
    /// Those of them that do not ask to go later: others give way, or sleep and would hold up the rest if they woke now.
    pub active: &'a [ThreadId],
    pub(crate) threads: &'a [Box<VThread>],
    /// How many such points came before in this execution.
    pub choice: usize,
}

impl Point<'_> {
    /// Whether the thread that ran last can go on, and does not ask to go later.
    #[inline]
    pub fn current_goes_on(&self) -> bool {
        self.active.contains(&self.current)
    }

    /// The threads among which to choose if nothing speaks against it: in ascending order, at least one.
    #[inline]
    pub fn preferred(&self) -> &[ThreadId] {
        if self.active.is_empty() { self.runnable } else { self.active }
    }

    /// What the thread does when it is chosen.
    #[inline]
    pub fn pending(&self, thread: ThreadId) -> Pending {
        self.threads[thread as usize].pending
    }

    /// The thread that goes on if nothing speaks against it: the current one, else the next in turn.
    pub fn default_choice(&self) -> ThreadId {
        if self.current_goes_on() {
            return self.current;
        }
        self.next_in_turn()
    }

    /// The next thread that can go on after the current one, in order of their numbers.
    pub fn next_in_turn(&self) -> ThreadId {
        let threads = self.preferred();
        *threads.iter().find(|&&thread| thread > self.current).unwrap_or(&threads[0])
    }
}

/// Picks schedules. Called on the path of every event: must not block and should not allocate.
///
/// Life of a search: [`begin`](Strategy::begin), [`choose`](Strategy::choose) at each point, [`end`](Strategy::end), and
/// again, until `begin` says that there is nothing left or the search's budget is spent.
pub trait Strategy {
    /// Prepares the execution with this number (from 0). False if there is nothing left to explore.
    fn begin(&mut self, execution: u64) -> bool;

    /// The thread that goes on: one of [`Point::runnable`].
    fn choose(&mut self, point: &Point<'_>) -> ThreadId;

    /// How far back in modification order an access goes that could go to so many places: below `alternatives`, 0 is the newest.
    /// `choice` accesses had a choice before in this execution.
    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize;

    /// The thread has made many events while others could have gone on, and lets them. It may wait for them, in a loop with effects.
    fn demote(&mut self, _thread: ThreadId) {}

    /// The execution is over, with this many choices.
    fn end(&mut self, _choices: usize) {}

    /// Whether an execution depends on nothing but its number, so that executions can be made in any order, by several
    /// processes. The execution with number 0 is always made first, in every process.
    fn is_indexed(&self) -> bool;

    /// Whether everything that the strategy can reach was explored, once `begin` has returned false.
    fn is_exhaustive(&self) -> bool {
        false
    }
}
