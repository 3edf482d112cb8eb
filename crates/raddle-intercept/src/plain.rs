//! Instrumentation callbacks of plain accesses, and the memory functions that instrumented code calls in place of the C
//! library's.
//!
//! Plain accesses are no events and no scheduling points. They are checked for data races and for freed memory. There
//! are many of them, so each symbol first checks whether it has to do anything: whether an exploration wants callbacks, or only those
//! of accesses to freed memory (before the first exploration, calls of callbacks are taken out of the code: [`idle_calls`]),
//! whether the access is not to unshared lines of the thread's own stack, whether the code is not known to be
//! bookkeeping ([`PlainAccessCounter::NO_CONCERN`]), and whether the callback is not a repetition of the one before.
//! Only then it [saves the registers](crate::registers) and checks whether the thread is a virtual one.
//!
//! | symbols | announce |
//! |---|---|
//! | `__asan_check_load_add_8_RBX` and relatives | an access of 1 to 16 bytes at the address in a register |
//! | `__asan_loadN`, `__asan_storeN` | an access of another size |
//! | `__tsan_volatile_read8` and relatives | a volatile access, which is then announced as a plain one, too |
//! | `__tsan_memcpy` and relatives | nothing: they are called instead |

use std::arch::naked_asm;
use std::ffi::c_void;

use raddle_engine::detect::fault::AccessKind;
use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface::{self};
use raddle_engine::isolate::heap::{self, Layout};
use raddle_engine::op::Caller;
use raddle_engine::platform::global::{Announcements, GLOBAL, Global, LINE, LINES, PROBE, Wanted};
use raddle_engine::platform::idle_calls;
use raddle_engine::platform::stack::SLOT;
use raddle_engine::site::PlainAccessCounter;

use crate::registers::keeping_registers;

