//! Locks of `std::sync::RwLock`, whose readers have no order among themselves.
//!
//! Nobody can tell in which order readers came and went; what matters is which writers came before each of them and which after.
//! So a lock is not one place but some for each thread that reads it. One is the thread's *share*: who reads locks its own, who
//! writes locks all, always in the same order. Readers then commute, and an execution is told from others by where each reader
//! is among the writers. That a reader synchronises with those that left before it came is not used, as nobody promises that.
//!
//! Before its share each reader has a *gate*, which it passes; a writer closes all of them before it waits for the shares. So a
//! writer that waits for one reader already keeps others out, as in std, and whoever reads twice at once may wait for ever.
//!
//! Which threads read is learned: the search begins anew when there is another. A lock that somebody tries to take, or whose word
//! is accessed in another way, is one place, because not all shares can be looked at in one moment: then its word takes
//! their part and that of the gates, and all changes of it have an order. That a writer waits is a bit of the word, set and cleared
//! where std does. That readers wait is not: it matters only to those who try, while writers wait as well.

use super::ModelChecker;
use super::refcounts::{Refinement, Restart};
use crate::graph::stored::stored;
use crate::op::ThreadId;

/// How a lock is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// As one place, without shares.
    pub(crate) whole: bool,
    /// The number of a reader's gate and share; how many there are for a writer.
    pub(crate) number: u16,
}

/// What a thread wants of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockUse {
    /// To read, having waited.
    Read,
    /// To write, having waited.
    Write,
    /// Anything else: to know whether it can be locked.
    Look,
}

impl Locking {
    /// As a number of [`Schedule::counts`](crate::schedule::Schedule::counts), in which the first ones mean something else.
    fn to_number(self) -> u16 {
        FIRST + self.number * 2 + u16::from(self.whole)
    }

    fn from_number(number: u16) -> Option<Locking> {
        let number = number.checked_sub(FIRST)?;
        Some(Locking { whole: number % 2 == 1, number: number / 2 })
    }
}

const FIRST: u16 = 3;

/// Where the schedule that is followed was made for another execution.
const UNKNOWN: Locking = Locking { whole: true, number: 0 };

/// What is known of locks.
#[derive(Debug, Default)]
pub(crate) struct RwLocks {
    known: Vec<RwLock>,
}

#[derive(Debug)]
struct RwLock {
    address: usize,
    whole: bool,
    /// The threads that read it, by share.
    readers: Vec<ThreadId>,
}

stored!(RwLocks { known });
stored!(RwLock { address, whole, readers });

impl RwLocks {
    fn lock(&mut self, address: usize) -> &mut RwLock {
        let at = self.known.iter().position(|lock| lock.address == address).unwrap_or_else(|| {
            self.known.push(RwLock { address, whole: false, readers: Vec::new() });
            self.known.len() - 1
        });
        &mut self.known[at]
    }

    pub(crate) fn make_whole(&mut self, address: usize) {
        self.lock(address).whole = true;
    }

    pub(crate) fn add_reader(&mut self, address: usize, reader: ThreadId) {
        let readers = &mut self.lock(address).readers;
        if !readers.contains(&reader) {
            readers.push(reader);
        }
    }
}

impl ModelChecker {
    /// A thread is about to use a lock: says how.
    pub(crate) fn locking(
        &mut self,
        thread: ThreadId,
        address: usize,
        purpose: LockUse,
    ) -> Result<Locking, Restart> {
        let locking = match &self.script {
            Some(script) => {
                let number = script.schedule.counts.get(self.references.so_far.made.len());
                number.and_then(|&number| Locking::from_number(number)).unwrap_or(UNKNOWN)
            }
            None => {
                let lock = self.rwlocks.lock(address);
                let whole = lock.whole;
                let number = match purpose {
                    LockUse::Look if whole => 0,
                    LockUse::Look => return Err(self.learn(Refinement::WholeLock(address))),
                    LockUse::Write => lock.readers.len().max(1),
                    LockUse::Read => {
                        // Writers have the first share in any case.
                        if lock.readers.is_empty() {
                            lock.readers.push(thread);
                        }
                        match lock.readers.iter().position(|&reader| reader == thread) {
                            Some(number) => number,
                            None => return Err(self.learn(Refinement::Reader(address, thread))),
                        }
                    }
                };
                Locking { whole, number: number as u16 }
            }
        };
        self.references.so_far.made.push(locking.to_number());
        Ok(locking)
    }

    /// Whether the word at the address is that of a lock which is accessed by shares.
    #[inline]
    pub(crate) fn is_shared_lock(&self, address: usize) -> bool {
        self.rwlocks.known.iter().any(|lock| lock.address == address && !lock.whole)
    }

    /// From now on the address of something outside memory stands for something else. False if it stood for nothing yet.
    pub(crate) fn begin_generation(&mut self, address: usize) -> bool {
        self.places.begin_generation(address)
    }
}
