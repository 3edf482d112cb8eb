//! Instrumentation callbacks of atomic accesses and fences, as LLVM's ThreadSanitizer pass calls them.
//!
//! Each symbol is a few instructions that add the caller (return address and frame pointer) in the next free argument
//! registers and jump to a Rust function. The caller tells the user's accesses from those of trusted code, and costs
//! less than a nanosecond.
//!
//! ```text
//!   load             rdi address, esi order                          + rdx pc, rcx fp
//!   store, rmw       rdi address, rsi value, edx order               + rcx pc, r8 fp
//!   compare_exchange rdi address, rsi expected, rdx new,
//!                    ecx success order, r8d failure order          + r8 pc, r9 fp, failure order moved into ecx bits 8..16
//! ```

use std::arch::naked_asm;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use raddle_engine::execution::{Engine, engine_of_virtual_thread};
use raddle_engine::interface::{self};
use raddle_engine::op::{Caller, Order, Rmw};
use raddle_engine::platform::global::{GLOBAL, Global, PROBE};

/// The engine of a virtual thread. On any other thread an actor of the stress harness may run, which wants delays inside operations, too:
/// this is the place that sees all their atomic accesses. On threads that are no actors it costs the load of a thread-local.
#[inline]
fn engine_or_pause() -> Option<*mut Engine> {
    let engine = engine_of_virtual_thread();
    if engine.is_none() {
        raddle_stress::pause_point();
    }
    engine
}

/// The instructions of one symbol. While spinloops are detected, the caller's registers are saved on the way.
macro_rules! entry {
    ($name:ident, load, $imp:path) => {
        entry!($name, $imp, "mov rdx, [rsp]", "mov rcx, rbp");
    };
    ($name:ident, store, $imp:path) => {
        entry!($name, $imp, "mov rcx, [rsp]", "mov r8, rbp");
    };
    ($name:ident, compare_exchange, $imp:path) => {
        entry!($name, $imp, "shl r8d, 8", "or ecx, r8d", "mov r8, [rsp]", "mov r9, rbp");
    };
    ($name:ident, $imp:path, $($instruction:literal),*) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                $($instruction,)*
                "cmp byte ptr [rip + {global} + {wanted}], 0",
                "jne 2f",
                "jmp {imp}",
                "2:",
                "lea rax, [rip + {global} + {registers}]",
                "mov [rax], rsp",
                "mov [rax + 8], rbp",
                "mov [rax + 16], rbx",
                "mov [rax + 24], r12",
                "mov [rax + 32], r13",
                "mov [rax + 40], r14",
                "mov [rax + 48], r15",
                "jmp {imp}",
                global = sym GLOBAL,
                wanted = const std::mem::offset_of!(Global, wants_registers),
                registers = const std::mem::offset_of!(Global, registers),
                imp = sym $imp,
            )
        }
    };
}

macro_rules! atomics {
    ($module:ident, $int:ty, $atomic:ty, {
        $load:ident, $store:ident, $cas:ident, $cas_weak:ident, $cas_strong:ident,
        $($rmw:ident = $op:ident),*
    }) => {
        mod $module {
            use super::*;

            unsafe extern "C" fn load(place: *const $int, order: u32, pc: usize, fp: usize) -> $int {
                // SAFETY: instrumented code loads from here.
                unsafe {
                    match engine_or_pause() {
                        Some(engine) => interface::load(engine, Caller { pc, fp }, place, Order::from_abi(order)),
                        None => {
                            if place.addr() == (&raw const PROBE).addr() {
                                GLOBAL.instrumented.set(true);
                            }
                            (*place.cast::<$atomic>()).load(Ordering::SeqCst)
                        }
                    }
                }
            }

            unsafe extern "C" fn store(place: *mut $int, value: $int, order: u32, pc: usize, fp: usize) {
                // SAFETY: instrumented code stores here.
                unsafe {
                    match engine_or_pause() {
                        Some(engine) => interface::store(engine, Caller { pc, fp }, place, value, Order::from_abi(order)),
                        None if order == 5 => (*place.cast::<$atomic>()).store(value, Ordering::SeqCst),
                        None => (*place.cast::<$atomic>()).store(value, Ordering::Release),
                    }
                }
            }

            unsafe extern "C" fn compare_exchange(
                place: *mut $int, expected: $int, new: $int, order: u32, pc: usize, fp: usize,
            ) -> $int {
                // SAFETY: instrumented code exchanges here.
                unsafe {
                    match engine_or_pause() {
                        Some(engine) => {
                            let orders = Order::pair_from_abi(order);
                            interface::compare_exchange(engine, Caller { pc, fp }, place, expected, new, orders)
                        }
                        None => {
                            let atomic = &*place.cast::<$atomic>();
                            match atomic.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                                Ok(read) | Err(read) => read,
                            }
                        }
                    }
                }
            }

            entry!($load, load, load);
            entry!($store, store, store);
            entry!($cas, compare_exchange, compare_exchange);
            entry!($cas_weak, compare_exchange, compare_exchange_flag);
            entry!($cas_strong, compare_exchange, compare_exchange_flag);

            /// Weak compare-exchanges, which may fail spuriously.
            pub(super) const ATTEMPTS: [unsafe extern "C" fn(); 3] = [$cas, $cas_weak, $cas_strong];

            /// The form of C's `atomic_compare_exchange`: the expected value by reference, success as result.
            unsafe extern "C" fn compare_exchange_flag(
                place: *mut $int, expected: *mut $int, new: $int, order: u32, pc: usize, fp: usize,
            ) -> bool {
                // SAFETY: as above; `expected` is the caller's variable.
                unsafe {
                    let wanted = *expected;
                    let read = compare_exchange(place, wanted, new, order, pc, fp);
                    *expected = read;
                    read == wanted
                }
            }

            $(
                #[allow(non_snake_case, reason = "named after the operation")]
                mod $op {
                    use super::*;

                    unsafe extern "C" fn rmw(place: *mut $int, operand: $int, order: u32, pc: usize, fp: usize) -> $int {
                        // SAFETY: instrumented code modifies this location.
                        unsafe {
                            match engine_or_pause() {
                                Some(engine) => {
                                    let order = Order::from_abi(order);
                                    interface::rmw(engine, Caller { pc, fp }, place, operand, Rmw::$op, order)
                                }
                                None => native!($op, &*place.cast::<$atomic>(), operand),
                            }
                        }
                    }

                    entry!($rmw, store, rmw);
                }
            )*
        }
    };
}

