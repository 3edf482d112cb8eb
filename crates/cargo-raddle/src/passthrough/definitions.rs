//! What instrumented code calls in a program that does not link Raddle: each function does what the instruction did.
//! Compiled by `cargo raddle` itself, without std, for programs of any kind.
#![no_std]
#![allow(clippy::missing_safety_doc, non_snake_case)]

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{self, Ordering::SeqCst};

// The memory order arrives as an argument; the strongest one is always right, so it is not looked at.

macro_rules! announcements {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: *const c_void) {}
    )*};
}

announcements! {
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
    __tsan_read_write1 __tsan_read_write2 __tsan_read_write4 __tsan_read_write8 __tsan_read_write16
    __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8 __tsan_unaligned_write16
    __tsan_unaligned_read_write2 __tsan_unaligned_read_write4
    __tsan_unaligned_read_write8 __tsan_unaligned_read_write16
    __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4 __tsan_volatile_read8 __tsan_volatile_read16
    __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4 __tsan_volatile_write8
    __tsan_volatile_write16
    __tsan_unaligned_volatile_read2 __tsan_unaligned_volatile_read4
    __tsan_unaligned_volatile_read8 __tsan_unaligned_volatile_read16
    __tsan_unaligned_volatile_write2 __tsan_unaligned_volatile_write4
    __tsan_unaligned_volatile_write8 __tsan_unaligned_volatile_write16
    __tsan_vptr_read __tsan_func_entry
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_vptr_update(_address: *const c_void, _value: *const c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range(_address: *const c_void, _size: usize) {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range(_address: *const c_void, _size: usize) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller promised what memcpy asks for.
    unsafe { ptr::copy_nonoverlapping(from, to, size) };
    to
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the caller promised what memmove asks for.
    unsafe { ptr::copy(from, to, size) };
    to
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memset(to: *mut u8, byte: c_int, size: usize) -> *mut u8 {
    // SAFETY: the caller promised what memset asks for.
    unsafe { ptr::write_bytes(to, byte as u8, size) };
    to
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    atomic::fence(SeqCst);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    atomic::compiler_fence(SeqCst);
}

macro_rules! atomics {
    ($integer:ty, $atomic:ty, $load:ident $store:ident $cas:ident, $($rmw:ident $method:ident)*) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(place: *mut $integer, _order: c_int) -> $integer {
            // SAFETY: the original instruction accessed the same place in the same way, here and below.
            unsafe { <$atomic>::from_ptr(place) }.load(SeqCst)
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(place: *mut $integer, value: $integer, _order: c_int) {
            // SAFETY: as above.
            unsafe { <$atomic>::from_ptr(place) }.store(value, SeqCst);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cas(
            place: *mut $integer,
            expected: $integer,
            new: $integer,
            _success: c_int,
            _failure: c_int,
        ) -> $integer {
            // SAFETY: as above.
            match unsafe { <$atomic>::from_ptr(place) }.compare_exchange(expected, new, SeqCst, SeqCst) {
                Ok(value) | Err(value) => value,
            }
        }

        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $rmw(place: *mut $integer, value: $integer, _order: c_int) -> $integer {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(place) }.$method(value, SeqCst)
            }
        )*
    };
}

atomics! { u8, atomic::AtomicU8,
    __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_exchange swap __tsan_atomic8_fetch_add fetch_add __tsan_atomic8_fetch_sub fetch_sub
    __tsan_atomic8_fetch_and fetch_and __tsan_atomic8_fetch_or fetch_or __tsan_atomic8_fetch_xor fetch_xor
    __tsan_atomic8_fetch_nand fetch_nand
}

atomics! { u16, atomic::AtomicU16,
    __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_exchange swap __tsan_atomic16_fetch_add fetch_add __tsan_atomic16_fetch_sub fetch_sub
    __tsan_atomic16_fetch_and fetch_and __tsan_atomic16_fetch_or fetch_or __tsan_atomic16_fetch_xor fetch_xor
    __tsan_atomic16_fetch_nand fetch_nand
}

atomics! { u32, atomic::AtomicU32,
    __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_exchange swap __tsan_atomic32_fetch_add fetch_add __tsan_atomic32_fetch_sub fetch_sub
    __tsan_atomic32_fetch_and fetch_and __tsan_atomic32_fetch_or fetch_or __tsan_atomic32_fetch_xor fetch_xor
    __tsan_atomic32_fetch_nand fetch_nand
}

atomics! { u64, atomic::AtomicU64,
    __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_exchange swap __tsan_atomic64_fetch_add fetch_add __tsan_atomic64_fetch_sub fetch_sub
    __tsan_atomic64_fetch_and fetch_and __tsan_atomic64_fetch_or fetch_or __tsan_atomic64_fetch_xor fetch_xor
    __tsan_atomic64_fetch_nand fetch_nand
}
