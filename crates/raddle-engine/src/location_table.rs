//! Hash tables of memory locations.
//!
//! The locations of a *line*, an aligned block of memory, are chained, and lines are found by open addressing. Thus the locations
//! within freed memory are found by its lines. An aligned access lies within one line.
//!
//! A table is emptied at once: slots of earlier generations are free. Entries stay allocated, with their values, so that a
//! table allocates only while it grows.

use std::ops::{Index, IndexMut, Range};

/// A memory location: accesses of different sizes to the same address are different locations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryLocation {
    /// The first byte.
    pub address: usize,
    /// The number of bytes, at most [`MAX_SIZE`].
    pub size: u8,
}

impl MemoryLocation {
    fn bytes(self) -> Range<usize> {
        self.address..self.address + usize::from(self.size)
    }
}

/// The size of the largest location.
pub(crate) const MAX_SIZE: usize = 16;

/// The base-2 logarithm of the bytes of a line.
const LINE: u32 = 4;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A map from memory locations to values. Entries have indices, which are valid until the table is emptied.
#[derive(Debug)]
pub(crate) struct LocationTable<T> {
    /// The lines. Their number is a power of two, and at least half of them are free.
    slots: Vec<Slot>,
    generation: u32,
    used_slots: usize,
    entries: Vec<Entry<T>>,
    /// The number of entries of the current generation, which come first in `entries`.
    used_entries: usize,
}

/// A line.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    line: usize,
    /// The slot is free unless this is the generation of the table.
    generation: u32,
    /// The first entry of the line's chain.
    first: u32,
}

#[derive(Debug)]
struct Entry<T> {
    location: MemoryLocation,
    /// The next entry of the line's chain.
    next: u32,
    value: T,
}

impl<T> Default for LocationTable<T> {
    fn default() -> LocationTable<T> {
        LocationTable {
            slots: vec![Slot::default(); 64],
            generation: 1,
            used_slots: 0,
            entries: Vec::new(),
            used_entries: 0,
        }
    }
}

impl<T: Clone> Clone for Entry<T> {
    fn clone(&self) -> Entry<T> {
        Entry { location: self.location, next: self.next, value: self.value.clone() }
    }

    fn clone_from(&mut self, other: &Entry<T>) {
        (self.location, self.next) = (other.location, other.next);
        self.value.clone_from(&other.value);
    }
}

impl<T: Clone> Clone for LocationTable<T> {
    /// Copies the entries of the current generation.
    fn clone(&self) -> LocationTable<T> {
        let mut copy = LocationTable::default();
        copy.clone_from(self);
        copy
    }

    /// Copies the entries of the current generation into the memory of this table.
    fn clone_from(&mut self, other: &LocationTable<T>) {
        self.slots.clone_from(&other.slots);
        (self.generation, self.used_slots) = (other.generation, other.used_slots);
        self.used_entries = other.used_entries;
        let (known, new) =
            other.entries[..other.used_entries].split_at(other.used_entries.min(self.entries.len()));
        self.entries.iter_mut().zip(known).for_each(|(entry, known)| entry.clone_from(known));
        self.entries.extend_from_slice(new);
    }
}

impl<T> Index<usize> for LocationTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.entries[index].value
    }
}

impl<T> IndexMut<usize> for LocationTable<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.entries[index].value
    }
}

impl<T> LocationTable<T> {
    /// Empties the table. New entries begin with the values of removed ones.
    pub(crate) fn clear(&mut self) {
        self.used_slots = 0;
        self.used_entries = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }

    /// The index of a location.
    #[inline]
    pub(crate) fn find(&self, location: MemoryLocation) -> Option<usize> {
        let mut at = self.first(line(location.address));
        loop {
            let entry = self.entries.get(at as usize)?;
            if entry.location == location {
                return Some(at as usize);
            }
            at = entry.next;
        }
    }

    /// The index of a location, and whether it was in the table. If not, it is now, with the value of a removed entry or the
    /// default.
    #[inline]
    pub(crate) fn find_or_insert(&mut self, location: MemoryLocation) -> (usize, bool)
    where
        T: Default,
    {
        match self.find(location) {
            Some(index) => (index, true),
            None => (self.insert(location), false),
        }
    }