/// Callbacks of accesses of a fixed size. The register that holds the address is part of their names. Only `r10`, `r11` and the flags may
/// be changed: see [`registers`](crate::registers).
macro_rules! announcements {
    ($($module:ident $register:literal $number:literal;)*) => {
        $(mod $module {
            use super::*;

            announcements!(@callbacks $register
                Read 1 load_1, Read 2 load_2, Read 4 load_4, Read 8 load_8, Read 16 load_16,
                Write 1 store_1, Write 2 store_2, Write 4 store_4, Write 8 store_8, Write 16 store_16
            );

            pub(super) const ANNOUNCEMENTS: Announcements = Announcements {
                register: $number,
                callbacks: [
                    load_1, load_2, load_4, load_8, load_16, store_1, store_2, store_4, store_8, store_16,
                ],
            };
        })*

        /// All callbacks of plain accesses of a fixed size.
        pub(crate) const ANNOUNCEMENTS: &[Announcements] = &[$($module::ANNOUNCEMENTS),*];
    };
    (@callbacks $register:literal $($kind:ident $size:literal $name:ident),*) => {$(
        #[unsafe(naked)]
        #[unsafe(export_name = announcements!(@symbol $kind $size $register))]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "cmp byte ptr [rip + {global} + {wanted}], {freed}",
                "ja 5f",
                "je 6f",
                "cmp byte ptr [rip + {global} + {wanted}], {idle}",
                "jne 3f",
                "dec dword ptr [rip + {global} + {until_taken_out}]",
                "js 8f",
                "3:",
                "ret",
                "8:",
                "lea r10, [rip + {name}]",
                "jmp {take_out}",
                "6:",
                // Is it freed memory? Small blocks have an index, large ones are looked up.
                concat!("mov r10, ", $register),
                "shr r10, {heaps}",
                "cmp r10d, {heaps_at}",
                "jne 3b",
                concat!("cmp ", $register, ", [rip + {global} + {heaps_end}]"),
                "jae 3b",
                concat!("mov r10, ", $register),
                "shr r10, {small}",
                "test r10b, (1 << ({heap} - {small})) - 1",
                "jne 7f",
                "shr r10, {heap} - {small}",
                "shl r10, {heap}",
                "bts r10, {index}",
                concat!("mov r11, ", $register),
                "shr r11d, {granule}",
                "cmp byte ptr [r10 + 4 * r11 + 3], 0",
                "jns 3b",
                "7:",
                concat!("mov r10, ", $register),
                "movabs r11, {key}",
                "jmp {access_to_freed}",
                "5:",
                // The thread's own stack: no other bits differ from those of the stack pointer.
                concat!("mov r10, ", $register),
                "xor r10, rsp",
                "shr r10, {slot}",
                "jne 2f",
                concat!("mov r10, ", $register),
                "shr r10d, {line}",
                "and r10d, {lines} - 1",
                "lea r11, [rip + {global} + {shared}]",
                "cmp byte ptr [r11 + r10], 0",
                "je 3b",
                "2:",
                "mov r10, [rsp]",
                "sub r10, [rip + {global} + {text_start}]",
                "cmp r10, [rip + {global} + {text_len}]",
                "jae 4f",
                "add r10, [rip + {global} + {looks}]",
                "cmp byte ptr [r10], {no_concern}",
                "je 3b",
                "4:",
                "movabs r11, {key}",
                "mov r10, r11",
                concat!("or r10, ", $register),
                "cmp r10, [rip + {global} + {last}]",
                "je 3b",
                concat!("mov r10, ", $register),
                "jmp {access}",
                global = sym GLOBAL,
                wanted = const std::mem::offset_of!(Global, wanted_announcements),
                freed = const Wanted::Freed as u8,
                idle = const Wanted::Idle as u8,
                until_taken_out = const std::mem::offset_of!(Global, until_taken_out),
                name = sym $name,
                take_out = sym jump_to_take_out,
                heaps = const Layout::HEAPS.0,
                heaps_at = const Layout::HEAPS.1,
                heaps_end = const std::mem::offset_of!(Global, heaps_end),
                heap = const Layout::SLOT,
                small = const Layout::SMALL,
                granule = const Layout::GRANULE,
                index = const Layout::INDEX,
                access_to_freed = sym jump_to_access_to_freed,
                shared = const std::mem::offset_of!(Global, shared_lines),
                line = const LINE,
                lines = const LINES,
                slot = const SLOT.trailing_zeros(),
                text_start = const std::mem::offset_of!(Global, text_start),
                text_len = const std::mem::offset_of!(Global, text_len),
                looks = const std::mem::offset_of!(Global, looks),
                no_concern = const PlainAccessCounter::NO_CONCERN,
                last = const std::mem::offset_of!(Global, last_announced),
                key = const interface::announcement(0, $size, AccessKind::$kind),
                access = sym jump_to_access,
            )
        }
    )*};
    (@symbol Read $size:literal $register:literal) => {
        concat!("__asan_check_load_add_", $size, "_", $register)
    };
    (@symbol Write $size:literal $register:literal) => {
        concat!("__asan_check_store_add_", $size, "_", $register)
    };
}

announcements! {
    rax "RAX" 0;
    rcx "RCX" 1;
    rdx "RDX" 2;
    rbx "RBX" 3;
    rbp "RBP" 5;
    rsi "RSI" 6;
    rdi "RDI" 7;
    r8 "R8" 8;
    r9 "R9" 9;
    r12 "R12" 12;
    r13 "R13" 13;
    r14 "R14" 14;
    r15 "R15" 15;
}

keeping_registers! {
    jump_to_access => access;
    jump_to_access_to_freed => access_to_freed;
    jump_to_take_out => take_out;
}

/// An access whose size and kind are those of `key`: the announcement of such an access to the address 0.
unsafe extern "C" fn access(place: usize, key: usize, pc: usize, fp: usize) {
    let Some(engine) = engine_of_virtual_thread() else { return };
    let announcement = key | place;
    if GLOBAL.volatile.replace(0) == announcement {
        return;
    }
    let (size, kind) = interface::size_and_kind(key);
    // SAFETY: a virtual thread of the running engine.
    unsafe { interface::plain(engine, Caller { pc, fp }, place, size, kind) };
    GLOBAL.last_announced.set(announcement);
}

/// An access to memory that is probably free.
#[cold]
unsafe extern "C" fn access_to_freed(place: usize, key: usize, pc: usize, fp: usize) {
    if heap::is_freed(place) && !PlainAccessCounter::is_no_concern(pc) {
        // SAFETY: the caller's.
        unsafe { access(place, key, pc, fp) };
    }
}

#[cold]
unsafe extern "C" fn take_out(callback: usize, _key: usize, pc: usize, _fp: usize) {
    // SAFETY: the callback was called.
    unsafe { idle_calls::take_out(pc, callback) };
}

