//! The heap of one virtual thread, in a slot of address space of its own.
//!
//! **Invariant:** the address of a block depends only on the earlier allocations and frees of its own thread: two
//! executions that differ only in the interleaving of threads give every block the same address. The records of blocks
//! lie outside the memory that the code under test is given, so that no overflow destroys them.
//!
//! ```text
//!   slot of thread n ─┬─ 0 ─────────────── small blocks, 16 bytes aligned, one after the other
//!                     ├─ 4 GiB ─────────── large blocks, whole pages
//!                     ├─ 8 GiB ─────────── index: for each 16 bytes (page) the number of the block there, 4 bytes each; if the block
//!                     │                    is free, with the highest bit set
//!                     └─ 9 GiB + 16 MiB ── the slot's own state, then one Record per block
//! ```
//!
//! At the end of an execution only the positions are reset: entries of the index beyond them do not count.

use std::mem::offset_of;
use std::ops::Range;
use std::ptr;

use super::{Block, CLASSES, Policy, capacity_of, class_of};
use crate::op::ThreadId;
use crate::platform::sys::{self, PAGE};

/// The address of the first slot.
pub(super) const SLOTS: usize = 0x1000_0000_0000;
/// The length of a slot.
pub(super) const SLOT: usize = 1 << 34;
/// Threads with higher numbers share slots: address space is finite.
pub(super) const MOST_SLOTS: usize = 1024;

pub(super) const ZONE: usize = 4 << 30;
pub(super) const GRANULE: usize = 16;
pub(super) const SMALL_INDEX: usize = 2 * ZONE;
const LARGE_INDEX: usize = SMALL_INDEX + ZONE / GRANULE * 4;
const STATE: usize = LARGE_INDEX + (16 << 20);
const RECORDS: usize = STATE + PAGE;
const MOST_RECORDS: usize = (SLOT - RECORDS) / size_of::<Record>();

/// The bit of an index entry that says that the block is free.
const FREED: u32 = 1 << 31;

const _: () = assert!(MOST_RECORDS < FREED as usize);

/// Largest capacity of a small block. Large blocks are whole pages, which can be protected when they are free.
const LARGE: usize = 128 << 10;

/// Bytes of each zone that a thread may use before its freed blocks are reused under every policy.
const QUARANTINE: usize = 256 << 20;

/// The fill of freed memory: no address, no small number, no text.
const POISON: u8 = 0xdb;

/// The state of a slot, which lies in the slot itself.
#[repr(C)]
pub(super) struct Slot {
    start: usize,
    /// The address of the next small block, and of the next large one.
    next: usize,
    next_large: usize,
    /// Number of blocks so far; their numbers begin at 1.
    count: usize,
    /// Free blocks by class, linked by [`Record::link`]: those that this thread freed.
    free: [*mut Record; CLASSES],
    any_free: bool,
    /// Whether large blocks of this slot are protected.
    any_protected: bool,
}

const _: () = assert!(size_of::<Slot>() <= PAGE);

/// The record of a block.
#[repr(C)]
pub(crate) struct Record {
    start: usize,
    size: usize,
    /// For a free block that will be reused, the next one of its class; for a live block, the time of its allocation.
    link: usize,
    class: u8,
    state: State,
    /// The threads whose accesses to the block were recorded.
    pub(crate) users: Users,
    allocated_by: ThreadId,
    freed_by: ThreadId,
}

/// A set of threads, exact for all but the highest numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Users(u32);

impl Users {
    #[inline(always)]
    pub(crate) fn add(&mut self, thread: ThreadId) {
        self.0 |= Users::bit(thread);
    }

    /// Whether the set may contain the thread.
    #[inline(always)]
    pub(crate) fn may_contain(self, thread: ThreadId) -> bool {
        self.0 & Users::bit(thread) != 0
    }

    #[inline(always)]
    fn bit(thread: ThreadId) -> u32 {
        1 << thread.min(31)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Live,
    Free,
    /// Free, and any access faults.
    Protected,
}

/// The reason why an address cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No block begins there.
    NoBlock,
    /// The block is free already.
    Free,
}

