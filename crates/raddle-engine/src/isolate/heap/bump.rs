//! The arena of the engine: a bump allocator with one free list per size class.
//!
//! ```text
//!   block ──┬────────────────┬─ payload ───────────────────────┐
//!           │ padding if the │ 16 bytes before the payload:    │
//!           │ alignment > 16 │ Header { class, offset, usable }│
//!           └────────────────┴─────────────────────────────────┘
//! ```

use std::ptr;

use super::{SMALL_CLASSES, SMALL_MAX, SMALL_STEP};

/// The class of a block that is free.
const FREE: u32 = u32::MAX;

#[repr(C, align(16))]
struct Header {
    class: u32,
    /// Offset of the payload from the block's start.
    offset: u32,
    /// Bytes from the payload to the block's end.
    usable: usize,
}

const HEADER: usize = size_of::<Header>();

/// The classes of an arena. Sizes up to a KiB are in steps of 16 bytes. Up to 8 KiB, of which size are parts of checkpoints, each power of two
/// is in quarters; above, sizes are powers of two, so that buffers that are needed for a moment find an old one.
const MEDIUM: usize = SMALL_CLASSES;
const QUARTERS: usize = 4;
const MEDIUM_POWERS: u32 = 3;
const LARGE: usize = MEDIUM + QUARTERS * MEDIUM_POWERS as usize;
const LARGE_MIN: usize = SMALL_MAX << MEDIUM_POWERS;
const CLASSES: usize = LARGE + 38 - MEDIUM_POWERS as usize;

/// The class of a size, and its capacity.
#[inline(always)]
fn class_of(size: usize) -> (usize, usize) {
    if size <= SMALL_MAX {
        let class = size.div_ceil(SMALL_STEP) - 1;
        (class, (class + 1) * SMALL_STEP)
    } else if size <= LARGE_MIN {
        // The power of two below, or half of it if the size is one.
        let power = (size - 1).ilog2();
        let quarter = (1 << power) / QUARTERS;
        let quarters = size.div_ceil(quarter);
        let powers = (power - SMALL_MAX.ilog2()) as usize;
        (MEDIUM + powers * QUARTERS + quarters - QUARTERS - 1, quarters * quarter)
    } else {
        let capacity = size.next_power_of_two();
        (LARGE + (capacity.ilog2() - LARGE_MIN.ilog2()) as usize - 1, capacity)
    }
}

pub(super) struct Arena {
    next: usize,
    end: usize,
    free: [*mut u8; CLASSES],
}

impl Arena {
    pub(super) const fn new(start: usize, len: usize) -> Arena {
        Arena { next: start, end: start + len, free: [ptr::null_mut(); CLASSES] }
    }

    #[inline]
    pub(super) fn allocate(&mut self, size: usize, align: usize) -> *mut u8 {
        self.allocate_and_tell(size, align).0
    }

    /// Allocates zeroed memory. That which no block has had before is zero, and takes no page until it is written.
    pub(super) fn allocate_zeroed(&mut self, size: usize, align: usize) -> *mut u8 {
        let (payload, is_new) = self.allocate_and_tell(size, align);
        if !payload.is_null() && !is_new {
            // SAFETY: a block of that size.
            unsafe { payload.write_bytes(0, size) };
        }
        payload
    }

    /// Allocates, and tells whether no block had the memory before.
    #[inline]
    fn allocate_and_tell(&mut self, size: usize, align: usize) -> (*mut u8, bool) {
        const FULL: (*mut u8, bool) = (ptr::null_mut(), false);
        let slack = if align > HEADER { align } else { 0 };
        let Some(wanted) = size.max(1).checked_add(slack) else { return FULL };
        if wanted > (self.end - self.next) / 2 {
            return FULL;
        }
        let (class, capacity) = class_of(wanted);
        let is_new = self.free[class].is_null();
        let block = match self.free[class] {
            block if block.is_null() => {
                let block = self.next;
                if block + HEADER + capacity > self.end {
                    return FULL;
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
            (payload, is_new)
        }
    }

    /// Frees a block, unless it is free already.
    ///
    /// # Safety
    /// `payload` must be a block of this arena.
    #[inline]
    pub(super) unsafe fn free(&mut self, payload: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            let Header { class, offset, .. } = header(payload).read();
            if class == FREE {
                return;
            }
            (*header(payload)).class = FREE;
            let block = payload.sub(offset as usize);
            block.add(HEADER).cast::<*mut u8>().write(self.free[class as usize]);
            self.free[class as usize] = block;
        }
    }
}

/// Capacity of a block, in bytes.
///
/// # Safety
/// `payload` must be a live block of an arena.
pub(super) unsafe fn usable(payload: *mut u8) -> usize {
    // SAFETY: a live block has a header.
    unsafe { (*header(payload)).usable }
}

#[inline(always)]
unsafe fn header(payload: *mut u8) -> *mut Header {
    // SAFETY: every payload has a header before it.
    unsafe { payload.sub(HEADER).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_one_capacity_each() {
        let mut before = (0, 16);
        for size in (1..3 * LARGE_MIN).chain((20..38).map(|power| 1 << power)) {
            let (class, capacity) = class_of(size);
            assert!(capacity >= size && class < CLASSES && capacity.is_multiple_of(16), "{size}");
            assert_eq!(class == before.0, capacity == before.1, "{size}");
            assert!(class >= before.0 && (size > SMALL_MAX || capacity < size + 16), "{size}");
            before = (class, capacity);
        }
    }
}
