//! Announcements of plain accesses, and the memory functions that instrumented code calls in place of the C library's.
//!
//! Plain accesses are no events, and `cargo raddle` builds without their announcements. A program that was built with them
//! runs all the same: each costs a call and a return.

use std::arch::naked_asm;
use std::ffi::c_void;

macro_rules! announcements {
    ($($name:ident),* $(,)?) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!("ret")
        }
    )*};
}

announcements!(
    __tsan_read1,
    __tsan_unaligned_read1,
    __tsan_read16,
    __tsan_unaligned_read16,
    __tsan_read2,
    __tsan_unaligned_read2,
    __tsan_read4,
    __tsan_unaligned_read4,
    __tsan_read8,
    __tsan_unaligned_read8,
    __tsan_read_write1,
    __tsan_unaligned_read_write1,
    __tsan_read_write16,
    __tsan_unaligned_read_write16,
    __tsan_read_write2,
    __tsan_unaligned_read_write2,
    __tsan_read_write4,
    __tsan_unaligned_read_write4,
    __tsan_read_write8,
    __tsan_unaligned_read_write8,
    __tsan_volatile_read1,
    __tsan_unaligned_volatile_read16,
    __tsan_volatile_read16,
    __tsan_unaligned_volatile_read2,
    __tsan_volatile_read2,
    __tsan_unaligned_volatile_read4,
    __tsan_volatile_read4,
    __tsan_unaligned_volatile_read8,
    __tsan_volatile_read8,
    __tsan_volatile_write1,
    __tsan_unaligned_volatile_write16,
    __tsan_volatile_write16,
    __tsan_unaligned_volatile_write2,
    __tsan_volatile_write2,
    __tsan_unaligned_volatile_write4,
    __tsan_volatile_write4,
    __tsan_unaligned_volatile_write8,
    __tsan_volatile_write8,
    __tsan_vptr_read,
    __tsan_unaligned_write1,
    __tsan_write1,
    __tsan_unaligned_write16,
    __tsan_write16,
    __tsan_unaligned_write2,
    __tsan_write2,
    __tsan_unaligned_write4,
    __tsan_write4,
    __tsan_unaligned_write8,
    __tsan_write8,
    __tsan_read_range,
    __tsan_write_range,
    __tsan_vptr_update,
    __tsan_func_entry,
    __tsan_func_exit,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: the contract of `memcpy`.
    unsafe { libc::memcpy(to, from, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    // SAFETY: the contract of `memmove`.
    unsafe { libc::memmove(to, from, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: i32, len: usize) -> *mut c_void {
    // SAFETY: the contract of `memset`.
    unsafe { libc::memset(to, byte, len) }
}