/// Reserves the slot of a thread. Memory is committed as it is touched.
pub(super) fn map(thread: usize) {
    if thread < MOST_SLOTS {
        let start = SLOTS + thread * SLOT;
        sys::reserve(start, SLOT);
        // SAFETY: the slot was just mapped, and nothing uses it yet.
        unsafe {
            state(start).write(Slot {
                start,
                next: start,
                next_large: start + ZONE,
                count: 0,
                free: [ptr::null_mut(); CLASSES],
                any_free: false,
                any_protected: false,
            });
        }
    }
}

/// The slot of a thread.
#[inline(always)]
pub(super) fn of(thread: ThreadId) -> *mut Slot {
    state(SLOTS + usize::from(thread) % MOST_SLOTS * SLOT)
}

#[inline(always)]
fn state(start: usize) -> *mut Slot {
    ptr::with_exposed_provenance_mut(start + STATE)
}

impl Slot {
    /// Removes all blocks.
    pub(super) fn reset(&mut self) {
        if self.any_protected {
            for number in 1..=self.count {
                // SAFETY: a block of this slot, which nothing uses any more.
                unsafe { (*self.record(number)).unprotect() };
            }
            self.any_protected = false;
        }
        if self.any_free {
            self.free = [ptr::null_mut(); CLASSES];
            self.any_free = false;
        }
        self.next = self.start;
        self.next_large = self.start + ZONE;
        self.count = 0;
    }

    /// Whether some memory of the slot is protected from reads.
    pub(super) fn is_protected(&self) -> bool {
        self.any_protected
    }

    /// The memory that distinguishes the slot from an empty one. None if it is empty.
    pub(super) fn pieces(&self) -> Option<[Range<usize>; 6]> {
        let from = |start: usize, len: usize| start..start + len;
        let (small, large) = (self.next - self.start, self.next_large - self.start - ZONE);
        let own = ptr::from_ref(self).addr();
        let own_len = if self.any_free { size_of::<Slot>() } else { offset_of!(Slot, free) };
        (self.count > 0).then(|| {
            [
                from(own, own_len),
                from(self.record(1).addr(), self.count * size_of::<Record>()),
                from(self.start, small),
                from(self.start + SMALL_INDEX, small / GRANULE * 4),
                from(self.start + ZONE, large),
                from(self.start + LARGE_INDEX, large / PAGE * 4),
            ]
        })
    }

    #[inline]
    pub(super) fn allocate(&mut self, size: usize, align: usize, by: ThreadId) -> *mut u8 {
        if size > ZONE || align > ZONE {
            return ptr::null_mut();
        }
        let (class, capacity) = class_of(size.max(1));
        if self.any_free
            && let Some(block) = self.take_free(class, align)
        {
            // SAFETY: a free block, which is this thread's now.
            return unsafe { (*block).revive(size, by) };
        }
        // One instance for each zone, with its constants known to the compiler.
        match capacity <= LARGE {
            true => self.place::<0, GRANULE, SMALL_INDEX>(size, align, class, capacity, by),
            false => self.place::<ZONE, PAGE, LARGE_INDEX>(size, align, class, capacity, by),
        }
    }

    /// Allocates a block at the end of the used part of a zone.
    #[inline(always)]
    fn place<const ZONE_START: usize, const GRANULE: usize, const INDEX: usize>(
        &mut self,
        size: usize,
        align: usize,
        class: usize,
        capacity: usize,
        by: ThreadId,
    ) -> *mut u8 {
        let zone = self.start + ZONE_START;
        let next = if ZONE_START == 0 { &mut self.next } else { &mut self.next_large };
        // Alignments are powers of two.
        let align = align.max(GRANULE);
        let start = (*next + align - 1) & !(align - 1);
        let end = start + capacity;
        if end > zone + ZONE || self.count + 1 == MOST_RECORDS {
            return ptr::null_mut();
        }
        *next = end;
        self.count += 1;
        let number = self.count;
        // SAFETY: the record and the index of the block lie in the slot.
        unsafe {
            self.record(number).write(Record {
                start,
                size,
                link: 0,
                class: class as u8,
                state: State::Live,
                users: Users::default(),
                allocated_by: by,
                freed_by: 0,
            });
            let first = ((self.start + INDEX) as *mut u32).add((start - zone) / GRANULE);
            for granule in 0..capacity / GRANULE {
                first.add(granule).write(number as u32);
            }
        }
        ptr::with_exposed_provenance_mut(start)
    }

