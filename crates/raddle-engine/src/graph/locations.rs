//! Which place of the graph an address stands for.
//!
//! Memory that holds something else than the last known write left was written by code that is not atomic: a constructor, or
//! whoever owned the memory alone. Programs without data races order that with everything before and after, so the address is a
//! new place from then on. So is memory that was freed: if it is used again, it is for something else.

use std::ops::Range;

use super::event::{EventId, INIT, LocationId};
use super::stored::stored;

/// The addresses that executions use. Kept from one execution to the next.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    slots: Vec<Slot>,
    /// Open addressing: numbers of slots, plus one.
    table: Vec<u32>,
    known: LocationId,
    /// The number of the execution.
    run: u64,
    /// The slots that the execution has used.
    used: Vec<u32>,
    /// How it was before the latest event: how many slots were used, and how the one stood that was accessed.
    before: (usize, u32, SlotState),
    /// Whether memory was ever seen to hold what no known access wrote.
    pub(crate) unseen_writes: bool,
}

#[derive(Debug)]
struct Slot {
    address: usize,
    size: u8,
    /// Slots that share bytes with it.
    rivals: Vec<u32>,
    places: Vec<LocationId>,
    course: SlotState,
}

/// How a slot stands in an execution.
#[derive(Clone, Copy, Debug, Default)]
struct SlotState {
    /// The execution that used it last.
    run: u64,
    /// Whether its memory was freed in that execution.
    over: bool,
    /// Which of the places it stands for in that execution.
    generation: usize,
    /// What memory holds if nothing but atomic accesses wrote it.
    value: u64,
    /// The write that left it, or [`INIT`].
    newest: EventId,
    /// The execution that last used it to count references.
    counts: u64,
}

stored!(Locations { slots, table, known, run, used, before, unseen_writes });
stored!(Slot { address, size, rivals, places, course });
stored!(SlotState { run, over, generation, value, newest, counts });

/// The slots that an execution has used so far, and how they stand.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    run: u64,
    used: Vec<(u32, SlotState)>,
}

/// The size of a count of references.
const COUNT: u8 = size_of::<usize>() as u8;

/// The size of what threads share that is not in memory.
pub(crate) const NOT_IN_MEMORY: u8 = 1;

/// A place that is being accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) slot: usize,
    pub(crate) place: LocationId,
    /// Whether this is the first access, so that memory holds the initial value.
    pub(crate) first: bool,
}

impl Slot {
    /// The place that it stands for, if the execution has used it.
    fn place(&self) -> LocationId {
        self.places[self.course.generation]
    }
}

impl Locations {
    /// Begins another execution.
    pub(crate) fn begin(&mut self) {
        self.run += 1;
        self.used.clear();
    }

    /// Memory is freed: what is there from now on, if anything, is something else.
    pub(crate) fn forget(&mut self, memory: &Range<usize>) {
        for &slot in &self.used {
            let slot = &mut self.slots[slot as usize];
            slot.course.over |= memory.contains(&slot.address);
        }
    }

    /// The latest event accesses no memory.
    pub(crate) fn leave_alone(&mut self) {
        self.before = (self.used.len(), u32::MAX, SlotState::default());
    }

    /// Says how everything stood before the latest event.
    pub(crate) fn before_latest(&self, known: &mut SoFar) {
        let (used, latest, before) = self.before;
        let course = |slot: u32| if slot == latest { before } else { self.slots[slot as usize].course };
        known.run = self.run;
        known.used.clear();
        known.used.extend(self.used[..used].iter().map(|&slot| (slot, course(slot))));
    }

    /// The execution, which has just begun, has come so far.
    pub(crate) fn take_up(&mut self, known: &SoFar) {
        let now = |run: u64| if run == known.run { self.run } else { 0 };
        for &(slot, course) in &known.used {
            self.slots[slot as usize].course =
                SlotState { run: now(course.run), counts: now(course.counts), ..course };
            self.used.push(slot);
        }
    }

    /// The execution uses the slot.
    fn note_use(&mut self, slot: usize) {
        let SlotState { run, counts, .. } = self.slots[slot].course;
        if run != self.run && counts != self.run {
            self.used.push(slot as u32);
        }
    }

