//! What instrumented code calls in a program that does not link Raddle: each function does what the instruction did.
//! Compiled by `cargo raddle` itself, without std, for programs of any kind.
//!
//! Every function is in a module of its own, which becomes an object file of its own: the linker takes exactly those
//! that nobody else defines.
#![no_std]
#![allow(missing_docs, non_snake_case)]

macro_rules! announcements {
    ($($name:ident)*) => {$(
        pub mod $name {
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(_address: *const u8) {}
        }
    )*};
}

announcements! {
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
    __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8 __tsan_unaligned_write16
    __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4
    __tsan_volatile_read8 __tsan_volatile_read16
    __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4
    __tsan_volatile_write8 __tsan_volatile_write16
    __tsan_unaligned_volatile_read2 __tsan_unaligned_volatile_read4
    __tsan_unaligned_volatile_read8 __tsan_unaligned_volatile_read16
    __tsan_unaligned_volatile_write2 __tsan_unaligned_volatile_write4
    __tsan_unaligned_volatile_write8 __tsan_unaligned_volatile_write16
    __asan_loadN __asan_storeN __asan_handle_no_return
}

// Announcements of accesses to the address in a register, which change no register that code uses. All are in one object file, so that they
// do not take long to compile: the program's own definitions go before these.
#[cfg(target_arch = "x86_64")]
macro_rules! accesses {
    ($($register:literal)*) => {
        pub mod accesses {
            core::arch::global_asm!(
                ".pushsection .text.__asan_check,\"ax\",@progbits",
                $(
                    ".irp size, 1, 2, 4, 8, 16",
                    concat!(".weak __asan_check_load_add_\\size\\()_", $register),
                    concat!("__asan_check_load_add_\\size\\()_", $register, ":"),
                    concat!(".weak __asan_check_store_add_\\size\\()_", $register),
                    concat!("__asan_check_store_add_\\size\\()_", $register, ":"),
                    ".endr",
                )*
                "ret",
                ".popsection",
            );
        }
    };
}

#[cfg(target_arch = "x86_64")]
accesses! { "RAX" "RBX" "RCX" "RDX" "RBP" "RSI" "RDI" "R8" "R9" "R12" "R13" "R14" "R15" }

// What is called around functions of std that wait or wake, which then go on. In assembly, so that the compiler does not take
// them for what every program has.
#[cfg(target_arch = "x86_64")]
pub mod std_call {
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __raddle_std_call() {
        core::arch::naked_asm!("xor eax, eax", "xor edx, edx", "ret")
    }
}

#[cfg(target_arch = "x86_64")]
pub mod once_begins {
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __raddle_once_begins() {
        core::arch::naked_asm!("mov rax, rdi", "ret")
    }
}

#[cfg(target_arch = "x86_64")]
pub mod once_waits {
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __raddle_once_waits() {
        core::arch::naked_asm!("mov rax, rdi", "ret")
    }
}

#[cfg(target_arch = "x86_64")]
pub mod once_ends {
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __raddle_once_ends() {
        core::arch::naked_asm!("ret")
    }
}

pub mod memcpy {
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __tsan_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
        // SAFETY: the caller promised what memcpy asks for.
        unsafe { core::ptr::copy_nonoverlapping(from, to, size) };
        to
    }
}

pub mod memmove {
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __tsan_memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
        // SAFETY: the caller promised what memmove asks for.
        unsafe { core::ptr::copy(from, to, size) };
        to
    }
}

pub mod memset {
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __tsan_memset(to: *mut u8, byte: i32, size: usize) -> *mut u8 {
        // SAFETY: the caller promised what memset asks for.
        unsafe { core::ptr::write_bytes(to, byte as u8, size) };
        to
    }
}

// The memory order arrives as an argument; the strongest one is always right, so it is not looked at.

pub mod thread_fence {
    #[unsafe(no_mangle)]
    pub extern "C" fn __tsan_atomic_thread_fence(_order: i32) {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    }
}

pub mod signal_fence {
    #[unsafe(no_mangle)]
    pub extern "C" fn __tsan_atomic_signal_fence(_order: i32) {
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    }
}

macro_rules! atomics {
    ($integer:ident $atomic:ident: $load:ident $store:ident $cas:ident; $($rmw:ident $method:ident)*) => {
        pub mod $load {
            use core::sync::atomic::{$atomic, Ordering::SeqCst};

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $load(place: *mut $integer, _order: i32) -> $integer {
                // SAFETY: the original instruction accessed the same place in the same way, here and below.
                unsafe { $atomic::from_ptr(place) }.load(SeqCst)
            }
        }

        pub mod $store {
            use core::sync::atomic::{$atomic, Ordering::SeqCst};

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $store(place: *mut $integer, value: $integer, _order: i32) {
                // SAFETY: as above.
                unsafe { $atomic::from_ptr(place) }.store(value, SeqCst);
            }
        }

        pub mod $cas {
            use core::sync::atomic::{$atomic, Ordering::SeqCst};

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $cas(
                place: *mut $integer,
                expected: $integer,
                new: $integer,
                _success: i32,
                _failure: i32,
            ) -> $integer {
                // SAFETY: as above.
                match unsafe { $atomic::from_ptr(place) }.compare_exchange(expected, new, SeqCst, SeqCst) {
                    Ok(value) | Err(value) => value,
                }
            }
        }

        $(
            pub mod $rmw {
                use core::sync::atomic::{$atomic, Ordering::SeqCst};

                #[unsafe(no_mangle)]
                pub unsafe extern "C" fn $rmw(place: *mut $integer, value: $integer, _order: i32) -> $integer {
                    // SAFETY: as above.
                    unsafe { $atomic::from_ptr(place) }.$method(value, SeqCst)
                }
            }
        )*
    };
}

atomics! { u8 AtomicU8:
    __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_compare_exchange_val;
    __tsan_atomic8_exchange swap __tsan_atomic8_fetch_add fetch_add __tsan_atomic8_fetch_sub fetch_sub
    __tsan_atomic8_fetch_and fetch_and __tsan_atomic8_fetch_or fetch_or __tsan_atomic8_fetch_xor fetch_xor
    __tsan_atomic8_fetch_nand fetch_nand
}

atomics! { u16 AtomicU16:
    __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_compare_exchange_val;
    __tsan_atomic16_exchange swap __tsan_atomic16_fetch_add fetch_add __tsan_atomic16_fetch_sub fetch_sub
    __tsan_atomic16_fetch_and fetch_and __tsan_atomic16_fetch_or fetch_or __tsan_atomic16_fetch_xor fetch_xor
    __tsan_atomic16_fetch_nand fetch_nand
}

atomics! { u32 AtomicU32:
    __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_compare_exchange_val;
    __tsan_atomic32_exchange swap __tsan_atomic32_fetch_add fetch_add __tsan_atomic32_fetch_sub fetch_sub
    __tsan_atomic32_fetch_and fetch_and __tsan_atomic32_fetch_or fetch_or __tsan_atomic32_fetch_xor fetch_xor
    __tsan_atomic32_fetch_nand fetch_nand
}

atomics! { u64 AtomicU64:
    __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_compare_exchange_val;
    __tsan_atomic64_exchange swap __tsan_atomic64_fetch_add fetch_add __tsan_atomic64_fetch_sub fetch_sub
    __tsan_atomic64_fetch_and fetch_and __tsan_atomic64_fetch_or fetch_or __tsan_atomic64_fetch_xor fetch_xor
    __tsan_atomic64_fetch_nand fetch_nand
}
