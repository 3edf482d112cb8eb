//! Which place of the graph an address stands for.
//!
//! Memory that holds something else than the last known write left was written by code that is not atomic: a constructor, or
//! whoever owned the memory alone. Programs without data races order that with everything before and after, so the address is a
//! new place from then on.

use super::event::PlaceId;
use super::stored::stored;

/// The addresses that executions use. Kept from one execution to the next.
#[derive(Debug, Default)]
pub(crate) struct Places {
    slots: Vec<Slot>,
    /// Open addressing: numbers of slots, plus one.
    table: Vec<u32>,
    known: PlaceId,
    /// The number of the execution.
    run: u64,
    /// Whether memory was ever seen to hold what no known access wrote.
    pub(crate) unseen_writes: bool,
}

#[derive(Debug)]
struct Slot {
    address: usize,
    size: u8,
    /// The execution that used it last.
    run: u64,
    /// Which of the places it stands for in that execution.
    generation: usize,
    places: Vec<PlaceId>,
    /// What memory holds if nothing but atomic accesses wrote it.
    value: u64,
    /// The highest rank of a write that memory has seen.
    rank: usize,
    /// The execution that last used it to count references.
    counts: u64,
}

stored!(Places { slots, table, known, run, unseen_writes });
stored!(Slot { address, size, run, generation, places, value, rank, counts });

/// A place that is being accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) slot: usize,
    pub(crate) place: PlaceId,
    /// Whether this is the first access, so that memory holds the initial value.
    pub(crate) first: bool,
}

impl Places {
    /// Begins another execution.
    pub(crate) fn begin(&mut self) {
        self.run += 1;
    }

    /// Finds the place of an access, given what memory holds. None if it overlaps another of a different size.
    pub(crate) fn find(&mut self, address: usize, size: u8, memory: Option<u64>) -> Option<Found> {
        let slot = match self.lookup(address) {
            Some(slot) => slot,
            None => self.insert(address, size)?,
        };
        let known = &mut self.slots[slot];
        if known.size != size {
            return None;
        }
        let mut first = false;
        if known.run != self.run {
            known.run = self.run;
            known.generation = 0;
            first = true;
        } else if memory.is_some_and(|memory| memory != known.value) {
            known.generation += 1;
            first = true;
            self.unseen_writes = true;
        }
        if first {
            known.value = memory.unwrap_or(0);
            known.rank = 0;
            if known.places.len() == known.generation {
                known.places.push(self.known);
                self.known += 1;
            }
        }
        Some(Found { slot, place: known.places[known.generation], first })
    }

    /// A write of this rank happens. True if memory is to hold it from now on.
    pub(crate) fn written(&mut self, slot: usize, rank: usize, value: u64) -> bool {
        let slot = &mut self.slots[slot];
        let newest = rank > slot.rank;
        if newest {
            slot.rank = rank;
            slot.value = value;
        }
        newest
    }

    /// The address is a count of references. Returns the place that other accesses to it have in this execution, if there
    /// were any.
    pub(crate) fn mark_count(&mut self, address: usize, size: u8) -> Option<PlaceId> {
        let slot = match self.lookup(address) {
            Some(slot) => slot,
            None => self.insert(address, size)?,
        };
        let slot = &mut self.slots[slot];
        slot.counts = self.run;
        (slot.run == self.run).then(|| slot.places[slot.generation])
    }

    /// Whether the address is a count of references.
    pub(crate) fn is_count(&self, address: usize) -> bool {
        self.lookup(address).is_some_and(|slot| self.slots[slot].counts == self.run)
    }

    /// The place that an address has in this execution.
    pub(crate) fn place(&self, address: usize) -> Option<PlaceId> {
        let slot = &self.slots[self.lookup(address)?];
        (slot.run == self.run).then(|| slot.places[slot.generation])
    }

    /// The address is no count of references any more.
    pub(crate) fn forget_count(&mut self, address: usize) {
        if let Some(slot) = self.lookup(address) {
            self.slots[slot].counts = 0;
        }
    }

    /// From now on the address stands for something else.
    pub(crate) fn begin_generation(&mut self, address: usize) {
        if let Some(slot) = self.lookup(address).filter(|&slot| self.slots[slot].run == self.run) {
            let slot = &mut self.slots[slot];
            slot.generation += 1;
            if slot.places.len() == slot.generation {
                slot.places.push(self.known);
                self.known += 1;
            }
        }
    }

    /// Where a place is.
    pub(crate) fn address(&self, place: PlaceId) -> Option<usize> {
        self.slots.iter().find(|slot| slot.places.contains(&place)).map(|slot| slot.address)
    }

    fn lookup(&self, address: usize) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = hash(address) & mask;
        while self.table[at] != 0 {
            let slot = self.table[at] as usize - 1;
            if self.slots[slot].address == address {
                return Some(slot);
            }
            at = (at + 1) & mask;
        }
        None
    }

    #[cold]
    fn insert(&mut self, address: usize, size: u8) -> Option<usize> {
        let overlaps = |other: usize| {
            other != address
                && self.lookup(other).is_some_and(|slot| {
                    let other_size = usize::from(self.slots[slot].size);
                    self.slots[slot].run == self.run
                        && other < address + usize::from(size)
                        && address < other + other_size
                })
        };
        if (address.saturating_sub(7)..address + usize::from(size)).any(overlaps) {
            return None;
        }
        let slot = self.slots.len();
        self.slots.push(Slot {
            address,
            size,
            run: 0,
            generation: 0,
            places: Vec::new(),
            value: 0,
            rank: 0,
            counts: 0,
        });
        if self.slots.len() * 2 > self.table.len() {
            self.table = vec![0; (self.slots.len() * 4).next_power_of_two().max(64)];
            for slot in 0..self.slots.len() {
                self.enter(slot);
            }
        } else {
            self.enter(slot);
        }
        Some(slot)
    }

    fn enter(&mut self, slot: usize) {
        let mask = self.table.len() - 1;
        let mut at = hash(self.slots[slot].address) & mask;
        while self.table[at] != 0 {
            at = (at + 1) & mask;
        }
        self.table[at] = slot as u32 + 1;
    }
}

fn hash(address: usize) -> usize {
    (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 32
}