    /// All locations in the order of their indices, removed ones among them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MemoryLocation, &T)> {
        self.entries[..self.used_entries].iter().map(|entry| (entry.location, &entry.value))
    }

    /// The indices of the locations that share bytes with one.
    pub(crate) fn overlapping(&self, location: MemoryLocation) -> impl Iterator<Item = usize> {
        let bytes = location.bytes();
        let lines = line(bytes.start.saturating_sub(MAX_SIZE - 1))..=line(bytes.end - 1);
        lines
            .flat_map(|line| self.chain(line))
            .filter(move |(_, other)| {
                let other = other.bytes();
                other.start < bytes.end && bytes.start < other.end
            })
            .map(|(index, _)| index)
    }

    /// Calls a function with the value of each location that begins in a range of memory.
    pub(crate) fn for_each_within(&mut self, memory: Range<usize>, mut f: impl FnMut(&mut T)) {
        self.for_each_slot_within(memory.clone(), |slot, entries| {
            let mut at = slot.first;
            while let Some(entry) = entries.get_mut(at as usize) {
                if memory.contains(&entry.location.address) {
                    f(&mut entry.value);
                }
                at = entry.next;
            }
        });
    }

    /// Removes the locations that begin in a range of memory.
    pub(crate) fn remove_within(&mut self, memory: Range<usize>) {
        self.for_each_slot_within(memory.clone(), |slot, entries| {
            let mut at = std::mem::replace(&mut slot.first, NONE);
            while let Some(entry) = entries.get_mut(at as usize) {
                let next = entry.next;
                if !memory.contains(&entry.location.address) {
                    entry.next = std::mem::replace(&mut slot.first, at);
                }
                at = next;
            }
        });
    }

    /// Visits the lines of a range of memory: by hash, or all of them if that is less.
    #[inline]
    fn for_each_slot_within(
        &mut self,
        memory: Range<usize>,
        mut visit: impl FnMut(&mut Slot, &mut [Entry<T>]),
    ) {
        if self.used_entries == 0 || memory.is_empty() {
            return;
        }
        let lines = line(memory.start)..=line(memory.end - 1);
        let generation = self.generation;
        if lines.end() - lines.start() < self.slots.len() {
            for line in lines {
                let slot = self.probe(line);
                if self.slots[slot].generation == generation {
                    visit(&mut self.slots[slot], &mut self.entries);
                }
            }
        } else {
            let used = self.slots.iter_mut().filter(|slot| slot.generation == generation);
            used.for_each(|slot| visit(slot, &mut self.entries));
        }
    }

    /// The entries of a line, with their locations.
    #[inline]
    fn chain(&self, line: usize) -> impl Iterator<Item = (usize, MemoryLocation)> {
        let mut at = self.first(line);
        std::iter::from_fn(move || {
            let entry = self.entries.get(at as usize)?;
            let index = at as usize;
            at = entry.next;
            Some((index, entry.location))
        })
    }

    /// The first entry of a line's chain.
    #[inline]
    fn first(&self, line: usize) -> u32 {
        let slot = &self.slots[self.probe(line)];
        if slot.generation == self.generation { slot.first } else { NONE }
    }

    /// The slot of a line, or the free slot that a new line would get.
    #[inline]
    fn probe(&self, line: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation || slot.line == line {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, location: MemoryLocation) -> usize
    where
        T: Default,
    {
        let slot = self.slot_of(line(location.address));
        let index = self.used_entries;
        self.used_entries += 1;
        let next = std::mem::replace(&mut self.slots[slot].first, index as u32);
        match self.entries.get_mut(index) {
            Some(entry) => (entry.location, entry.next) = (location, next),
            None => self.entries.push(Entry { location, next, value: T::default() }),
        }
        index
    }

    /// The slot of a line, which is taken if it was free.
    fn slot_of(&mut self, line: usize) -> usize {
        if 2 * self.used_slots >= self.slots.len() {
            self.grow();
        }
        let slot = self.probe(line);
        let found = &mut self.slots[slot];
        if found.generation != self.generation {
            *found = Slot { line, generation: self.generation, first: NONE };
            self.used_slots += 1;
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![Slot::default(); 2 * self.slots.len()];
        let old = std::mem::replace(&mut self.slots, more);
        for slot in old.into_iter().filter(|slot| slot.generation == self.generation) {
            let at = self.probe(slot.line);
            self.slots[at] = slot;
        }
    }
}

#[inline]
fn line(address: usize) -> usize {
    address >> LINE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// An operation on a table.
    #[derive(Clone, Debug)]
    enum Operation {
        /// Finds or inserts a location, and sets its value.
        Set(MemoryLocation, u32),
        /// Removes the locations in a range of memory.
        Remove(Range<usize>),
        /// Adds 1 to the values of the locations in a range of memory.
        Increment(Range<usize>),
        Clear,
        /// Goes on with a copy, made in a table with other contents.
        Copy,
    }

    fn location() -> impl Strategy<Value = MemoryLocation> {
        // Few locations that meet again, and many that let the table grow.
        let address = prop_oneof![0usize..64, 0usize..4096, (0usize..200).prop_map(|at| at << 20)];
        (address, 0u32..=4).prop_map(|(address, log)| {
            let size = 1 << log;
            MemoryLocation { address: address / size * size, size: size as u8 }
        })
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let range = || {
            let len = prop_oneof![0usize..100, Just(1 << 22), Just(1 << 40)];
            (0usize..4096, len).prop_map(|(start, len)| start..start + len)
        };
        prop_oneof![
            40 => (location(), any::<u32>()).prop_map(|(location, value)| Operation::Set(location, value)),
            2 => range().prop_map(Operation::Remove),
            2 => range().prop_map(Operation::Increment),
            1 => Just(Operation::Clear),
            1 => Just(Operation::Copy),
        ]
    }

    proptest! {
        #[test]
        fn a_table_is_a_map(operations in proptest::collection::vec(operation(), 0..300)) {
            let mut table = LocationTable::<u32>::default();
            let mut model = BTreeMap::<MemoryLocation, (usize, u32)>::new();
            for operation in operations {
                match operation {
                    Operation::Set(location, value) => {
                        let (index, is_known) = table.find_or_insert(location);
                        let expected = model.get(&location);
                        prop_assert_eq!(is_known, expected.is_some());
                        if let Some(&(known_index, known)) = expected {
                            prop_assert_eq!((index, table[index]), (known_index, known));
                        }
                        table[index] = value;
                        model.insert(location, (index, value));
                    }
                    Operation::Remove(memory) => {
                        table.remove_within(memory.clone());
                        model.retain(|location, _| !memory.contains(&location.address));
                    }
                    Operation::Increment(memory) => {
                        table.for_each_within(memory.clone(), |value| *value = value.wrapping_add(1));
                        for (_, value) in model.iter_mut().filter(|(at, _)| memory.contains(&at.address)) {
                            value.1 = value.1.wrapping_add(1);
                        }
                    }
                    Operation::Clear => {
                        table.clear();
                        model.clear();
                    }
                    Operation::Copy => {
                        let mut copy = LocationTable::default();
                        (0..40).for_each(|at| _ = copy.find_or_insert(MemoryLocation { address: at << 9, size: 1 }));
                        copy.clone_from(&table);
                        table = copy;
                    }
                }
            }
            for (&location, &(index, value)) in &model {
                prop_assert_eq!(table.find(location), Some(index));
                prop_assert_eq!(table[index], value);
            }
        }

        #[test]
        fn overlapping_locations_share_bytes(
            locations in proptest::collection::vec(location(), 0..200),
            removed in 0usize..64,
            asked in location(),
        ) {
            let mut table = LocationTable::<()>::default();
            let mut model = BTreeMap::new();
            for location in locations {
                model.insert(location, table.find_or_insert(location).0);
            }
            table.remove_within(0..removed);
            model.retain(|location, _| location.address >= removed);
            let mut found: Vec<usize> = table.overlapping(asked).collect();
            found.sort_unstable();
            let shares_byte = |other: &MemoryLocation| asked.bytes().any(|byte| other.bytes().contains(&byte));
            let mut expected: Vec<usize> =
                model.iter().filter(|(other, _)| shares_byte(other)).map(|(_, &index)| index).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn indices_follow_the_order_of_insertion() {
        let mut table = LocationTable::<usize>::default();
        let location = |index: usize| MemoryLocation { address: index * 24, size: 8 };
        for index in 0..500 {
            assert_eq!(table.find_or_insert(location(index)), (index, false));
            table[index] = index;
        }
        assert!(table.iter().enumerate().all(|(index, entry)| entry == (location(index), &index)));
    }

    #[test]
    fn a_generation_that_wraps_around_finds_nothing_old() {
        let mut table = LocationTable::<()>::default();
        let location = MemoryLocation { address: 64, size: 4 };
        table.clear();
        table.find_or_insert(location);
        table.generation = u32::MAX;
        (0..2).for_each(|_| table.clear());
        assert_eq!(table.find(location), None);
    }
}
