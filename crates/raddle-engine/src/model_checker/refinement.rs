//! Refinement: the search restarts with a finer abstraction (CEGAR, Clarke, Grumberg, Jha, Lu and Veith, CAV 2000).
//!
//! The search begins with a coarse abstraction of reference counts (`refcounts`) and of `RwLock`s (`rwlocks`). An execution that
//! the abstraction cannot represent refines it, and the search restarts. Refinements accumulate, so the number of restarts is
//! bounded by the number of objects and threads.

use super::ModelChecker;
use crate::op::ThreadId;

/// A refinement of the abstraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refinement {
    /// Decrements of reference counts are events.
    Decrements,
    /// All accesses to the reference count at this address are events.
    PreciseCount(usize),
    /// The `RwLock` at this address is read by this thread.
    RwLockReader(usize, ThreadId),
    /// The `RwLock` at this address is a single location.
    WholeRwLock(usize),
    /// The steps of std that drop a handle of a thread or end a scope are events.
    ThreadHandles,
}

/// Addresses are below this bit. Refinements of `RwLock`s use the bits above for a tag and a thread.
const ADDRESS_BITS: u32 = 48;
const RWLOCK_READER: u64 = 1 << 63;
const WHOLE_RWLOCK: u64 = 1 << 62;

impl Refinement {
    /// The refinement as a word other than 0.
    pub(crate) fn to_word(self) -> u64 {
        match self {
            Refinement::Decrements => 1,
            Refinement::ThreadHandles => 2,
            Refinement::PreciseCount(count) => count as u64,
            Refinement::RwLockReader(lock, reader) => {
                RWLOCK_READER | u64::from(reader) << ADDRESS_BITS | lock as u64
            }
            Refinement::WholeRwLock(lock) => WHOLE_RWLOCK | lock as u64,
        }
    }

    /// The refinement that a word stands for. None for 0.
    pub(crate) fn from_word(word: u64) -> Option<Refinement> {
        let address = (word & ((1 << ADDRESS_BITS) - 1)) as usize;
        Some(match word {
            0 => return None,
            1 => Refinement::Decrements,
            2 => Refinement::ThreadHandles,
            _ if word & RWLOCK_READER != 0 => {
                let reader = (word & !RWLOCK_READER) >> ADDRESS_BITS;
                Refinement::RwLockReader(address, reader as ThreadId)
            }
            _ if word & WHOLE_RWLOCK != 0 => Refinement::WholeRwLock(address),
            _ => Refinement::PreciseCount(address),
        })
    }
}

/// The search has restarted with a finer abstraction. The current execution is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart;

impl ModelChecker {
    /// Refines the abstraction and restarts the search.
    pub(crate) fn refine(&mut self, refinement: Refinement) -> Restart {
        match refinement {
            Refinement::Decrements => self.refcounts.make_decrements_events(),
            Refinement::PreciseCount(count) => self.refcounts.make_precise(count),
            Refinement::RwLockReader(lock, reader) => self.rwlocks.add_reader(lock, reader),
            Refinement::WholeRwLock(lock) => self.rwlocks.make_whole(lock),
            Refinement::ThreadHandles => self.refcounts.make_thread_handles_events(),
        }
        self.refinement = Some(refinement);
        self.restart();
        Restart
    }

    /// The refinement of the latest restart, unless it was taken before.
    pub(crate) fn take_refinement(&mut self) -> Option<Refinement> {
        self.refinement.take()
    }

    /// Discards all results of the search. The abstraction, the locations and the numbers of threads stay.
    pub(super) fn restart(&mut self) {
        self.branches.reset(self.model);
        self.restart_probes();
        self.started = false;
        self.repeat = false;
        self.spins.discard();
        self.locations.saw_uninstrumented_writes = false;
        self.reset_graphs_beyond_bound();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refinements_are_words() {
        let address = 0x7fff_ffff_fffd;
        let all = [
            Refinement::Decrements,
            Refinement::PreciseCount(address),
            Refinement::RwLockReader(address, 0),
            Refinement::RwLockReader(address, 255),
            Refinement::WholeRwLock(address),
            Refinement::ThreadHandles,
        ];
        assert!(
            all.iter().all(|&refinement| Refinement::from_word(refinement.to_word()) == Some(refinement))
        );
        assert_eq!(Refinement::from_word(0), None);
    }
}
