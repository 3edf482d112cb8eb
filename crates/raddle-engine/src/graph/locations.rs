//! The locations that addresses stand for.
//!
//! An address stands for a new location in each of these cases:
//!
//! - Its memory was freed. If the memory is used again, it is for something else.
//! - Its memory holds another value than the last write of the graph left. Code without events wrote it: a constructor, or the
//!   exclusive owner of the memory. Programs without data races order such a write with all accesses before and after.
//!
//! The successive locations of an address are its *generations*. They are the same in each execution, so that graphs can name them
//! across executions.

use std::ops::Range;

use super::event::{EventId, INIT, LocationId};
use super::stored::{Stored, stored};
use crate::location_table::{LocationTable, MemoryLocation};

/// The table of the addresses that executions access. It outlives executions.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    /// The slots. They are never removed, so that their indices are valid in all executions.
    slots: LocationTable<Slot>,
    /// The number that the next new location gets.
    next_location: LocationId,
    /// The number of the current execution, from 1.
    execution: u64,
    /// The slots that the current execution has used.
    used: Vec<u32>,
    /// The state before the latest event.
    before_latest: BeforeLatest,
    /// Whether memory ever held a value that no access of the graph wrote (see the module's documentation).
    pub(crate) saw_uninstrumented_writes: bool,
}

/// An address, accessed with one size.
#[derive(Debug, Default)]
struct Slot {
    /// The slots that share bytes with this one.
    overlapping: Vec<u32>,
    /// The locations that the address stands for, by generation.
    locations: Vec<LocationId>,
    state: SlotState,
}

/// Per-execution state of a slot. Numbers of other executions than the current one mean that the state is void.
#[derive(Clone, Copy, Debug, Default)]
struct SlotState {
    /// The last execution that accessed the slot.
    accessed_in: u64,
    /// Whether the memory was freed since the last access.
    freed: bool,
    /// The current generation.
    generation: usize,
    /// The value of `co_max`, which memory holds unless code without events wrote it.
    value: u64,
    /// The write made so far that is last in modification order, or [`INIT`].
    co_max: EventId,
    /// The last execution that used the slot as a reference count.
    refcount_in: u64,
}

/// The difference between the current state and the state before the latest event.
#[derive(Clone, Copy, Debug, Default)]
struct BeforeLatest {
    /// The number of slots that had been used.
    used: usize,
    /// The slot that the event accessed, or [`NO_SLOT`].
    slot: u32,
    /// The state of that slot before.
    state: SlotState,
}

/// The slot of an event that accesses no memory. No slot has this index.
const NO_SLOT: u32 = u32::MAX;

stored!(Locations { slots, next_location, execution, used, before_latest, saw_uninstrumented_writes });
stored!(Slot { overlapping, locations, state });
stored!(MemoryLocation { address, size });
stored!(SlotState { accessed_in, freed, generation, value, co_max, refcount_in });
stored!(BeforeLatest { used, slot, state });

impl<T: Stored + Default> Stored for LocationTable<T> {
    fn put(&self, words: &mut Vec<u64>) {
        self.iter().count().put(words);
        for (location, value) in self.iter() {
            location.put(words);
            value.put(words);
        }
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<LocationTable<T>> {
        let mut table = LocationTable::default();
        for _ in 0..usize::take(words)? {
            let index = table.find_or_insert(MemoryLocation::take(words)?).0;
            table[index] = T::take(words)?;
        }
        Some(table)
    }
}

/// The slots that an execution had used at a checkpoint, and their states.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    execution: u64,
    used: Vec<(u32, SlotState)>,
}

/// The size of a reference count.
const REFCOUNT_SIZE: u8 = size_of::<usize>() as u8;

/// The size of synthetic locations, which stand for objects that threads share besides memory.
pub(crate) const SYNTHETIC_SIZE: u8 = 1;

/// The location of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The index of the slot.
    pub(crate) slot: usize,
    pub(crate) location: LocationId,
    /// Whether the access is the first to this location in this execution, so that memory holds the initial value.
    pub(crate) first: bool,
}

impl Slot {
    /// The location of the current generation. The current execution must have accessed the slot.
    fn location(&self) -> LocationId {
        self.locations[self.state.generation]
    }
}

impl Locations {
    /// Begins an execution.
    pub(crate) fn begin(&mut self) {
        self.execution += 1;
        self.used.clear();
    }

    /// Ends the locations of memory that was freed.
    pub(crate) fn free(&mut self, memory: &Range<usize>) {
        let execution = self.execution;
        self.slots.for_each_within(memory.clone(), |slot| {
            let SlotState { accessed_in, refcount_in, .. } = slot.state;
            slot.state.freed |= accessed_in == execution || refcount_in == execution;
        });
    }

    /// Notes that the latest event accesses no memory.
    pub(crate) fn access_nothing(&mut self) {
        self.before_latest =
            BeforeLatest { used: self.used.len(), slot: NO_SLOT, state: SlotState::default() };
    }

