//! The abstraction of `std::sync::RwLock`: its readers are not ordered among themselves.
//!
//! A program can observe which writers come before and after each reader, but not the order of readers. So the graph represents a
//! lock by several synthetic locations for each thread that reads it. The first is the thread's *share*: a reader locks its own
//! share, and a writer locks all of them, in a fixed order. Then readers commute, and executions differ only in the position of
//! each reader among the writers. A reader does not synchronize with readers that left before: std promises no such edge.
//!
//! The second is the *gate* of the share: a reader passes it before it locks the share, and a writer closes all gates before it
//! waits for the shares. So a writer that waits for one reader keeps others out, as in std, and a thread that reads recursively
//! may deadlock.
//!
//! The readers of a lock are learned: the search restarts when there is another one ([`Refinement::RwLockReader`]). A lock that a
//! thread tries to take, or whose word a thread accesses in another way, is *whole* ([`Refinement::WholeRwLock`]): not all shares
//! can be read at one instant, so its word replaces shares and gates, and all changes of the word are ordered. The word has a bit
//! for waiting writers, set and cleared as std does. The bit for waiting readers is not modelled: only threads that try to take
//! the lock can observe it, and only while writers wait too.

use super::abstraction_log::FIRST_LOCKING;
use super::{ModelChecker, Refinement, Restart};
use crate::graph::stored::stored;
use crate::op::ThreadId;

/// The abstraction of an access to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    /// Whether the lock is a single location.
    pub(crate) whole: bool,
    /// For a reader, the index of its share and gate; for a writer, the number of shares.
    pub(crate) number: u16,
}

/// The purpose of an access to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockUse {
    /// `read`, which may block.
    Read,
    /// `write`, which may block.
    Write,
    /// Every other access, such as `try_read`: it observes whether the lock is held.
    Inspect,
}

impl Locking {
    /// The abstraction of a replayed access whose schedule has no entry for it.
    const UNKNOWN: Locking = Locking { whole: true, number: 0 };

    fn to_entry(self) -> u16 {
        FIRST_LOCKING + self.number * 2 + u16::from(self.whole)
    }

    fn from_entry(entry: u16) -> Option<Locking> {
        let number = entry.checked_sub(FIRST_LOCKING)?;
        Some(Locking { whole: number % 2 == 1, number: number / 2 })
    }
}

/// The abstractions of all locks.
#[derive(Debug, Default)]
pub(super) struct RwLocks {
    locks: Vec<RwLock>,
}

#[derive(Debug)]
struct RwLock {
    address: usize,
    whole: bool,
    /// The threads that read the lock. The index of a thread is that of its share.
    readers: Vec<ThreadId>,
}

stored!(RwLocks { locks });
stored!(RwLock { address, whole, readers });

impl RwLocks {
    fn lock(&mut self, address: usize) -> &mut RwLock {
        let at = self.locks.iter().position(|lock| lock.address == address).unwrap_or_else(|| {
            self.locks.push(RwLock { address, whole: false, readers: Vec::new() });
            self.locks.len() - 1
        });
        &mut self.locks[at]
    }

    pub(super) fn make_whole(&mut self, address: usize) {
        self.lock(address).whole = true;
    }

    pub(super) fn add_reader(&mut self, address: usize, reader: ThreadId) {
        let readers = &mut self.lock(address).readers;
        if !readers.contains(&reader) {
            readers.push(reader);
        }
    }

    /// The abstraction of an access, or the refinement that the access requires.
    fn locking(&mut self, thread: ThreadId, address: usize, purpose: LockUse) -> Result<Locking, Refinement> {
        let lock = self.lock(address);
        let number = match purpose {
            LockUse::Inspect if lock.whole => 0,
            LockUse::Inspect => return Err(Refinement::WholeRwLock(address)),
            LockUse::Write => lock.readers.len().max(1),
            LockUse::Read => {
                // A writer locks the first share even if no thread reads, so the first reader needs no refinement.
                if lock.readers.is_empty() {
                    lock.readers.push(thread);
                }
                let share = lock.readers.iter().position(|&reader| reader == thread);
                share.ok_or(Refinement::RwLockReader(address, thread))?
            }
        };
        Ok(Locking { whole: lock.whole, number: number as u16 })
    }
}

impl ModelChecker {
    /// The abstraction of a thread's next access to a lock.
    pub(crate) fn locking(
        &mut self,
        thread: ThreadId,
        address: usize,
        purpose: LockUse,
    ) -> Result<Locking, Restart> {
        let locking = match &self.replay {
            Some(replay) => {
                let entry = self.abstractions.next_in(replay);
                entry.and_then(Locking::from_entry).unwrap_or(Locking::UNKNOWN)
            }
            None => match self.rwlocks.locking(thread, address, purpose) {
                Ok(locking) => locking,
                Err(refinement) => return Err(self.refine(refinement)),
            },
        };
        self.abstractions.push(locking.to_entry());
        Ok(locking)
    }

    /// Whether the address is that of a lock that consists of shares.
    #[inline]
    pub(crate) fn is_split_rwlock(&self, address: usize) -> bool {
        self.rwlocks.locks.iter().any(|lock| lock.address == address && !lock.whole)
    }
}