macro_rules! volatile {
    ($($kind:ident $size:literal: $($name:ident),*;)*) => {$($(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(place: usize) {
            match engine_of_virtual_thread() {
                // SAFETY: a virtual thread of the running engine.
                Some(engine) => unsafe { interface::volatile(engine, place, $size, AccessKind::$kind) },
                None if place == (&raw const PROBE).addr() => GLOBAL.announced.set(true),
                None => {}
            }
        }
    )*)*};
}

volatile! {
    Read 1: __tsan_volatile_read1, __tsan_unaligned_volatile_read1;
    Read 2: __tsan_volatile_read2, __tsan_unaligned_volatile_read2;
    Read 4: __tsan_volatile_read4, __tsan_unaligned_volatile_read4;
    Read 8: __tsan_volatile_read8, __tsan_unaligned_volatile_read8;
    Read 16: __tsan_volatile_read16, __tsan_unaligned_volatile_read16;
    Write 1: __tsan_volatile_write1, __tsan_unaligned_volatile_write1;
    Write 2: __tsan_volatile_write2, __tsan_unaligned_volatile_write2;
    Write 4: __tsan_volatile_write4, __tsan_unaligned_volatile_write4;
    Write 8: __tsan_volatile_write8, __tsan_unaligned_volatile_write8;
    Write 16: __tsan_volatile_write16, __tsan_unaligned_volatile_write16;
}

/// Symbols whose arguments are `rdi`, `rsi`, `rdx`; `rcx` pc and `r8` fp are added. While no exploration wants
/// callbacks, they are another function.
macro_rules! with_caller {
    ($($name:ident => $imp:path, or $plain:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "cmp byte ptr [rip + {global} + {wanted}], {freed}",
                "jae 2f",
                "jmp {plain}",
                "2:",
                "mov rcx, [rsp]",
                "mov r8, rbp",
                "jmp {imp}",
                global = sym GLOBAL,
                wanted = const std::mem::offset_of!(Global, wanted_announcements),
                freed = const Wanted::Freed as u8,
                plain = sym $plain,
                imp = sym $imp,
            )
        }
    )*};
}

with_caller! {
    __tsan_memcpy => copy, or libc::memmove;
    __tsan_memmove => copy, or libc::memmove;
    __tsan_memset => fill, or libc::memset;
    __asan_loadN => read_range, or nothing;
    __asan_storeN => write_range, or nothing;
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    len: usize,
    pc: usize,
    fp: usize,
) -> *mut c_void {
    // SAFETY: the contract of `memcpy` or `memmove`, of which the latter asks for less.
    unsafe {
        range(from.addr(), len, AccessKind::Read, Caller { pc, fp });
        range(to.addr(), len, AccessKind::Write, Caller { pc, fp });
        libc::memmove(to, from, len)
    }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: i32, len: usize, pc: usize, fp: usize) -> *mut c_void {
    // SAFETY: the contract of `memset`.
    unsafe {
        range(to.addr(), len, AccessKind::Write, Caller { pc, fp });
        libc::memset(to, byte, len)
    }
}

unsafe extern "C" fn read_range(place: usize, len: usize, _: usize, pc: usize, fp: usize) {
    // SAFETY: instrumented code reads there.
    unsafe { range(place, len, AccessKind::Read, Caller { pc, fp }) };
}

unsafe extern "C" fn write_range(place: usize, len: usize, _: usize, pc: usize, fp: usize) {
    // SAFETY: instrumented code writes there.
    unsafe { range(place, len, AccessKind::Write, Caller { pc, fp }) };
}

#[inline(always)]
unsafe fn range(place: usize, len: usize, kind: AccessKind, caller: Caller) {
    if len > 0
        && is_wanted(place)
        && !PlainAccessCounter::is_no_concern(caller.pc)
        && let Some(engine) = engine_of_virtual_thread()
    {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::plain(engine, caller, place, len, kind) };
    }
}

/// Whether the callback of an access there is of interest.
#[inline(always)]
fn is_wanted(place: usize) -> bool {
    match GLOBAL.wanted_announcements.get() {
        Wanted::Idle | Wanted::Nothing => false,
        Wanted::Freed => heap::is_freed(place),
        Wanted::All => true,
    }
}

#[unsafe(naked)]
unsafe extern "C" fn nothing() {
    naked_asm!("ret")
}