    /// Copies the state before the latest event.
    pub(crate) fn snapshot_before_latest(&self, snapshot: &mut Snapshot) {
        let BeforeLatest { used, slot: latest, state } = self.before_latest;
        let state_of = |slot: u32| if slot == latest { state } else { self.slots[slot as usize].state };
        snapshot.execution = self.execution;
        snapshot.used.clear();
        snapshot.used.extend(self.used[..used].iter().map(|&slot| (slot, state_of(slot))));
    }

    /// Restores the state of an earlier execution, for the current one, which has just begun.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) {
        let renumbered = |execution: u64| if execution == snapshot.execution { self.execution } else { 0 };
        for &(slot, state) in &snapshot.used {
            self.slots[slot as usize].state = SlotState {
                accessed_in: renumbered(state.accessed_in),
                refcount_in: renumbered(state.refcount_in),
                ..state
            };
            self.used.push(slot);
        }
    }

    /// Adds a slot to those that the execution has used.
    fn mark_used(&mut self, slot: usize) {
        let SlotState { accessed_in, refcount_in, .. } = self.slots[slot].state;
        if accessed_in != self.execution && refcount_in != self.execution {
            self.used.push(slot as u32);
        }
    }

    /// The location of an access, given the value in memory. None if it overlaps a location of another size.
    pub(crate) fn find(&mut self, address: usize, size: u8, memory: Option<u64>) -> Option<Found> {
        let slot = self.slot(address, size);
        let overlapping = &self.slots[slot].overlapping;
        if !self.in_use(slot) && overlapping.iter().any(|&other| self.in_use(other as usize)) {
            return None;
        }
        self.before_latest =
            BeforeLatest { used: self.used.len(), slot: slot as u32, state: self.slots[slot].state };
        self.mark_used(slot);
        let Slot { state, locations, .. } = &mut self.slots[slot];
        let mut first = false;
        if state.accessed_in != self.execution {
            state.accessed_in = self.execution;
            state.generation = 0;
            first = true;
        } else if state.freed {
            state.generation += 1;
            first = true;
        } else if memory.is_some_and(|memory| memory != state.value) {
            state.generation += 1;
            first = true;
            self.saw_uninstrumented_writes = true;
        }
        state.freed = false;
        if first {
            state.value = memory.unwrap_or(0);
            state.co_max = INIT;
            if locations.len() == state.generation {
                locations.push(self.next_location);
                self.next_location += 1;
            }
        }
        Some(Found { slot, location: locations[state.generation], first })
    }

    /// Records a write to a slot. `comes_after` tells whether it comes after another write in modification order. Returns whether
    /// memory is to hold the value from now on: that of the last write in modification order.
    pub(crate) fn write(
        &mut self,
        slot: usize,
        write: EventId,
        value: u64,
        comes_after: impl FnOnce(EventId) -> bool,
    ) -> bool {
        let state = &mut self.slots[slot].state;
        let is_co_max = state.co_max == INIT || comes_after(state.co_max);
        if is_co_max {
            state.co_max = write;
            state.value = value;
        }
        is_co_max
    }

    /// Marks an address as a reference count. Returns the location of other accesses to the address in this execution, if there
    /// were any.
    pub(crate) fn mark_refcount(&mut self, address: usize) -> Option<LocationId> {
        let slot = self.slot(address, REFCOUNT_SIZE);
        let in_use = self.in_use(slot);
        self.mark_used(slot);
        let slot = &mut self.slots[slot];
        slot.state.refcount_in = self.execution;
        in_use.then(|| slot.location())
    }

    /// Whether an address is a reference count in this execution.
    pub(crate) fn is_refcount(&self, address: usize) -> bool {
        let slot = self.lookup(address, REFCOUNT_SIZE);
        slot.is_some_and(|slot| self.slots[slot].state.refcount_in == self.execution)
    }

    /// Ends the use of an address as a reference count.
    pub(crate) fn unmark_refcount(&mut self, address: usize) {
        if let Some(slot) = self.lookup(address, REFCOUNT_SIZE) {
            self.slots[slot].state.refcount_in = 0;
        }
    }

    /// The synthetic location that an address stands for in this execution.
    pub(crate) fn synthetic(&self, address: usize) -> Option<LocationId> {
        let slot = &self.slots[self.lookup(address, SYNTHETIC_SIZE)?];
        (slot.state.accessed_in == self.execution).then(|| slot.location())
    }

    /// Begins a generation of a synthetic location: its address stands for another object from now on. False if it stood for
    /// none yet.
    pub(crate) fn begin_generation(&mut self, address: usize) -> bool {
        let slot = self.lookup(address, SYNTHETIC_SIZE);
        let Some(slot) = slot.filter(|&slot| self.slots[slot].state.accessed_in == self.execution) else {
            return false;
        };
        let slot = &mut self.slots[slot];
        slot.state.generation += 1;
        slot.state.co_max = INIT;
        if slot.locations.len() == slot.state.generation {
            slot.locations.push(self.next_location);
            self.next_location += 1;
        }
        true
    }

    /// The address of a location.
    pub(crate) fn address(&self, location: LocationId) -> Option<usize> {
        let mut slots = self.slots.iter();
        slots.find(|(_, slot)| slot.locations.contains(&location)).map(|(at, _)| at.address)
    }

    /// Whether a byte belongs to a location that this execution has accessed.
    pub(crate) fn contains(&self, byte: usize) -> bool {
        let byte = MemoryLocation { address: byte, size: 1 };
        self.slots.overlapping(byte).any(|slot| self.in_use(slot))
    }

    fn in_use(&self, slot: usize) -> bool {
        self.slots[slot].state.accessed_in == self.execution && !self.slots[slot].state.freed
    }

    fn lookup(&self, address: usize, size: u8) -> Option<usize> {
        self.slots.find(MemoryLocation { address, size })
    }

    /// The slot of an address, which may be a new one.
    #[inline]
    fn slot(&mut self, address: usize, size: u8) -> usize {
        match self.lookup(address, size) {
            Some(slot) => slot,
            None => self.insert(MemoryLocation { address, size }),
        }
    }

    #[cold]
    fn insert(&mut self, location: MemoryLocation) -> usize {
        let overlapping: Vec<u32> = self.slots.overlapping(location).map(|other| other as u32).collect();
        let (slot, _) = self.slots.find_or_insert(location);
        for &other in &overlapping {
            self.slots[other as usize].overlapping.push(slot as u32);
        }
        self.slots[slot].overlapping = overlapping;
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations() -> Locations {
        let mut locations = Locations::default();
        locations.begin();
        locations
    }

    #[test]
    fn accesses_of_different_sizes_may_not_overlap() {
        let mut locations = locations();
        assert!(locations.find(16, 4, Some(0)).is_some());
        assert!(locations.find(20, 4, Some(0)).is_some());
        assert!(locations.find(16, 1, Some(0)).is_none());
        assert!(locations.find(19, 1, Some(0)).is_none());
        assert!(locations.find(16, 8, Some(0)).is_none());
        assert!(locations.find(15, 1, Some(0)).is_some());
        assert!(locations.find(24, 8, Some(0)).is_some());
    }

    #[test]
    fn sizes_may_differ_between_executions_only() {
        let mut locations = locations();
        assert!(locations.find(17, 1, Some(0)).is_some());
        locations.begin();
        assert!(locations.find(16, 4, Some(0)).is_some());
        locations.begin();
        assert!(locations.find(16, 4, Some(0)).is_some());
        assert!(locations.find(17, 1, Some(0)).is_none());
    }

    #[test]
    fn freed_memory_is_a_new_location() {
        let mut locations = locations();
        let old = locations.find(16, 4, Some(0)).unwrap();
        let beside = locations.find(32, 4, Some(0)).unwrap();
        locations.free(&(16..32));
        let new = locations.find(16, 4, Some(0)).unwrap();
        assert!(new.first && new.location != old.location);
        assert!(!locations.find(32, 4, Some(0)).unwrap().first);
        locations.free(&(16..32));
        assert!(locations.find(16, 8, Some(0)).unwrap().first);
        assert!(locations.find(16, 4, Some(0)).is_none());

        locations.begin();
        assert_eq!(locations.find(16, 4, Some(0)).unwrap().location, old.location);
        assert_eq!(locations.find(32, 4, Some(0)).unwrap().location, beside.location);
    }

    #[test]
    fn uninstrumented_writes_make_a_new_location() {
        let mut locations = locations();
        let old = locations.find(16, 4, Some(0)).unwrap();
        assert!(locations.write(old.slot, 1, 5, |_| false));
        assert_eq!(locations.find(16, 4, Some(5)).unwrap().location, old.location);
        assert_ne!(locations.find(16, 4, Some(6)).unwrap().location, old.location);
        assert!(locations.saw_uninstrumented_writes);
    }

    #[test]
    fn a_snapshot_restores_the_state_before_the_latest_access() {
        let mut locations = locations();
        locations.mark_refcount(64);
        locations.find(16, 4, Some(0)).unwrap();
        let (mut nothing, mut one) = (Snapshot::default(), Snapshot::default());
        locations.snapshot_before_latest(&mut nothing);
        let other = locations.find(32, 4, Some(0)).unwrap();
        locations.write(other.slot, 3, 9, |_| true);
        locations.snapshot_before_latest(&mut one);
        locations.free(&(16..20));
        locations.unmark_refcount(64);

        for (snapshot, is_first) in [(&one, false), (&nothing, true), (&one, false)] {
            locations.begin();
            assert!(!locations.is_refcount(64));
            locations.restore(snapshot);
            assert!(locations.is_refcount(64));
            assert_eq!(locations.find(16, 4, Some(0)).unwrap().first, is_first);
            assert!(locations.find(32, 4, Some(0)).unwrap().first);
        }
        assert!(!locations.saw_uninstrumented_writes);
    }
}