    /// Finds the place of an access, given what memory holds. None if it overlaps another of a different size.
    pub(crate) fn find(&mut self, address: usize, size: u8, memory: Option<u64>) -> Option<Found> {
        let slot = match self.lookup(address, size) {
            Some(slot) => slot,
            None => self.insert(address, size),
        };
        if !self.in_use(slot) && self.slots[slot].rivals.iter().any(|&rival| self.in_use(rival as usize)) {
            return None;
        }
        self.before = (self.used.len(), slot as u32, self.slots[slot].course);
        self.note_use(slot);
        let Slot { course: known, places, .. } = &mut self.slots[slot];
        let mut first = false;
        if known.run != self.run {
            known.run = self.run;
            known.generation = 0;
            first = true;
        } else if known.over {
            known.generation += 1;
            first = true;
        } else if memory.is_some_and(|memory| memory != known.value) {
            known.generation += 1;
            first = true;
            self.unseen_writes = true;
        }
        known.over = false;
        if first {
            known.value = memory.unwrap_or(0);
            known.newest = INIT;
            if places.len() == known.generation {
                places.push(self.known);
                self.known += 1;
            }
        }
        Some(Found { slot, place: places[known.generation], first })
    }

    /// A write happens. `comes_after` says whether it comes after another in coherence order. True if memory is to hold it from
    /// now on.
    pub(crate) fn written(
        &mut self,
        slot: usize,
        write: EventId,
        value: u64,
        comes_after: impl FnOnce(EventId) -> bool,
    ) -> bool {
        let course = &mut self.slots[slot].course;
        let newest = course.newest == INIT || comes_after(course.newest);
        if newest {
            course.newest = write;
            course.value = value;
        }
        newest
    }

    /// The address is a count of references. Returns the place that other accesses to it have in this execution, if there
    /// were any.
    pub(crate) fn mark_count(&mut self, address: usize) -> Option<LocationId> {
        let slot = match self.lookup(address, COUNT) {
            Some(slot) => slot,
            None => self.insert(address, COUNT),
        };
        let in_use = self.in_use(slot);
        self.note_use(slot);
        let slot = &mut self.slots[slot];
        slot.course.counts = self.run;
        in_use.then(|| slot.place())
    }

    /// Whether the address is a count of references.
    pub(crate) fn is_count(&self, address: usize) -> bool {
        self.lookup(address, COUNT).is_some_and(|slot| self.slots[slot].course.counts == self.run)
    }

    /// The place that something outside memory has in this execution.
    pub(crate) fn place(&self, address: usize) -> Option<LocationId> {
        let slot = &self.slots[self.lookup(address, NOT_IN_MEMORY)?];
        (slot.course.run == self.run).then(|| slot.place())
    }

    /// The address is no count of references any more.
    pub(crate) fn forget_count(&mut self, address: usize) {
        if let Some(slot) = self.lookup(address, COUNT) {
            self.slots[slot].course.counts = 0;
        }
    }

    /// From now on the address of something outside memory stands for something else. False if it stood for nothing yet.
    pub(crate) fn begin_generation(&mut self, address: usize) -> bool {
        let slot = self.lookup(address, NOT_IN_MEMORY);
        let Some(slot) = slot.filter(|&slot| self.slots[slot].course.run == self.run) else { return false };
        let slot = &mut self.slots[slot];
        slot.course.generation += 1;
        slot.course.newest = INIT;
        if slot.places.len() == slot.course.generation {
            slot.places.push(self.known);
            self.known += 1;
        }
        true
    }

    /// Where a place is.
    pub(crate) fn address(&self, place: LocationId) -> Option<usize> {
        self.slots.iter().find(|slot| slot.places.contains(&place)).map(|slot| slot.address)
    }

    /// Whether the byte belongs to a place of this execution.
    pub(crate) fn covers(&self, byte: usize) -> bool {
        [1, 2, 4, 8].into_iter().any(|size| {
            let at = byte.saturating_sub(usize::from(size) - 1)..=byte;
            at.into_iter().any(|address| self.lookup(address, size).is_some_and(|slot| self.in_use(slot)))
        })
    }

    fn in_use(&self, slot: usize) -> bool {
        self.slots[slot].course.run == self.run && !self.slots[slot].course.over
    }

