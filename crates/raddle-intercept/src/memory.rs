//! `malloc` and its relatives, `mmap` and `munmap`. [`raddle_engine::isolate::heap`] decides the source of the memory.
//!
//! A block that existed before the exploration is never freed within it: its owner is rolled back after each execution
//! and must find it, and so is the C library's bookkeeping of its blocks. Outside explorations all calls go to the C
//! library under its other names (`__libc_malloc`, ...), which exist for this.
//!
//! The C library (or another shared library) refers to its own allocations in its statics, which are not rolled back.
//! So such memory is the engine's, and stays. It is recognised by the caller's address.
//!
//! Last, the hooks that `cargo raddle` puts before the functions of Rust's allocations: memory of the engine must not
//! reach the program's global allocator.

use std::alloc::Layout;
use std::ffi::{c_int, c_void};
use std::ptr;

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface;
use raddle_engine::isolate::heap::{self, Refusal, Source};
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::platform::sys::raw_syscall;

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the contract of `mmap`.
    unsafe {
        let args = [address as i64, len as i64, protection.into(), flags.into(), file.into(), offset];
        let mapped = raw_syscall(libc::SYS_mmap, args);
        if (-4095..0).contains(&mapped) {
            *libc::__errno_location() = -mapped as c_int;
            return libc::MAP_FAILED;
        }
        if let Some(engine) = engine_of_virtual_thread() {
            interface::mapped(engine, mapped as usize, len);
        }
        mapped as *mut c_void
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    address: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the contract of `mmap64`, which is that of `mmap` where addresses have 64 bits.
    unsafe { mmap(address, len, protection, flags, file, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, len: usize) -> c_int {
    // SAFETY: the contract of `munmap`.
    unsafe {
        if let Some(engine) = engine_of_virtual_thread()
            && !interface::may_unmap(engine, address.addr(), len)
        {
            return 0;
        }
        let error = -raw_syscall(libc::SYS_munmap, [address as i64, len as i64, 0, 0, 0, 0]) as c_int;
        if error != 0 {
            *libc::__errno_location() = error;
            return -1;
        }
        0
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

/// The C library's alignment of every block.
const ALIGN: usize = 16;

/// The source of memory for the code at an address.
#[inline(always)]
fn source(caller: usize) -> Source {
    match heap::source() {
        Source::Execution if caller.wrapping_sub(GLOBAL.text_start.get()) >= GLOBAL.text_len.get() => {
            Source::Engine
        }
        source => source,
    }
}

/// Defines a C symbol that adds the return address, in the register of the next argument.
macro_rules! with_caller {
    ($name:ident, $register:literal, $function:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $function)
        }
    };
}

with_caller!(malloc, "rsi", malloc_from);
with_caller!(calloc, "rdx", calloc_from);
with_caller!(realloc, "rdx", realloc_from);
with_caller!(memalign, "rdx", memalign_from);
with_caller!(aligned_alloc, "rdx", memalign_from);
with_caller!(posix_memalign, "rcx", posix_memalign_from);

/// A block of an execution or of the engine.
#[inline(always)]
fn allocate(source: Source, size: usize, align: usize) -> *mut u8 {
    announce(heap::allocate(source, size, align), source, size)
}

/// Tells the engine of a new block.
#[inline(always)]
fn announce(block: *mut u8, source: Source, size: usize) -> *mut u8 {
    if GLOBAL.wants_allocations.get()
        && source == Source::Execution
        && let Some(engine) = engine_of_virtual_thread()
    {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::allocated(engine, block.addr(), size) };
    }
    block
}

unsafe extern "C" fn malloc_from(size: usize, caller: usize) -> *mut c_void {
    match source(caller) {
        // SAFETY: the contract of `malloc`.
        Source::Process => unsafe { __libc_malloc(size) },
        source => allocate(source, size, ALIGN).cast(),
    }
}

unsafe extern "C" fn calloc_from(count: usize, size: usize, caller: usize) -> *mut c_void {
    match source(caller) {
        // SAFETY: the contract of `calloc`.
        Source::Process => unsafe { __libc_calloc(count, size) },
        source => {
            let Some(size) = count.checked_mul(size) else { return ptr::null_mut() };
            announce(heap::allocate_zeroed(source, size, ALIGN), source, size).cast()
        }
    }
}

unsafe extern "C" fn realloc_from(block: *mut c_void, size: usize, caller: usize) -> *mut c_void {
    let source = source(caller);
    // SAFETY: the contract of `realloc`.
    unsafe {
        if block.is_null() {
            return malloc_from(size, caller);
        }
        let owned = heap::owns(block.addr());
        if source == Source::Process && !owned {
            return __libc_realloc(block, size);
        }
        let old = match owned.then(|| heap::usable(block.cast())) {
            Some(Ok(usable)) => usable,
            Some(Err(refusal)) => {
                refuse(block.addr(), refusal);
                0
            }
            None => libc::malloc_usable_size(block),
        };
        if owned && size <= old && size >= old / 2 {
            heap::resize(block.cast(), size);
            return block;
        }
        let new = malloc_from(size, caller);
        if !new.is_null() {
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
            free(block);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: the contract of `free`.
    unsafe {
        if heap::owns(block.addr()) {
            GLOBAL.last_announced.set(0);
            if let Some(engine) = engine_of_virtual_thread().filter(|_| heap::is_of_execution(block.addr())) {
                interface::freeing(engine, block.addr());
            }
            if let Err(refusal) = heap::free(block.cast()) {
                refuse(block.addr(), refusal);
            }
        } else if heap::source() == Source::Process {
            __libc_free(block);
        } else if let Some(engine) = engine_of_virtual_thread() {
            interface::foreign_free(engine, block.addr());
        }
    }
}

/// Refuses a free: ends the execution, if there is one.
#[cold]
fn refuse(address: usize, refusal: Refusal) {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::bad_free(engine, address, refusal) }
    }
}

unsafe extern "C" fn memalign_from(align: usize, size: usize, caller: usize) -> *mut c_void {
    match source(caller) {
        // SAFETY: the contract of `memalign`.
        Source::Process => unsafe { __libc_memalign(align, size) },
        source => allocate(source, size, align.max(ALIGN)).cast(),
    }
}

unsafe extern "C" fn posix_memalign_from(
    out: *mut *mut c_void,
    align: usize,
    size: usize,
    caller: usize,
) -> c_int {
    // SAFETY: the contract of `posix_memalign`.
    unsafe {
        let block = memalign_from(align, size, caller);
        if block.is_null() {
            return libc::ENOMEM;
        }
        out.write(block);
        0
    }
}

/// Called before memory is allocated: a block, if the engine serves the caller, or null.
#[unsafe(no_mangle)]
extern "C" fn __raddle_allocate(size: usize, align: usize) -> *mut u8 {
    match heap::source() {
        Source::Engine => heap::allocate(Source::Engine, size, align.max(ALIGN)),
        _ => ptr::null_mut(),
    }
}

/// The same for zeroed memory.
#[unsafe(no_mangle)]
extern "C" fn __raddle_allocate_zeroed(size: usize, align: usize) -> *mut u8 {
    match heap::source() {
        Source::Engine => heap::allocate_zeroed(Source::Engine, size, align.max(ALIGN)),
        _ => ptr::null_mut(),
    }
}

/// Called before memory is freed: true if the engine owned and freed it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_deallocate(block: *mut u8, _size: usize, _align: usize) -> usize {
    let is_own = heap::is_of_engine(block.addr());
    if is_own {
        // SAFETY: the contract of deallocation; the engine frees each of its blocks.
        let _ = unsafe { heap::free(block) };
    }
    is_own.into()
}

/// Called before memory changes its size: the block, if the engine owns it or serves the caller, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_reallocate(block: *mut u8, old: usize, align: usize, size: usize) -> *mut u8 {
    let is_own = heap::is_of_engine(block.addr());
    let wants = heap::source() == Source::Engine;
    if !is_own && !wants {
        return ptr::null_mut();
    }
    // SAFETY: the contract of reallocation: a block with that size and alignment. The functions that are called here
    // leave other blocks to the program's allocator.
    unsafe {
        if is_own && heap::usable(block).is_ok_and(|usable| size <= usable) {
            return block;
        }
        let (before, now) =
            (Layout::from_size_align_unchecked(old, align), Layout::from_size_align_unchecked(size, align));
        let new = std::alloc::alloc(now);
        if !new.is_null() {
            ptr::copy_nonoverlapping(block, new, old.min(size));
            std::alloc::dealloc(block, before);
        }
        new
    }
}
