//! Stacks of virtual threads: one slot of address space per thread number, at fixed addresses, reused by the next
//! execution. The lowest page of a slot's mapping is a guard.

use std::ops::Range;

use super::sys::{self, PAGE};
use super::tls_donor;

const STACKS: usize = 0x2200_0000_0000;
/// The address space of one stack, and its alignment.
pub const SLOT: usize = 64 << 20;

const _: () = assert!(SLOT.is_power_of_two() && STACKS.is_multiple_of(SLOT));

/// Bytes of a stack that are cleared before a thread begins.
const CLEARED: usize = 16 << 10;

/// The largest stack a slot can hold.
pub const MAX_SIZE: usize = SLOT - 16 * PAGE;

/// The stack of one virtual thread.
#[derive(Clone, Copy, Debug)]
pub struct SlotStack {
    base: usize,
    limit: usize,
}

impl SlotStack {
    /// The part in use with this stack pointer; empty if the pointer lies elsewhere.
    pub(crate) fn used_from(&self, pointer: usize) -> Range<usize> {
        let mapped = self.limit + PAGE..self.base;
        if mapped.contains(&pointer) { pointer..self.base } else { 0..0 }
    }

    /// Maps the stack of the thread with this number.
    pub fn map(thread: usize, size: usize) -> SlotStack {
        let size = clamp(size);
        let base = STACKS + (thread + 1) * SLOT;
        let limit = base - size - PAGE;
        sys::reserve(limit, size + PAGE);
        // SAFETY: the page was just mapped and nothing uses it.
        unsafe { sys::protect(limit, PAGE, libc::PROT_NONE) };
        SlotStack { base, limit }
    }

    /// Maps a stack of this size anywhere: for OS threads, which may keep their stacks for ever.
    pub fn map_anywhere(size: usize) -> SlotStack {
        let size = clamp(size) + PAGE;
        // SAFETY: a fresh mapping.
        let limit = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(limit != libc::MAP_FAILED, "raddle: no address space for a stack of {size} bytes");
        // SAFETY: the page was just mapped and nothing uses it.
        unsafe { sys::protect(limit.addr(), PAGE, libc::PROT_NONE) };
        SlotStack { base: limit.addr() + size, limit: limit.addr() }
    }

    /// Clears the remains of earlier threads at the top of the stack, which is all that most threads use: the leak
    /// check would take their words for references, because memory has the same addresses in every execution.
    pub(crate) fn clear_top(&self) {
        let len = CLEARED.min(self.size());
        // SAFETY: the uppermost part of a stack that is mapped, and that no thread uses.
        unsafe { std::ptr::write_bytes((self.base - len) as *mut u8, 0, len) };
    }

    /// Unmaps the stack.
    ///
    /// # Safety
    /// Nothing may use it any more.
    pub unsafe fn unmap(self) {
        // SAFETY: the caller's; the mapping is this stack's own.
        unsafe { libc::munmap(self.limit as *mut _, self.base - self.limit) };
    }

    /// Maps the stack again if its size differs.
    pub fn resize(&mut self, size: usize) {
        let thread = (self.base - STACKS) / SLOT - 1;
        if clamp(size) != self.size() {
            // SAFETY: no coroutine uses it between explorations.
            unsafe { self.unmap() };
            *self = SlotStack::map(thread, size);
        }
    }

    /// Whether the address lies on the stack.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address >= self.limit && address < self.base
    }

    /// Whether the address lies in the guard page (or, after a large jump, up to 1 MiB below it).
    pub fn is_overflow(&self, address: usize) -> bool {
        address >= self.limit.saturating_sub(1 << 20) && address < self.limit + PAGE
    }

    /// The highest address.
    #[inline]
    pub fn top(&self) -> usize {
        self.base
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.base - self.bottom()
    }

    /// The lowest usable address.
    pub fn bottom(&self) -> usize {
        self.limit + PAGE
    }
}

/// The virtual thread whose stack or thread-locals an address belongs to, if its memory lies in a slot.
#[inline(always)]
pub fn owner(address: usize) -> Option<usize> {
    let (stack, donor) = (address.wrapping_sub(STACKS), address.wrapping_sub(tls_donor::DONORS));
    if stack < tls_donor::DONORS - STACKS {
        Some(stack / SLOT)
    } else if donor < LENDERS_LEN {
        Some(donor / tls_donor::DONOR_STACK)
    } else {
        None
    }
}

const LENDERS_LEN: usize = tls_donor::DONOR_STACK << 16;

fn clamp(size: usize) -> usize {
    size.clamp(16 * PAGE, MAX_SIZE).next_multiple_of(PAGE)
}
