//! Announcements of plain accesses, and the memory functions that instrumented code calls in place of the C library's.
//!
//! Plain accesses are no events. They are looked at only while [`watch_plain`](raddle_engine::global::Global::watch_plain)
//! is set; otherwise each costs a call, a load and a return.

use std::arch::naked_asm;
use std::ffi::c_void;

use raddle_engine::global::{GLOBAL, Global, engine_of_virtual_thread};
use raddle_engine::hooks;

macro_rules! reads {
    ($($name:ident),*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!("ret")
        }
    )*};
}

macro_rules! writes {
    ($($name:ident),*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "cmp byte ptr [rip + {global} + {watch}], 0",
                "jne {write}",
                "ret",
                global = sym GLOBAL,
                watch = const std::mem::offset_of!(Global, watch_plain),
                write = sym watched_write,
            )
        }
    )*};
}

reads!(
    __tsan_read1,
    __tsan_read2,
    __tsan_read4,
    __tsan_read8,
    __tsan_read16,
    __tsan_unaligned_read2,
    __tsan_unaligned_read4,
    __tsan_unaligned_read8,
    __tsan_unaligned_read16,
    __tsan_volatile_read1,
    __tsan_volatile_read2,
    __tsan_volatile_read4,
    __tsan_volatile_read8,
    __tsan_volatile_read16,
    __tsan_unaligned_volatile_read2,
    __tsan_unaligned_volatile_read4,
    __tsan_unaligned_volatile_read8,
    __tsan_unaligned_volatile_read16,
    __tsan_vptr_read,
    __tsan_unaligned_read1
);
writes!(
    __tsan_write1,
    __tsan_write2,
    __tsan_write4,
    __tsan_write8,
    __tsan_write16,
    __tsan_unaligned_write2,
    __tsan_unaligned_write4,
    __tsan_unaligned_write8,
    __tsan_unaligned_write16,
    __tsan_volatile_write1,
    __tsan_volatile_write2,
    __tsan_volatile_write4,
    __tsan_volatile_write8,
    __tsan_volatile_write16,
    __tsan_unaligned_volatile_write2,
    __tsan_unaligned_volatile_write4,
    __tsan_unaligned_volatile_write8,
    __tsan_unaligned_volatile_write16,
    __tsan_unaligned_write1,
    __tsan_read_write1,
    __tsan_read_write2,
    __tsan_read_write4,
    __tsan_read_write8,
    __tsan_read_write16,
    __tsan_unaligned_read_write1,
    __tsan_unaligned_read_write2,
    __tsan_unaligned_read_write4,
    __tsan_unaligned_read_write8,
    __tsan_unaligned_read_write16
);

#[unsafe(no_mangle)]
extern "C" fn __tsan_read_range(_place: *const c_void, _len: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_write_range(place: *const c_void, _len: usize) {
    if GLOBAL.watch_plain.get() {
        watched_write(place);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_vptr_update(place: *const c_void, _value: *const c_void) {
    if GLOBAL.watch_plain.get() {
        watched_write(place);
    }
}

#[cold]
#[inline(never)]
extern "C" fn watched_write(place: *const c_void) {
    GLOBAL.instrumented.set(true);
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: a virtual thread of the running engine.
        unsafe { hooks::plain_write(engine, place.addr()) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    __tsan_write_range(to, len);
    // SAFETY: the contract of `memcpy`.
    unsafe { libc::memcpy(to, from, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
    __tsan_write_range(to, len);
    // SAFETY: the contract of `memmove`.
    unsafe { libc::memmove(to, from, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: i32, len: usize) -> *mut c_void {
    __tsan_write_range(to, len);
    // SAFETY: the contract of `memset`.
    unsafe { libc::memset(to, byte, len) }
}

/// Brackets around functions; only emitted by builds that ask for them.
#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(_caller: *const c_void) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {}
