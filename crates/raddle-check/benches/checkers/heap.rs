//! Counts what is allocated, so that the table can say how much memory a row took.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated now.
pub(crate) fn held() -> usize {
    HELD.load(Relaxed)
}

/// The most bytes that were allocated at once since [`reset_peak`].
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}

pub(crate) fn reset_peak() {
    PEAK.store(held(), Relaxed);
}

fn count(grown: usize, shrunk: usize) {
    let held = HELD.fetch_add(grown, Relaxed) + grown - shrunk;
    HELD.fetch_sub(shrunk, Relaxed);
    PEAK.fetch_max(held, Relaxed);
}

// SAFETY: every method does what the system's allocator does, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: as for `dealloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