    fn lookup(&self, address: usize, size: u8) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = hash(address) & mask;
        while self.table[at] != 0 {
            let slot = self.table[at] as usize - 1;
            if self.slots[slot].address == address && self.slots[slot].size == size {
                return Some(slot);
            }
            at = (at + 1) & mask;
        }
        None
    }

    #[cold]
    fn insert(&mut self, address: usize, size: u8) -> usize {
        let slot = self.slots.len();
        let mut rivals = Vec::new();
        for other in address.saturating_sub(7)..address + usize::from(size) {
            for other_size in [1, 2, 4, 8] {
                if other + usize::from(other_size) > address
                    && let Some(rival) = self.lookup(other, other_size)
                {
                    self.slots[rival].rivals.push(slot as u32);
                    rivals.push(rival as u32);
                }
            }
        }
        self.slots.push(Slot { address, size, rivals, places: Vec::new(), course: SlotState::default() });
        if self.slots.len() * 2 > self.table.len() {
            self.table = vec![0; (self.slots.len() * 4).next_power_of_two().max(64)];
            for slot in 0..self.slots.len() {
                self.enter(slot);
            }
        } else {
            self.enter(slot);
        }
        slot
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

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Locations {
        let mut places = Locations::default();
        places.begin();
        places
    }

    #[test]
    fn sizes_do_not_mix() {
        let mut places = places();
        assert!(places.find(16, 4, Some(0)).is_some());
        assert!(places.find(20, 4, Some(0)).is_some());
        assert!(places.find(16, 1, Some(0)).is_none());
        assert!(places.find(19, 1, Some(0)).is_none());
        assert!(places.find(16, 8, Some(0)).is_none());
        assert!(places.find(15, 1, Some(0)).is_some());
        assert!(places.find(24, 8, Some(0)).is_some());
    }

    #[test]
    fn sizes_may_differ_between_executions_only() {
        let mut places = places();
        assert!(places.find(17, 1, Some(0)).is_some());
        places.begin();
        assert!(places.find(16, 4, Some(0)).is_some());
        places.begin();
        assert!(places.find(16, 4, Some(0)).is_some());
        assert!(places.find(17, 1, Some(0)).is_none());
    }

    #[test]
    fn memory_that_was_freed_is_something_else() {
        let mut places = places();
        let old = places.find(16, 4, Some(0)).unwrap();
        let beside = places.find(32, 4, Some(0)).unwrap();
        places.forget(&(16..32));
        let new = places.find(16, 4, Some(0)).unwrap();
        assert!(new.first && new.place != old.place);
        assert!(!places.find(32, 4, Some(0)).unwrap().first);
        places.forget(&(16..32));
        assert!(places.find(16, 8, Some(0)).unwrap().first);
        assert!(places.find(16, 4, Some(0)).is_none());

        places.begin();
        assert_eq!(places.find(16, 4, Some(0)).unwrap().place, old.place);
        assert_eq!(places.find(32, 4, Some(0)).unwrap().place, beside.place);
    }

    #[test]
    fn plain_writes_make_a_new_place() {
        let mut places = places();
        let old = places.find(16, 4, Some(0)).unwrap();
        assert!(places.written(old.slot, 1, 5, |_| false));
        assert_eq!(places.find(16, 4, Some(5)).unwrap().place, old.place);
        assert_ne!(places.find(16, 4, Some(6)).unwrap().place, old.place);
        assert!(places.unseen_writes);
    }

    #[test]
    fn an_execution_is_taken_up_as_it_stood_before_an_access() {
        let mut places = places();
        places.mark_count(64);
        places.find(16, 4, Some(0)).unwrap();
        let (mut nothing, mut one) = (SoFar::default(), SoFar::default());
        places.before_latest(&mut nothing);
        let other = places.find(32, 4, Some(0)).unwrap();
        places.written(other.slot, 3, 9, |_| true);
        places.before_latest(&mut one);
        places.forget(&(16..20));
        places.forget_count(64);

        for (known, is_first) in [(&one, false), (&nothing, true), (&one, false)] {
            places.begin();
            assert!(!places.is_count(64));
            places.take_up(known);
            assert!(places.is_count(64));
            assert_eq!(places.find(16, 4, Some(0)).unwrap().first, is_first);
            assert!(places.find(32, 4, Some(0)).unwrap().first);
        }
        assert!(!places.unseen_writes);
    }
}