/// The instrumentation callbacks of compare-exchanges.
pub(crate) const ATTEMPTS: &[[unsafe extern "C" fn(); 3]] =
    &[bits8::ATTEMPTS, bits16::ATTEMPTS, bits32::ATTEMPTS, bits64::ATTEMPTS];

macro_rules! native {
    (Swap, $atomic:expr, $operand:expr) => {
        $atomic.swap($operand, Ordering::SeqCst)
    };
    (Add, $atomic:expr, $operand:expr) => {
        $atomic.fetch_add($operand, Ordering::SeqCst)
    };
    (Sub, $atomic:expr, $operand:expr) => {
        $atomic.fetch_sub($operand, Ordering::SeqCst)
    };
    (And, $atomic:expr, $operand:expr) => {
        $atomic.fetch_and($operand, Ordering::SeqCst)
    };
    (Or, $atomic:expr, $operand:expr) => {
        $atomic.fetch_or($operand, Ordering::SeqCst)
    };
    (Xor, $atomic:expr, $operand:expr) => {
        $atomic.fetch_xor($operand, Ordering::SeqCst)
    };
    (Nand, $atomic:expr, $operand:expr) => {
        $atomic.fetch_nand($operand, Ordering::SeqCst)
    };
}

atomics!(bits8, u8, AtomicU8, {
    __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_compare_exchange_weak, __tsan_atomic8_compare_exchange_strong,
    __tsan_atomic8_exchange = Swap, __tsan_atomic8_fetch_add = Add, __tsan_atomic8_fetch_sub = Sub,
    __tsan_atomic8_fetch_and = And, __tsan_atomic8_fetch_or = Or, __tsan_atomic8_fetch_xor = Xor,
    __tsan_atomic8_fetch_nand = Nand
});
atomics!(bits16, u16, AtomicU16, {
    __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_compare_exchange_weak, __tsan_atomic16_compare_exchange_strong,
    __tsan_atomic16_exchange = Swap, __tsan_atomic16_fetch_add = Add, __tsan_atomic16_fetch_sub = Sub,
    __tsan_atomic16_fetch_and = And, __tsan_atomic16_fetch_or = Or, __tsan_atomic16_fetch_xor = Xor,
    __tsan_atomic16_fetch_nand = Nand
});
atomics!(bits32, u32, AtomicU32, {
    __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_compare_exchange_weak, __tsan_atomic32_compare_exchange_strong,
    __tsan_atomic32_exchange = Swap, __tsan_atomic32_fetch_add = Add, __tsan_atomic32_fetch_sub = Sub,
    __tsan_atomic32_fetch_and = And, __tsan_atomic32_fetch_or = Or, __tsan_atomic32_fetch_xor = Xor,
    __tsan_atomic32_fetch_nand = Nand
});
atomics!(bits64, u64, AtomicU64, {
    __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_compare_exchange_weak, __tsan_atomic64_compare_exchange_strong,
    __tsan_atomic64_exchange = Swap, __tsan_atomic64_fetch_add = Add, __tsan_atomic64_fetch_sub = Sub,
    __tsan_atomic64_fetch_and = And, __tsan_atomic64_fetch_or = Or, __tsan_atomic64_fetch_xor = Xor,
    __tsan_atomic64_fetch_nand = Nand
});

