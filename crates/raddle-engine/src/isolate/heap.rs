//! Two arenas at fixed addresses: one that each execution starts with empty, one for the engine.
//!
//! An arena is a bump allocator with one free list per size class. Resetting it costs the same whatever was allocated,
//! and equal sequences of calls give equal addresses in every execution of every process: the code under test may hash or
//! compare addresses without becoming nondeterministic.
//!
//! ```text
//!   block ──┬────────────────┬─ payload ───────────────────────┐
//!           │ padding if the │ 16 bytes before the payload:    │
//!           │ alignment > 16 │ Header { class, offset, usable }│
//!           └────────────────┴─────────────────────────────────┘
//! ```

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::global::{GLOBAL, NO_ROLE, ROLE};
use crate::sys;

/// Where the heap of executions lies.
pub const EXECUTION_HEAP: usize = 0x2000_0000_0000;
const ENGINE_HEAP: usize = 0x2100_0000_0000;
const ARENA_LEN: usize = 1 << 38;

/// Whether the address lies in one of the arenas.
#[inline(always)]
pub fn owns(address: usize) -> bool {
    (EXECUTION_HEAP..ENGINE_HEAP + ARENA_LEN).contains(&address)
}

/// Where a caller's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The C library: the caller has nothing to do with an exploration.
    Process,
    /// The arena of the execution.
    Execution,
    /// The arena of the engine.
    Engine,
}

/// Where the caller's memory comes from now.
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

/// Allocates from an arena; null when it is full. The source must not be [`Source::Process`].
#[inline]
pub fn allocate(source: Source, size: usize, align: usize) -> *mut u8 {
    with_arena(source == Source::Engine, |arena| arena.allocate(size, align))
}

/// Takes a block back. False if it is free already.
///
/// # Safety
/// `payload` must be a block of an arena that was live once.
#[inline]
pub unsafe fn free(payload: *mut u8) -> bool {
    let engine = payload.addr() >= ENGINE_HEAP;
    // SAFETY: the caller's.
    with_arena(engine, |arena| unsafe { arena.free(payload) })
}

/// How many bytes the block can hold.
///
/// # Safety
/// As for [`free`].
#[inline]
pub unsafe fn usable(payload: *mut u8) -> usize {
    // SAFETY: a live block has a header.
    unsafe { (*header(payload)).usable }
}

/// Empties the heap of executions.
pub fn reset() {
    with_arena(false, Arena::reset);
}

/// Reserves the arenas, once per process.
pub fn init() {
    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| {
        sys::reserve(EXECUTION_HEAP, ARENA_LEN);
        sys::reserve(ENGINE_HEAP, ARENA_LEN);
    });
}

/// What the execution has used of its heap so far.
pub(crate) fn used() -> std::ops::Range<usize> {
    with_arena(false, |arena| arena.start..arena.next)
}

const SMALL_STEP: usize = 16;
const SMALL_CLASSES: usize = 64;
const SMALL_MAX: usize = SMALL_STEP * SMALL_CLASSES;
/// Small sizes in steps of 16 bytes, then one class per power of two.
const CLASSES: usize = SMALL_CLASSES + 38;

/// The class of a block that is free.
const FREE: u32 = u32::MAX;

#[repr(C, align(16))]
struct Header {
    class: u32,
    /// From the block's start to the payload.
    offset: u32,
    /// Bytes from the payload to the block's end.
    usable: usize,
}

const HEADER: usize = size_of::<Header>();

struct Arena {
    start: usize,
    next: usize,
    free: [*mut u8; CLASSES],
}

impl Arena {
    const fn new(start: usize) -> Arena {
        Arena { start, next: start, free: [ptr::null_mut(); CLASSES] }
    }

    fn reset(&mut self) {
        self.next = self.start;
        self.free = [ptr::null_mut(); CLASSES];
    }

    #[inline]
    fn allocate(&mut self, size: usize, align: usize) -> *mut u8 {
        let slack = if align > HEADER { align } else { 0 };
        let Some(wanted) = size.max(1).checked_add(slack) else { return ptr::null_mut() };
        if wanted > ARENA_LEN / 4 {
            return ptr::null_mut();
        }
        let (class, capacity) = class_of(wanted);
        let block = match self.free[class] {
            block if block.is_null() => {
                let block = self.next;
                if block + HEADER + capacity > self.start + ARENA_LEN {
                    return ptr::null_mut();
                }
                self.next = block + HEADER + capacity;
                ptr::with_exposed_provenance_mut::<u8>(block)
            }
            block => {
                // SAFETY: a free block holds the link to the next one after its header.
                self.free[class] = unsafe { block.add(HEADER).cast::<*mut u8>().read() };
                block
            }
        };
        // SAFETY: the block is HEADER + capacity bytes long, and capacity includes the slack for the alignment.
        unsafe {
            let offset = block.add(HEADER).align_offset(align.max(1));
            let payload = block.add(HEADER + offset);
            header(payload).write(Header {
                class: class as u32,
                offset: (HEADER + offset) as u32,
                usable: capacity - offset,
            });
            payload
        }
    }

    #[inline]
    unsafe fn free(&mut self, payload: *mut u8) -> bool {
        // SAFETY: the caller's: a block of this arena.
        unsafe {
            let Header { class, offset, .. } = header(payload).read();
            if class == FREE {
                return false;
            }
            (*header(payload)).class = FREE;
            let block = payload.sub(offset as usize);
            block.add(HEADER).cast::<*mut u8>().write(self.free[class as usize]);
            self.free[class as usize] = block;
        }
        true
    }
}

#[inline(always)]
unsafe fn header(payload: *mut u8) -> *mut Header {
    // SAFETY: every payload has a header before it.
    unsafe { payload.sub(HEADER).cast() }
}

/// The class of a size and the bytes that its blocks hold.
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

/// The arenas fill pages of their own, like [`GLOBAL`], and for the same reason.
#[repr(C, align(4096))]
struct Arenas {
    locked: AtomicBool,
    execution: UnsafeCell<Arena>,
    engine: UnsafeCell<Arena>,
}

// SAFETY: the execution's arena is used by the exploring OS thread only; the engine's is guarded by `locked`, because
// results that were allocated from it may be dropped by any thread later.
unsafe impl Sync for Arenas {}

#[unsafe(link_section = ".raddle")]
static ARENAS: Arenas = Arenas {
    locked: AtomicBool::new(false),
    execution: UnsafeCell::new(Arena::new(EXECUTION_HEAP)),
    engine: UnsafeCell::new(Arena::new(ENGINE_HEAP)),
};

/// The pages of the engine's statics, which are never rolled back.
pub(crate) fn own_statics() -> [std::ops::Range<usize>; 2] {
    let arenas = (&raw const ARENAS).addr();
    let global = (&raw const GLOBAL).addr();
    [arenas..arenas + size_of::<Arenas>(), global..global + size_of_val(&GLOBAL)]
}

#[inline(always)]
fn with_arena<T>(engine: bool, work: impl FnOnce(&mut Arena) -> T) -> T {
    if !engine {
        // SAFETY: only the exploring OS thread gets here, and `work` never calls back.
        return work(unsafe { &mut *ARENAS.execution.get() });
    }
    while ARENAS.locked.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the lock is held, and `work` never calls back.
    let result = work(unsafe { &mut *ARENAS.engine.get() });
    ARENAS.locked.store(false, Ordering::Release);
    result
}
