//! Instrumentation callbacks of plain accesses, and the memory functions that instrumented code calls in place of the C
//! library's.
//!
//! Plain accesses are no events and no scheduling points. They are checked for data races and for freed memory. There
//! are many of them, so each symbol first checks whether it has to do anything: whether an exploration wants callbacks, or only those
//! of accesses to freed memory (before the first exploration, calls of callbacks are taken out of the code: [`idle_calls`]),
//! whether the access is not to unshared lines of the thread's own stack, whether the code is not known to be
//! bookkeeping ([`PlainAccessCounter::NO_CONCERN`]), and whether the callback is not a repetition of the one before.
//! Only then it checks whether the thread is a virtual one.

use std::arch::naked_asm;
use std::ffi::c_void;

use raddle_engine::detect::fault::AccessKind;
use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface::{self};
use raddle_engine::isolate::heap::{self, Layout};
use raddle_engine::op::Caller;
use raddle_engine::platform::global::{GLOBAL, Global, LINE, LINES, PROBE, Wanted};
use raddle_engine::platform::idle_calls;
use raddle_engine::platform::stack::SLOT;
use raddle_engine::site::PlainAccessCounter;

/// Callbacks of accesses of a fixed size: `rdi` address; `rsi` pc and `rdx` fp are added.
macro_rules! announcements {
    ($($kind:ident $size:literal: $($name:ident),*;)*) => {$($(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
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
                "mov rdi, [rsp]",
                "lea rsi, [rip + {name}]",
                "jmp {take_out}",
                "6:",
                // Is it freed memory? Small blocks have an index, large ones are looked up.
                "mov rax, rdi",
                "shr rax, {heaps}",
                "cmp eax, {heaps_at}",
                "jne 3b",
                "cmp rdi, [rip + {global} + {heaps_end}]",
                "jae 3b",
                "mov rax, rdi",
                "shr rax, {small}",
                "test al, (1 << ({heap} - {small})) - 1",
                "jne 7f",
                "shr rax, {heap} - {small}",
                "shl rax, {heap}",
                "bts rax, {index}",
                "mov ecx, edi",
                "shr ecx, {granule}",
                "cmp byte ptr [rax + 4 * rcx + 3], 0",
                "jns 3b",
                "7:",
                "mov rsi, [rsp]",
                "mov rdx, rbp",
                "jmp {check_freed}",
                "5:",
                // The thread's own stack: no other bits differ from those of the stack pointer.
                "mov rax, rdi",
                "xor rax, rsp",
                "shr rax, {slot}",
                "jne 2f",
                "mov eax, edi",
                "shr eax, {line}",
                "and eax, {lines} - 1",
                "lea rcx, [rip + {global} + {shared}]",
                "cmp byte ptr [rcx + rax], 0",
                "je 3b",
                "2:",
                "mov rsi, [rsp]",
                "mov rax, rsi",
                "sub rax, [rip + {global} + {text_start}]",
                "cmp rax, [rip + {global} + {text_len}]",
                "jae 4f",
                "add rax, [rip + {global} + {looks}]",
                "cmp byte ptr [rax], {no_concern}",
                "je 3b",
                "4:",
                "movabs rax, {key}",
                "or rax, rdi",
                "cmp rax, [rip + {global} + {last}]",
                "je 3b",
                "mov rdx, rbp",
                "jmp {check}",
                global = sym GLOBAL,
                wanted = const std::mem::offset_of!(Global, wanted_announcements),
                freed = const Wanted::Freed as u8,
                idle = const Wanted::Idle as u8,
                until_taken_out = const std::mem::offset_of!(Global, until_taken_out),
                name = sym $name,
                take_out = sym idle_calls::take_out,
                heaps = const Layout::HEAPS.0,
                heaps_at = const Layout::HEAPS.1,
                heaps_end = const std::mem::offset_of!(Global, heaps_end),
                heap = const Layout::SLOT,
                small = const Layout::SMALL,
                granule = const Layout::GRANULE,
                index = const Layout::INDEX,
                check_freed = sym access_to_freed::<$size, { AccessKind::$kind as u8 }>,
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
                check = sym access::<$size, { AccessKind::$kind as u8 }>,
            )
        }
    )*)*

        /// All callbacks of plain accesses.
        pub(crate) const ANNOUNCEMENTS: &[unsafe extern "C" fn()] = &[$($($name),*),*];
    };
}

announcements! {
    Read 1: __tsan_read1, __tsan_unaligned_read1;
    Read 2: __tsan_read2, __tsan_unaligned_read2;
    Read 4: __tsan_read4, __tsan_unaligned_read4;
    Read 8: __tsan_read8, __tsan_unaligned_read8, __tsan_vptr_read;
    Read 16: __tsan_read16, __tsan_unaligned_read16;
    Write 1: __tsan_write1, __tsan_unaligned_write1, __tsan_read_write1, __tsan_unaligned_read_write1;
    Write 2: __tsan_write2, __tsan_unaligned_write2, __tsan_read_write2, __tsan_unaligned_read_write2;
    Write 4: __tsan_write4, __tsan_unaligned_write4, __tsan_read_write4, __tsan_unaligned_read_write4;
    Write 8: __tsan_write8, __tsan_unaligned_write8, __tsan_read_write8, __tsan_unaligned_read_write8,
        __tsan_vptr_update;
    Write 16: __tsan_write16, __tsan_unaligned_write16, __tsan_read_write16, __tsan_unaligned_read_write16;
}

unsafe extern "C" fn access<const SIZE: usize, const KIND: u8>(place: usize, pc: usize, fp: usize) {
    if let Some(engine) = engine_of_virtual_thread() {
        let kind = if KIND == AccessKind::Read as u8 { AccessKind::Read } else { AccessKind::Write };
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::plain(engine, Caller { pc, fp }, place, SIZE, kind) };
        GLOBAL.last_announced.set(interface::announcement(place, SIZE, kind));
    }
}

/// An access to memory that is probably free.
#[cold]
unsafe extern "C" fn access_to_freed<const SIZE: usize, const KIND: u8>(place: usize, pc: usize, fp: usize) {
    if heap::is_freed(place) && !PlainAccessCounter::is_no_concern(pc) {
        // SAFETY: the caller's.
        unsafe { access::<SIZE, KIND>(place, pc, fp) };
    }
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
    __tsan_read_range => read_range, or __tsan_func_exit;
    __tsan_write_range => write_range, or __tsan_func_exit;
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

/// Callbacks of calls and returns, which are not compiled in ordinarily; a program that has them runs all the same.
macro_rules! ignored {
    ($($name:ident),*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!("ret")
        }
    )*};
}

ignored!(__tsan_func_entry, __tsan_func_exit);
