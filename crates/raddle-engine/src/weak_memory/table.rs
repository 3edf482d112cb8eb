//! The table of store histories by location. Clearing takes constant time; the table allocates only while it grows.
//!
//! Locations are listed by *line*, a small stretch of memory, so that those of a freed block are found without a lookup
//! for each of its bytes. An access lies within one line, because atomic accesses are aligned.

use std::ops::Range;

use super::history::History;

/// A memory location. Accesses of different sizes to the same address are different locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The first byte.
    pub address: usize,
    /// Number of bytes.
    pub size: u8,
}

/// Logarithm of the size of a line.
const LINE: u32 = 7;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The store histories of an execution, by location.
#[derive(Debug)]
pub(super) struct Table {
    /// Open addressing; the length is a power of two. Slots of earlier generations are free.
    slots: Vec<Slot>,
    generation: u32,
    used_slots: usize,
    /// The first `used_entries` belong to the current execution.
    entries: Vec<Entry>,
    used_entries: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    line: usize,
    generation: u32,
    /// The first location of the line.
    first: u32,
}

#[derive(Debug)]
struct Entry {
    location: Location,
    /// The next location of the line.
    next: u32,
    history: History,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            slots: vec![Slot::default(); 64],
            generation: 1,
            used_slots: 0,
            entries: Vec::new(),
            used_entries: 0,
        }
    }
}

impl Clone for Entry {
    fn clone(&self) -> Entry {
        Entry { location: self.location, next: self.next, history: self.history.clone() }
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Entry) {
        (self.location, self.next) = (other.location, other.next);
        self.history.clone_from(&other.history);
    }
}

impl Clone for Table {
    /// Copies what belongs to the current execution.
    fn clone(&self) -> Table {
        let mut copy = Table::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Table) {
        self.slots.clone_from(&other.slots);
        (self.generation, self.used_slots) = (other.generation, other.used_slots);
        self.used_entries = other.used_entries;
        let (known, new) =
            other.entries[..other.used_entries].split_at(other.used_entries.min(self.entries.len()));
        self.entries.iter_mut().zip(known).for_each(|(entry, known)| entry.clone_from(known));
        self.entries.extend_from_slice(new);
    }
}

impl Table {
    /// Clears the table.
    pub(super) fn clear(&mut self) {
        self.used_slots = 0;
        self.used_entries = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }

    /// The history of a location, and whether it was there before: if not, it has yet to begin.
    #[inline]
    pub(super) fn find(&mut self, location: Location) -> (&mut History, bool) {
        let slot = self.slot_of(location.address >> LINE);
        let mut at = self.slots[slot].first;
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.location == location {
                return (&mut self.entries[at as usize].history, true);
            }
            at = entry.next;
        }
        (self.add(slot, location), false)
    }

    /// Removes the locations that begin in this memory.
    pub(super) fn forget(&mut self, memory: Range<usize>) {
        if self.used_entries == 0 || memory.is_empty() {
            return;
        }
        for line in memory.start >> LINE..=(memory.end - 1) >> LINE {
            let Some(slot) = self.probe(line).filter(|&slot| self.slots[slot].generation == self.generation)
            else {
                continue;
            };
            let mut kept = NONE;
            let mut at = self.slots[slot].first;
            while at != NONE {
                let entry = &mut self.entries[at as usize];
                let next = entry.next;
                if !memory.contains(&entry.location.address) {
                    entry.next = kept;
                    kept = at;
                }
                at = next;
            }
            self.slots[slot].first = kept;
        }
    }

    #[cold]
    fn add(&mut self, slot: usize, location: Location) -> &mut History {
        let index = self.used_entries;
        self.used_entries += 1;
        let next = std::mem::replace(&mut self.slots[slot].first, index as u32);
        if index == self.entries.len() {
            self.entries.push(Entry { location, next, history: History::default() });
        }
        let entry = &mut self.entries[index];
        entry.location = location;
        entry.next = next;
        &mut entry.history
    }

    /// The slot of a line, claimed if it was free.
    #[inline]
    fn slot_of(&mut self, line: usize) -> usize {
        if 2 * self.used_slots >= self.slots.len() {
            self.grow();
        }
        let slot = self.probe(line).expect("half of the slots are free");
        let found = &mut self.slots[slot];
        if found.generation != self.generation {
            *found = Slot { line, generation: self.generation, first: NONE };
            self.used_slots += 1;
        }
        slot
    }

    /// The slot that holds the line, or the free one that would.
    #[inline]
    fn probe(&self, line: usize) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let start = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (start..=start + mask).map(|at| at & mask).find(|&at| {
            let slot = &self.slots[at];
            slot.generation != self.generation || slot.line == line
        })
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![Slot::default(); 2 * self.slots.len()];
        let old = std::mem::replace(&mut self.slots, more);
        for slot in old.into_iter().filter(|slot| slot.generation == self.generation) {
            let at = self.probe(slot.line).expect("half of the slots are free");
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::happens_before::sync::Message;
    use crate::weak_memory::memory::Stored;

    fn stored(address: usize) -> Stored {
        Stored { number: 0, value: address as u128 }
    }

    fn word(address: usize) -> Location {
        Location { address, size: 8 }
    }

    #[track_caller]
    fn check(table: &mut Table, location: Location, expected: Option<u128>) {
        let (history, known) = table.find(location);
        assert_eq!(known.then(|| history.newest()), expected);
        if !known {
            history.begin(stored(location.address), Message::default());
        }
    }

    #[test]
    fn locations_are_found_again_until_the_table_is_cleared() {
        let mut table = Table::default();
        for _ in 0..3 {
            let locations = (0..1000).map(|index| word(0x2000_0000_0000 + index * 8 * (1 + index % 97)));
            for location in locations.clone() {
                let known = table.find(location).1;
                table.find(location).0.begin(stored(location.address), Message::default());
                assert!(!known || location.address % 97 != 1);
            }
            for location in locations {
                check(&mut table, location, Some(location.address as u128));
            }
            table.clear();
        }
    }

    #[test]
    fn sizes_tell_locations_apart() {
        let mut table = Table::default();
        check(&mut table, word(64), None);
        check(&mut table, Location { address: 64, size: 4 }, None);
        check(&mut table, word(64), Some(64));
    }

    #[test]
    fn what_lies_in_a_freed_block_is_forgotten_and_nothing_else() {
        let mut table = Table::default();
        for address in (0..1024).step_by(8) {
            check(&mut table, word(address), None);
        }
        table.forget(104..600);
        for address in (0..1024).step_by(8) {
            let freed = (104..600).contains(&address);
            check(&mut table, word(address), (!freed).then_some(address as u128));
        }
    }
}
