//! Mappings, heap blocks and plain accesses.

use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::isolate::heap::{self, Refusal};
use crate::op::Caller;
use crate::platform::global::GLOBAL;
use crate::semantics::{end_entry, enter};
use crate::site::PlainAccessCounter;
use crate::spinloop::liveness::look_at_function;

/// The code under test has mapped memory.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn mapped(engine: *mut Engine, address: usize, len: usize) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.execution.mappings.push((address, len))) };
}

/// Whether the code under test may unmap memory: false for memory that existed before the execution, which must not
/// lose it.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn may_unmap(engine: *mut Engine, address: usize, len: usize) -> bool {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let inside = |&(start, size): &(usize, usize)| start <= address && address + len <= start + size;
            let known = engine.execution.mappings.iter().any(inside);
            engine.execution.mappings.retain(|&whole| whole != (address, len));
            known
        })
    }
}

/// The code under test has allocated a block.
///
/// # Safety
/// As for [`super::fence`].
#[inline]
pub unsafe fn allocated(engine: *mut Engine, address: usize, size: usize) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.allocated(address, size)) };
}

/// The code under test frees a block: its locations end.
///
/// # Safety
/// As for [`super::fence`].
#[inline]
pub unsafe fn freeing(engine: *mut Engine, address: usize) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).tracks_frees() {
            enter(engine, |engine| engine.freeing(address));
        }
    }
}

/// The code under test frees an address that is no live block, for which glibc ends a process.
///
/// # Safety
/// As for [`super::fence`].
#[cold]
pub unsafe fn bad_free(engine: *mut Engine, address: usize, refusal: Refusal) -> ! {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.bad_free(address, refusal)) }
}

/// The code under test frees an address that executions did not allocate: a block that existed before, or no block at
/// all.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn foreign_free(engine: *mut Engine, address: usize) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).is_no_block(address) {
            bad_free(engine, address, Refusal::NoBlock);
        }
    }
}

/// A plain access.
///
/// # Safety
/// As for [`super::fence`].
#[inline]
pub unsafe fn plain(engine: *mut Engine, caller: Caller, address: usize, size: usize, kind: AccessKind) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.plain_access(address, size, kind, caller)) };
}

/// An instrumentation callback as one number. Addresses have 47 bits, and sizes at most 5.
#[inline(always)]
pub const fn announcement(address: usize, size: usize, kind: AccessKind) -> usize {
    address | size << 48 | (kind as usize) << 60
}

/// The size and the kind of an instrumentation callback, which is one of a read or a write.
#[inline(always)]
pub const fn size_and_kind(announcement: usize) -> (usize, AccessKind) {
    let is_read = announcement >> 60 == AccessKind::Read as usize;
    (announcement >> 48 & 0x1f, if is_read { AccessKind::Read } else { AccessKind::Write })
}

/// Finds out which vector registers the code uses that makes a callback, which returns to `pc`. The caller must be the thread that explores.
#[inline]
pub fn look_at_code(pc: usize) {
    if PlainAccessCounter::is_new(pc) {
        // This is no operation: the announcement that follows may still be one of a volatile access.
        GLOBAL.in_engine.set(true);
        look_at_function(pc);
        end_entry();
    }
}

/// A volatile access, at a location that others may change by design: it is checked for freed memory only. The code announces it as a plain
/// access, too, before anything else happens: that is ignored.
///
/// # Safety
/// As for [`super::fence`].
#[inline]
pub unsafe fn volatile(engine: *mut Engine, address: usize, size: usize, kind: AccessKind) {
    if heap::is_freed(address) {
        // SAFETY: the caller's.
        unsafe { enter::<()>(engine, |engine| engine.use_after_free(address, size, kind)) };
    }
    GLOBAL.volatile.set(announcement(address, size, kind));
}
