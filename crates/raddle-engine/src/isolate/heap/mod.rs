//! Heaps at fixed addresses: those of executions, and the engine's.
//!
//! Each virtual thread has a heap of its own ([`slot`]), which is empty at the beginning of each execution. Resetting
//! takes constant time. **Invariant:** the address of a block depends only on the earlier allocations and frees of its
//! own thread: the code under test may hash or compare addresses without becoming nondeterministic, and schedules that
//! differ in the order of independent steps lead to the same addresses. The engine has an arena ([`bump`]) that is
//! never emptied.

mod bump;
mod slot;

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use self::bump::Arena;
pub(crate) use self::slot::Record;
pub use self::slot::Refusal;
use self::slot::Slot;
use super::image::Image;
use crate::op::ThreadId;
use crate::platform::global::{GLOBAL, NO_ROLE, ROLE};
use crate::platform::sys;

const EXECUTION_HEAP: usize = slot::SLOTS;
const EXECUTION_LEN: usize = slot::MOST_SLOTS * slot::SLOT;
const ENGINE_HEAP: usize = 0x2100_0000_0000;
const ENGINE_LEN: usize = 1 << 38;

/// The treatment of freed blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Quarantine: a freed block is poisoned and not used again within the execution, so that a later access to it is
    /// seen.
    #[default]
    Quarantine,
    /// Reuse: the freeing thread's next allocation of that size gets the block, as from most allocators: a reused block
    /// looks the same to a compare-exchange.
    Reuse,
}

/// A block that the execution allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address.
    pub start: usize,
    /// The requested size, in bytes.
    pub size: usize,
    /// The thread that allocated it.
    pub allocated_by: ThreadId,
    /// The thread that freed it, if it is free.
    pub freed_by: Option<ThreadId>,
}

/// Whether the address lies in one of the heaps.
#[inline(always)]
pub fn owns(address: usize) -> bool {
    is_of_execution(address) || is_of_engine(address)
}

/// The layout of the heaps of executions, for machine code that asks whether memory is free.
#[derive(Clone, Copy, Debug)]
pub struct Layout;

impl Layout {
    /// The bits by which an address is shifted for the number of the heaps, and that number.
    pub const HEAPS: (u32, usize) = (EXECUTION_LEN.trailing_zeros(), EXECUTION_HEAP / EXECUTION_LEN);
    /// The bits of an address within the heap of a thread.
    pub const SLOT: u32 = slot::SLOT.trailing_zeros();
    /// The bits of an address among small blocks.
    pub const SMALL: u32 = slot::ZONE.trailing_zeros();
    /// The bits of an address that share an index entry of four bytes.
    pub const GRANULE: u32 = slot::GRANULE.trailing_zeros();
    /// The bit of the offset at which the index of small blocks lies in the heap of a thread. The highest bit of an entry says that the block
    /// is free.
    pub const INDEX: u32 = slot::SMALL_INDEX.trailing_zeros();
}

const _: () = assert!(
    EXECUTION_LEN.is_power_of_two()
        && EXECUTION_HEAP.is_multiple_of(EXECUTION_LEN)
        && slot::SMALL_INDEX.is_power_of_two()
        && Layout::SMALL == 32
);

/// Whether the address lies in a heap of executions.
#[inline(always)]
pub fn is_of_execution(address: usize) -> bool {
    address.wrapping_sub(EXECUTION_HEAP) < EXECUTION_LEN
}

/// Whether the address lies in the engine's arena.
#[inline(always)]
pub fn is_of_engine(address: usize) -> bool {
    address.wrapping_sub(ENGINE_HEAP) < ENGINE_LEN
}

/// The source of a caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The C library: the caller has no part in an exploration.
    Process,
    /// The heap of the current thread.
    Execution,
    /// The arena of the engine.
    Engine,
}

/// The present source of the caller's memory.
#[inline(always)]
pub fn source() -> Source {
    if ROLE.get() == NO_ROLE {
        Source::Process
    } else if GLOBAL.in_engine.get() {
        Source::Engine
    } else {
        Source::Execution
    }
}

/// Allocates; null when there is no room. The source must not be [`Source::Process`].
#[inline]
pub fn allocate(source: Source, size: usize, align: usize) -> *mut u8 {
    match source {
        Source::Engine => with_arena(|arena| arena.allocate(size, align)),
        _ => {
            let thread = current();
            of_thread(thread).allocate(size, align, thread)
        }
    }
}