    fn is_over_quarantine(&self) -> bool {
        self.next - self.start > QUARANTINE || self.next_large - self.start - ZONE > QUARANTINE
    }

    fn take_free(&mut self, class: usize, align: usize) -> Option<*mut Record> {
        let first = self.free[class];
        // SAFETY: the list holds records of free blocks.
        unsafe {
            if first.is_null() || (*first).start & (align - 1) != 0 {
                return None;
            }
            self.free[class] = ptr::with_exposed_provenance_mut((*first).link);
        }
        Some(first)
    }

    #[inline(always)]
    fn record(&self, number: usize) -> *mut Record {
        ptr::with_exposed_provenance_mut::<Record>(self.start + RECORDS).wrapping_add(number)
    }

    /// The live blocks.
    pub(super) fn live(&self) -> impl Iterator<Item = Block> {
        (1..=self.count).filter_map(|number| {
            // SAFETY: a block of this slot.
            let record = unsafe { &*self.record(number) };
            (record.state == State::Live).then(|| record.block())
        })
    }
}

/// The index entry of an address of some slot.
#[inline(always)]
fn entry_of(address: usize) -> Option<*mut u32> {
    let start = address & !(SLOT - 1);
    let offset = address - start;
    let (index, granule) = match offset {
        offset if offset < ZONE => (SMALL_INDEX, offset / GRANULE),
        offset if offset < 2 * ZONE => (LARGE_INDEX, (offset - ZONE) / PAGE),
        _ => return None,
    };
    Some(ptr::with_exposed_provenance_mut::<u32>(start + index).wrapping_add(granule))
}

/// Whether the index says that an address of some mapped slot lies in a free block. It may be out of date beyond the used parts of the
/// slot.
#[inline(always)]
pub(super) fn may_be_freed(address: usize) -> bool {
    // SAFETY: the index of a mapped slot covers both zones.
    entry_of(address).is_some_and(|entry| unsafe { *entry } & FREED != 0)
}

/// The record of the block that contains an address of some slot.
#[inline(always)]
pub(super) fn record_of(address: usize) -> Option<*mut Record> {
    let start = address & !(SLOT - 1);
    let offset = address - start;
    let slot = state(start);
    let entry = entry_of(address)?;
    // SAFETY: the caller passes an address of a mapped slot; its index covers both zones.
    unsafe {
        let number = (*entry & !FREED) as usize;
        // Entries beyond the positions are left from an earlier execution.
        let used = if offset < ZONE { (*slot).next } else { (*slot).next_large };
        if number == 0 || number > (*slot).count || address >= used {
            return None;
        }
        Some((*slot).record(number))
    }
}

/// Frees a block of any slot, for the thread that `freer` belongs to.
///
/// # Safety
/// The address must lie in a mapped slot.
#[inline]
pub(super) unsafe fn free(
    freer: &mut Slot,
    address: usize,
    by: ThreadId,
    policy: Policy,
) -> Result<(), Refusal> {
    let record = record_of(address).ok_or(Refusal::NoBlock)?;
    // SAFETY: the record of a block, whose memory is unused from now on.
    unsafe {
        let record = &mut *record;
        if record.start != address {
            return Err(Refusal::NoBlock);
        }
        if record.state != State::Live {
            return Err(Refusal::Free);
        }
        record.state = State::Free;
        record.freed_by = by;
        record.mark(FREED);
        if policy == Policy::Quarantine && !freer.is_over_quarantine() {
            if record.is_large() {
                record.protect();
                (*state(address & !(SLOT - 1))).any_protected = true;
            } else {
                ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(POISON, record.size);
            }
            return Ok(());
        }
        let list = &mut freer.free[usize::from(record.class)];
        record.link = list.expose_provenance();
        *list = record;
        freer.any_free = true;
    }
    Ok(())
}

impl Record {
    #[inline(always)]
    fn is_live(&self) -> bool {
        self.state == State::Live
    }

    /// Whether the block is free and contains the address. A gap between blocks may count as part of one.
    #[inline(always)]
    pub(crate) fn is_freed_at(&self, address: usize) -> bool {
        !self.is_live() && self.contains(address)
    }

    /// The allocating thread.
    #[inline(always)]
    pub(crate) fn allocated_by(&self) -> ThreadId {
        self.allocated_by
    }

