//! Synthetic locations: what threads share besides memory, as locations of the execution graph.

use crate::graph::SYNTHETIC_SIZE;
use crate::model_checker::Location;
use crate::op::ThreadId;

/// Something other than memory that threads share, as a place of the graph. Where the order of the steps at it matters, each is
/// a read-modify-write, so that all of them are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntheticLocation {
    /// The queue of those who wait at an address.
    Queue(usize),
    /// The right to call the function of a `Once`.
    Once(usize),
    /// How many operations of a thread of a scenario have ended.
    Completed(usize),
    /// The ends of the handles that are counted at an address.
    Drops(usize),
    /// A reader's share of the `RwLock` at an address.
    Share(usize, u16),
    /// The gate before it.
    Gate(usize, u16),
    /// The way of one generation through the `Barrier` at an address.
    Way(usize, u16),
    /// How many handles of a thread's result were given up, of two.
    Handles(ThreadId),
    /// How many threads the scope has that counts them at an address.
    Scope(usize),
}

const BEYOND: usize = 1 << 63;

impl SyntheticLocation {
    /// Where in memory that is whose address in the graph is given, as far as it has to do with memory.
    pub(super) fn in_memory(address: usize) -> usize {
        let kind = if address & 7 == SyntheticLocation::WAY { 7 } else { 3 };
        if address < BEYOND { address } else { address & ((1 << SyntheticLocation::MEMORY) - 1) & !kind }
    }

    /// Memory is below this bit.
    const MEMORY: u32 = 48;
    /// The last bits of the way through a barrier, which is aligned to 8 bytes, like counts of references.
    const WAY: usize = 6;
    /// How many ways a barrier has: then they are used again.
    pub(super) const WAYS: u64 = 1 << 13;

    pub(super) fn location(self) -> Location {
        Location { address: self.address(), size: SYNTHETIC_SIZE, value: None }
    }

    /// An address that no memory has.
    pub(super) fn address(self) -> usize {
        const SCENARIO: usize = BEYOND | 1 << 62;
        const THREADS: usize = SCENARIO | 1 << 47;
        match self {
            SyntheticLocation::Completed(thread) => SCENARIO | thread << 3,
            SyntheticLocation::Handles(thread) => THREADS | usize::from(thread) << 3,
            SyntheticLocation::Queue(address) => BEYOND | address,
            SyntheticLocation::Once(address) => BEYOND | address | 1,
            SyntheticLocation::Drops(address) => BEYOND | address | 2,
            SyntheticLocation::Scope(address) => BEYOND | 1 << SyntheticLocation::MEMORY | address | 2,
            SyntheticLocation::Share(address, number) => {
                BEYOND | usize::from(number * 2) << SyntheticLocation::MEMORY | address | 3
            }
            SyntheticLocation::Gate(address, number) => {
                BEYOND | usize::from(number * 2 + 1) << SyntheticLocation::MEMORY | address | 3
            }
            SyntheticLocation::Way(address, number) => {
                BEYOND | usize::from(number) << SyntheticLocation::MEMORY | address | SyntheticLocation::WAY
            }
        }
    }
}