/// Allocates zeroed memory, as [`allocate`] does.
#[inline]
pub fn allocate_zeroed(source: Source, size: usize, align: usize) -> *mut u8 {
    if source == Source::Engine {
        return with_arena(|arena| arena.allocate_zeroed(size, align));
    }
    let block = allocate(source, size, align);
    if !block.is_null() {
        // SAFETY: a block of that size. An earlier execution may have used it.
        unsafe { block.write_bytes(0, size) };
    }
    block
}

/// Frees a block.
///
/// # Errors
/// If the execution has no such block, or has freed it.
///
/// # Safety
/// The address must be [owned](owns), and a block if it is the engine's.
#[inline]
pub unsafe fn free(address: *mut u8) -> Result<(), Refusal> {
    let at = address.addr();
    // SAFETY: the caller's.
    unsafe {
        if is_of_engine(at) {
            with_arena(|arena| arena.free(address));
            return Ok(());
        }
        if !is_mapped(at) {
            return Err(Refusal::NoBlock);
        }
        let thread = current();
        slot::free(of_thread(thread), at, thread, HEAPS.policy.get())
    }
}

/// Capacity of the live block at the address, in bytes.
///
/// # Errors
/// As for [`free`].
///
/// # Safety
/// As for [`free`].
#[inline]
pub unsafe fn usable(address: *mut u8) -> Result<usize, Refusal> {
    let at = address.addr();
    if is_of_engine(at) {
        // SAFETY: the caller's.
        return Ok(unsafe { bump::usable(address) });
    }
    let record = record_of(at).ok_or(Refusal::NoBlock)?;
    match record.block() {
        block if block.start != at => Err(Refusal::NoBlock),
        block if block.freed_by.is_some() => Err(Refusal::Free),
        _ => Ok(record.capacity()),
    }
}

/// Changes the size of a live block to one that it can hold.
pub fn resize(address: *mut u8, size: usize) {
    if let Some(record) = record_of(address.addr()) {
        record.resize(size);
    }
}

/// Whether the address lies in freed memory. False for memory that executions do not allocate.
#[inline(always)]
pub fn is_freed(address: usize) -> bool {
    is_of_execution(address)
        && is_mapped(address)
        && slot::may_be_freed(address)
        && is_in_freed_block(address)
}

#[cold]
#[inline(never)]
fn is_in_freed_block(address: usize) -> bool {
    record_of(address).is_some_and(|record| record.is_freed_at(address))
}

/// The block that contains the address, live or not.
#[inline]
pub fn block_of(address: usize) -> Option<Block> {
    let record = record_of(address)?;
    record.contains(address).then(|| record.block())
}

/// The record of the block that contains the address, or that lies beside the gap that contains it.
#[inline(always)]
pub(crate) fn record_of(address: usize) -> Option<&'static mut Record> {
    if !is_of_execution(address) || !is_mapped(address) {
        return None;
    }
    // SAFETY: only the exploring OS thread gets here, and no reference outlives the caller's statement.
    slot::record_of(address).map(|record| unsafe { &mut *record })
}

/// Begins an execution with this treatment of freed blocks.
pub fn begin(policy: Policy) {
    HEAPS.policy.set(policy);
}

/// Empties the heaps of the first threads.
pub fn reset(threads: usize) {
    slots(threads).for_each(Slot::reset);
}

/// Adds the contents and records of the first threads' heaps to an image, to be written back when the heaps are empty.
/// False if that is more than `most` bytes, or if some memory is protected.
pub(crate) fn add_to(image: &mut Image, threads: usize, most: usize) -> bool {
    let pieces = || slots(threads).filter_map(|slot| slot.pieces());
    if slots(threads).any(|slot| slot.is_protected())
        || pieces().flatten().map(|piece| piece.len()).sum::<usize>() > most
    {
        return false;
    }
    // SAFETY: the used parts of mapped slots; no code under test runs now.
    pieces().flatten().for_each(|piece| unsafe { image.add(piece) });
    true
}

/// The live blocks of the first threads.
pub fn live(threads: usize) -> impl Iterator<Item = Block> {
    slots(threads).flat_map(|slot| slot.live())
}