    /// The allocating thread's time at the allocation, where that is recorded.
    #[inline(always)]
    pub(crate) fn allocated_at(&self) -> u32 {
        self.link as u32
    }

    /// Sets the allocating thread's time at the allocation.
    #[inline(always)]
    pub(crate) fn set_allocated_at(&mut self, time: u32) {
        self.link = time as usize;
    }

    pub(crate) fn block(&self) -> Block {
        Block {
            start: self.start,
            size: self.size,
            allocated_by: self.allocated_by,
            freed_by: (!self.is_live()).then_some(self.freed_by),
        }
    }

    /// Capacity of the block, in bytes.
    pub(super) fn capacity(&self) -> usize {
        capacity_of(self.class.into())
    }

    /// Whether the block contains the address.
    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.start..self.start + self.capacity()).contains(&address)
    }

    fn is_large(&self) -> bool {
        self.start & (SLOT - 1) >= ZONE
    }

    /// Changes the size of a live block within its capacity.
    pub(super) fn resize(&mut self, size: usize) {
        self.size = size;
    }

    unsafe fn revive(&mut self, size: usize, by: ThreadId) -> *mut u8 {
        self.unprotect();
        // SAFETY: the record of a block.
        unsafe { self.mark(0) };
        self.size = size;
        self.state = State::Live;
        self.users = Users::default();
        self.link = 0;
        self.allocated_by = by;
        ptr::with_exposed_provenance_mut(self.start)
    }

    /// Sets or clears the bit of the block's index entries.
    ///
    /// # Safety
    /// The record must be that of a block in a mapped slot.
    #[inline(always)]
    unsafe fn mark(&self, freed: u32) {
        let Some(first) = entry_of(self.start) else { return };
        let granule = if self.is_large() { PAGE } else { GRANULE };
        for entry in 0..self.capacity() / granule {
            // SAFETY: the index entries of the block lie in its slot.
            unsafe { *first.add(entry) = *first.add(entry) & !FREED | freed };
        }
    }

    fn pages(&self) -> usize {
        self.capacity().next_multiple_of(PAGE)
    }

    #[cold]
    fn protect(&mut self) {
        self.state = State::Protected;
        // SAFETY: whole pages that belong to a free block.
        unsafe { sys::protect(self.start, self.pages(), libc::PROT_NONE) };
    }

    #[inline]
    fn unprotect(&mut self) {
        if self.state == State::Protected {
            self.state = State::Free;
            // SAFETY: as above.
            unsafe { sys::protect(self.start, self.pages(), libc::PROT_READ | libc::PROT_WRITE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A step of a thread: allocates this many bytes, or frees one of the blocks that it knows.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Allocate { size: usize, align: usize },
        Free { which: usize },
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = prop_oneof![1..100usize, 1000..3000usize, Just(LARGE + 1), Just(3 * LARGE)];
        let align = prop_oneof![Just(16usize), Just(8), Just(64), Just(4096)];
        prop_oneof![
            3 => (size, align).prop_map(|(size, align)| Step::Allocate { size, align }),
            2 => any::<usize>().prop_map(|which| Step::Free { which }),
        ]
    }

    /// The slots of the threads of a test, which runs beside others.
    struct Heaps {
        first: usize,
        blocks: Vec<Block>,
    }

    impl Heaps {
        fn new(first: usize, threads: usize) -> Heaps {
            static MAPPED: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
            for thread in first..first + threads {
                let mut mapped = MAPPED.lock().unwrap();
                if !mapped.contains(&thread) {
                    map(thread);
                    mapped.push(thread);
                }
                // SAFETY: mapped, and used by this test only.
                unsafe { (*of(thread as ThreadId)).reset() };
            }
            Heaps { first, blocks: Vec::new() }
        }

        fn allocate(&mut self, thread: usize, size: usize, align: usize, policy: Policy) -> usize {
            let by = (self.first + thread) as ThreadId;
            // SAFETY: as above.
            let start = unsafe { (*of(by)).allocate(size, align, by) }.addr();
            assert!(start != 0 && start.is_multiple_of(align));
            self.blocks.retain(|old| old.start != start || old.freed_by.is_none());
            for old in self.blocks.iter().filter(|old| old.freed_by.is_none() || policy == Policy::Quarantine)
            {
                let apart = start + size <= old.start || old.start + old.size <= start;
                assert!(apart, "{start:#x} + {size} overlaps {old:x?}");
            }
            self.blocks.push(Block { start, size, allocated_by: by, freed_by: None });
            start
        }

        fn free(&mut self, thread: usize, start: usize, policy: Policy) -> Result<(), Refusal> {
            let by = (self.first + thread) as ThreadId;
            // SAFETY: as above.
            let result = unsafe { free(&mut *of(by), start, by, policy) };
            if let Some(block) = self.blocks.iter_mut().find(|block| block.start == start) {
                let expected = if block.freed_by.is_none() { Ok(()) } else { Err(Refusal::Free) };
                assert_eq!(result, expected);
                block.freed_by.get_or_insert(by);
            }
            result
        }

        /// What the heap says of each byte is what was done.
        fn check(&self) {
            for block in &self.blocks {
                for at in [block.start, block.start + block.size / 2, block.start + block.size - 1] {
                    // SAFETY: a record of this test's slots.
                    let found = record_of(at).map(|record| unsafe { (*record).block() });
                    assert_eq!(found, Some(*block));
                }
            }
        }
    }

    /// Runs the threads' steps in an order; returns the addresses that each was given.
    fn run(programs: &[Vec<Step>], order: &[usize], first: usize, policy: Policy) -> Vec<Vec<usize>> {
        let mut heaps = Heaps::new(first, programs.len());
        let mut given = vec![Vec::new(); programs.len()];
        let mut mine: Vec<Vec<usize>> = vec![Vec::new(); programs.len()];
        let mut next = vec![0; programs.len()];
        for &thread in order {
            let step = programs[thread][next[thread]];
            next[thread] += 1;
            match step {
                Step::Allocate { size, align } => {
                    let start = heaps.allocate(thread, size, align, policy);
                    given[thread].push(start);
                    mine[thread].push(start);
                }
                Step::Free { which } if !mine[thread].is_empty() => {
                    let which = which % mine[thread].len();
                    let start = mine[thread].swap_remove(which);
                    heaps.free(thread, start, policy).unwrap();
                }
                _ => {}
            }
        }
        heaps.check();
        given
    }

    proptest! {
        #[test]
        fn addresses_depend_on_nothing_but_the_threads_own_history(
            programs in prop::collection::vec(prop::collection::vec(step(), 0..30), 3),
            seed in any::<u64>(),
            reuse in any::<bool>(),
        ) {
            let policy = if reuse { Policy::Reuse } else { Policy::Quarantine };
            let one_by_one: Vec<usize> =
                programs.iter().enumerate().flat_map(|(thread, steps)| vec![thread; steps.len()]).collect();
            let mut mixed = one_by_one.clone();
            let mut rng = crate::rng::Rng::new(seed);
            for index in (1..mixed.len()).rev() {
                mixed.swap(index, rng.next() as usize % (index + 1));
            }
            prop_assert_eq!(run(&programs, &one_by_one, 900, policy), run(&programs, &mixed, 900, policy));
        }

        #[test]
        fn every_block_is_known_whoever_frees_it(
            steps in prop::collection::vec((0..3usize, step()), 0..80),
            reuse in any::<bool>(),
        ) {
            let policy = if reuse { Policy::Reuse } else { Policy::Quarantine };
            let mut heaps = Heaps::new(910, 3);
            for (thread, step) in steps {
                match step {
                    Step::Allocate { size, align } => _ = heaps.allocate(thread, size, align, policy),
                    Step::Free { which } if !heaps.blocks.is_empty() => {
                        let block = heaps.blocks[which % heaps.blocks.len()];
                        // A second free is refused, and so is one of an address within the block.
                        _ = heaps.free(thread, block.start, policy);
                        prop_assert_eq!(heaps.free(thread, block.start + 1, policy), Err(Refusal::NoBlock));
                    }
                    _ => {}
                }
                heaps.check();
            }
        }
    }

    #[test]
    fn the_thread_that_freed_last_gets_the_block_back() {
        let mut heaps = Heaps::new(920, 2);
        let block = heaps.allocate(0, 48, 16, Policy::Reuse);
        heaps.free(1, block, Policy::Reuse).unwrap();
        assert_ne!(heaps.allocate(0, 48, 16, Policy::Reuse), block);
        assert_eq!(heaps.allocate(1, 40, 16, Policy::Reuse), block);
    }
}
