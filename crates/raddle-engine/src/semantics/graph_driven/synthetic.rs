//! Synthetic locations: shared objects other than memory, as locations of the execution graph.

use crate::graph::SYNTHETIC_SIZE;
use crate::model_checker::Location;
use crate::op::ThreadId;

/// A shared object other than memory, as a location of the graph. Where the order of the steps at it matters, each step
/// is a read-modify-write, so that all orders are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntheticLocation {
    /// The queue of threads that wait at a futex.
    Queue(usize),
    /// The right to call the function of a `Once`.
    Once(usize),
    /// The number of completed operations of a thread of a scenario.
    Completed(usize),
    /// The decrements of the reference count at an address.
    Drops(usize),
    /// A reader's share of the `RwLock` at an address.
    Share(usize, u16),
    /// The gate before a reader's share.
    Gate(usize, u16),
    /// The passage of one generation through the `Barrier` at an address.
    BarrierGeneration(usize, u16),
    /// The number of dropped handles of a thread's result, of two.
    Handles(ThreadId),
    /// The thread count of the scope at an address.
    Scope(usize),
}

const BEYOND: usize = 1 << 63;

impl SyntheticLocation {
    /// The program address behind the address of a synthetic location.
    pub(super) fn in_memory(address: usize) -> usize {
        let kind = if address & 7 == SyntheticLocation::BARRIER { 7 } else { 3 };
        if address < BEYOND { address } else { address & ((1 << SyntheticLocation::MEMORY) - 1) & !kind }
    }

    /// The lowest bit above all addresses of memory.
    const MEMORY: u32 = 48;
    /// The lowest bits of a barrier's passage; a barrier is aligned to 8 bytes, like a reference count.
    const BARRIER: usize = 6;
    /// Number of generations of a barrier with locations of their own; later ones reuse them.
    pub(super) const BARRIER_GENERATIONS: u64 = 1 << 13;

    pub(super) fn location(self) -> Location {
        Location { address: self.address(), size: SYNTHETIC_SIZE, value: None }
    }

    /// The address in the graph, which no memory has.
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
            SyntheticLocation::BarrierGeneration(address, number) => {
                BEYOND
                    | usize::from(number) << SyntheticLocation::MEMORY
                    | address
                    | SyntheticLocation::BARRIER
            }
        }
    }
}