/// Reserves the engine's arena, once per process.
pub fn init() {
    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| sys::reserve(ENGINE_HEAP, ENGINE_LEN));
}

/// Reserves the heap of a thread: called once for each number, in ascending order.
pub(crate) fn map(thread: usize) {
    slot::map(thread);
    let end = EXECUTION_HEAP + (thread + 1).min(slot::MOST_SLOTS) * slot::SLOT;
    GLOBAL.heaps_end.set(GLOBAL.heaps_end.get().max(end));
}

#[inline(always)]
fn is_mapped(address: usize) -> bool {
    address < GLOBAL.heaps_end.get()
}

/// The number of the current thread; 0 if there is none.
#[inline(always)]
fn current() -> ThreadId {
    // SAFETY: the number of the engine in `GLOBAL`, which lives, or that of no thread. It is only read.
    unsafe { *GLOBAL.current.get() }
}

#[inline(always)]
fn of_thread<'a>(thread: ThreadId) -> &'a mut Slot {
    // SAFETY: threads run one at a time; their slots were mapped when they were made; no reference outlives a call.
    unsafe { &mut *slot::of(thread) }
}

fn slots(threads: usize) -> impl Iterator<Item = &'static mut Slot> {
    (0..threads.min(slot::MOST_SLOTS)).map(|thread| of_thread(thread as ThreadId))
}

const SMALL_STEP: usize = 16;
const SMALL_CLASSES: usize = 64;
const SMALL_MAX: usize = SMALL_STEP * SMALL_CLASSES;
/// Small sizes in steps of 16 bytes, then one class per power of two.
const CLASSES: usize = SMALL_CLASSES + 38;

/// The class of a size, and its capacity.
#[inline(always)]
fn class_of(size: usize) -> (usize, usize) {
    if size <= SMALL_MAX {
        let class = size.div_ceil(SMALL_STEP) - 1;
        (class, (class + 1) * SMALL_STEP)
    } else {
        let capacity = size.next_power_of_two();
        (SMALL_CLASSES + (capacity.trailing_zeros() - SMALL_MAX.trailing_zeros()) as usize, capacity)
    }
}

/// The capacity of a class.
#[inline(always)]
fn capacity_of(class: usize) -> usize {
    if class < SMALL_CLASSES { (class + 1) * SMALL_STEP } else { SMALL_MAX << (class - SMALL_CLASSES) }
}

/// The statics of this module fill pages of their own, like [`GLOBAL`], and for the same reason.
#[repr(C, align(4096))]
struct Heaps {
    locked: AtomicBool,
    engine: UnsafeCell<Arena>,
    policy: Cell<Policy>,
}

// SAFETY: the engine's arena is guarded by `locked`, because results that were allocated from it may be dropped by any
// thread later; the rest is used by the exploring OS thread only.
unsafe impl Sync for Heaps {}

#[unsafe(link_section = ".raddle")]
static HEAPS: Heaps = Heaps {
    locked: AtomicBool::new(false),
    engine: UnsafeCell::new(Arena::new(ENGINE_HEAP, ENGINE_LEN)),
    policy: Cell::new(Policy::Quarantine),
};

/// The pages of the engine's statics, which are never rolled back.
pub(crate) fn own_statics() -> [Range<usize>; 2] {
    let heaps = (&raw const HEAPS).addr();
    let global = (&raw const GLOBAL).addr();
    [heaps..heaps + size_of::<Heaps>(), global..global + size_of_val(&GLOBAL)]
}

/// The parts of some memory that are not the engine's statics.
pub(crate) fn without_own_statics(memory: Range<usize>) -> Vec<Range<usize>> {
    own_statics().iter().fold(vec![memory], |parts, own| {
        parts.into_iter().flat_map(|part| super::pages::without(part, own)).collect()
    })
}

#[inline(always)]
fn with_arena<T>(work: impl FnOnce(&mut Arena) -> T) -> T {
    while HEAPS.locked.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the lock is held, and `work` never calls back.
    let result = work(unsafe { &mut *HEAPS.engine.get() });
    HEAPS.locked.store(false, Ordering::Release);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_their_class_says() {
        for size in (1..4096).chain([1 << 16, (1 << 16) + 1, 1 << 30]) {
            let (class, capacity) = class_of(size);
            assert!(capacity >= size && capacity == capacity_of(class), "{size}");
        }
    }
}
