//! The arena of the engine: a bump allocator with one free list per size class.
//!
//! ```text
//!   block ──┬────────────────┬─ payload ───────────────────────┐
//!           │ padding if the │ 16 bytes before the payload:    │
//!           │ alignment > 16 │ Header { class, offset, usable }│
//!           └────────────────┴─────────────────────────────────┘
//! ```

use std::ptr;

use super::{CLASSES, class_of};

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