/// Values of 128 bits fill two argument registers each, which leaves no room for the caller: such accesses always count
/// as the user's. Outside an exploration they are `cmpxchg16b`.
mod bits128 {
    use super::*;

    /// The caller of an access of 128 bits: outside the program's code, so that the access is the user's.
    const UNKNOWN: Caller = Caller { pc: 0, fp: 0 };

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_load(place: *const u128, order: u32) -> u128 {
        // SAFETY: instrumented code loads from here.
        unsafe {
            match engine_or_pause() {
                Some(engine) => interface::load(engine, UNKNOWN, place, Order::from_abi(order)),
                None => native_compare_exchange(place.cast_mut(), 0, 0),
            }
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_store(place: *mut u128, value: u128, order: u32) {
        // SAFETY: instrumented code stores here.
        unsafe {
            match engine_or_pause() {
                Some(engine) => interface::store(engine, UNKNOWN, place, value, Order::from_abi(order)),
                None => _ = native_rmw(place, value, Rmw::Swap),
            }
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_compare_exchange_val(
        place: *mut u128,
        expected: u128,
        new: u128,
        order: u32,
        failure: u32,
    ) -> u128 {
        // SAFETY: instrumented code exchanges here.
        unsafe {
            match engine_or_pause() {
                Some(engine) => {
                    let orders = [order, failure].map(Order::from_abi);
                    interface::compare_exchange(engine, UNKNOWN, place, expected, new, orders)
                }
                None => native_compare_exchange(place, expected, new),
            }
        }
    }

    macro_rules! rmw {
        ($($name:ident = $op:ident),*) => {$(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(place: *mut u128, operand: u128, order: u32) -> u128 {
                // SAFETY: instrumented code modifies this location.
                unsafe {
                    match engine_or_pause() {
                        Some(engine) => {
                            interface::rmw(engine, UNKNOWN, place, operand, Rmw::$op, Order::from_abi(order))
                        }
                        None => native_rmw(place, operand, Rmw::$op),
                    }
                }
            }
        )*};
    }
    rmw!(
        __tsan_atomic128_exchange = Swap,
        __tsan_atomic128_fetch_add = Add,
        __tsan_atomic128_fetch_sub = Sub,
        __tsan_atomic128_fetch_and = And,
        __tsan_atomic128_fetch_or = Or,
        __tsan_atomic128_fetch_xor = Xor,
        __tsan_atomic128_fetch_nand = Nand
    );

    unsafe fn native_rmw(place: *mut u128, operand: u128, op: Rmw) -> u128 {
        use raddle_engine::op::Int;
        // SAFETY: the caller's.
        unsafe {
            let mut seen = native_compare_exchange(place, 0, 0);
            loop {
                let now = native_compare_exchange(place, seen, seen.apply(op, operand));
                if now == seen {
                    return seen;
                }
                seen = now;
            }
        }
    }

    unsafe fn native_compare_exchange(place: *mut u128, expected: u128, new: u128) -> u128 {
        let (low, high): (u64, u64);
        // SAFETY: the location is 16 bytes, aligned, and writable; every x86-64 machine that instrumented code with 128-bit
        // atomics was compiled for has the instruction. rbx is reserved by the compiler and exchanged by hand.
        unsafe {
            std::arch::asm!(
                "xchg rbx, {new_low}",
                "lock cmpxchg16b [{place}]",
                "mov rbx, {new_low}",
                new_low = inout(reg) new as u64 => _,
                place = in(reg) place,
                inout("rax") expected as u64 => low,
                inout("rdx") (expected >> 64) as u64 => high,
                in("rcx") (new >> 64) as u64,
                options(nostack)
            );
        }
        u128::from(low) | u128::from(high) << 64
    }
}

/// The registers of a fence: edi order + rsi pc, rdx fp.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic_thread_fence() {
    naked_asm!("mov rsi, [rsp]", "mov rdx, rbp", "jmp {}", sym fence)
}

unsafe extern "C" fn fence(order: u32, pc: usize, fp: usize) {
    match engine_or_pause() {
        // SAFETY: a virtual thread of the running engine.
        Some(engine) => unsafe { interface::fence(engine, Caller { pc, fp }, Order::from_abi(order)) },
        None => match Order::from_abi(order) {
            Order::Relaxed => {}
            _ => std::sync::atomic::fence(Ordering::SeqCst),
        },
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(order: u32) {
    if let Some(engine) = engine_or_pause() {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::compiler_fence(engine, Order::from_abi(order)) };
    }
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}
