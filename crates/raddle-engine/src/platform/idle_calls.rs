//! Calls of instrumentation callbacks, taken out of the program's code until it explores.
//!
//! Ordinary tests run in the same program as tests that explore, and explore nothing. A callback that is called in vain changes one byte of
//! the call, which then does nothing but set flags. No code relies on flags after a call:
//!
//! | call | instead |
//! |---|---|
//! | `E8 ..` (`call rel32`) | `A9 ..` (`test eax, imm32`) |
//! | `FF 15 ..` (`call [rip + disp32]`) | `85 15 ..` (`test [rip + disp32], edx`) |
//!
//! Other threads may run the code meanwhile: of one byte, they see the old value or the new one.
//!
//! **Invariant:** while an exploration runs, and ever after, all calls are in place. [`put_back`] restores them before the first one, and
//! nothing takes them out again.

use std::cell::Cell;
use std::hint;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::global::{GLOBAL, Wanted};
use super::sys::{PAGE, raw_syscall};

/// One in so many callbacks takes out its call: to change code costs more than to call, and most code runs a few times only.
const PERIOD: i32 = 64;

/// Largest number of calls that are taken out.
const MOST: usize = 1 << 16;

/// The size of both kinds of calls, from the byte that changes to the end.
const CALL: usize = 5;
const INDIRECT_CALL: usize = 6;

/// The calls that are taken out.
#[repr(C, align(4096))]
struct IdleCalls {
    is_locked: AtomicBool,
    /// The code that may be changed. Empty before the first call is taken out.
    code: Cell<(usize, usize)>,
    /// The addresses of the changed bytes: [`MOST`] words, of which the first `len` are used.
    taken: Cell<*mut usize>,
    len: Cell<usize>,
    /// Whether calls stay as they are from now on.
    is_over: Cell<bool>,
}

// SAFETY: cells are used by the holder of the lock only.
unsafe impl Sync for IdleCalls {}

#[unsafe(link_section = ".raddle")]
static IDLE_CALLS: IdleCalls = IdleCalls {
    is_locked: AtomicBool::new(false),
    code: Cell::new((0, 0)),
    taken: Cell::new(ptr::null_mut()),
    len: Cell::new(0),
    is_over: Cell::new(false),
};

/// Takes out the call of an instrumentation callback that returns to `pc`.
///
/// Runs between any two instructions of the program, which may hold any lock: so it allocates nothing, and waits for nothing.
///
/// # Safety
/// A call of the callback returns to `pc`, or a jump to it was made where a call returns to `pc`.
#[cold]
pub unsafe extern "C" fn take_out(pc: usize, callback: usize) {
    let calls = &IDLE_CALLS;
    if calls.is_locked.swap(true, Ordering::Acquire) {
        return;
    }
    GLOBAL.until_taken_out.store(PERIOD, Ordering::Relaxed);
    if !calls.is_over.get() {
        let has_room = (!calls.taken.get().is_null() || calls.prepare(pc)) && calls.len.get() < MOST;
        match has_room {
            // SAFETY: the caller's; the code can be written.
            true => unsafe { calls.take_out(pc, callback) },
            // The callbacks return at once.
            false => GLOBAL.wanted_announcements.set(Wanted::Nothing),
        }
    }
    calls.is_locked.store(false, Ordering::Release);
}

/// Puts all calls back, for good.
pub(crate) fn put_back() {
    let calls = &IDLE_CALLS;
    while calls.is_locked.swap(true, Ordering::Acquire) {
        hint::spin_loop();
    }
    if !calls.is_over.replace(true) {
        GLOBAL.wanted_announcements.set(Wanted::Nothing);
        calls.put_back();
    }
    calls.is_locked.store(false, Ordering::Release);
}

impl IdleCalls {
    /// Makes the code around `pc` writable. False if that is not possible, or not wise.
    fn prepare(&self, pc: usize) -> bool {
        let Some(code) = segment_of(pc).filter(|_| !is_traced()) else { return false };
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        let args = [0, (MOST * size_of::<usize>()) as i64, protection.into(), flags.into(), -1, 0];
        // SAFETY: a new mapping, wherever there is room.
        let taken = unsafe { raw_syscall(libc::SYS_mmap, args) };
        if taken < 0 || !protect(&code, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
            return false;
        }
        self.taken.set(ptr::with_exposed_provenance_mut(taken as usize));
        self.code.set((code.start, code.end));
        true
    }

    /// # Safety
    /// As for [`take_out`]; [`IdleCalls::prepare`] has returned true, and there is room for another address.
    unsafe fn take_out(&self, pc: usize, callback: usize) {
        let (start, end) = self.code.get();
        if pc < start + INDIRECT_CALL || pc > end {
            return;
        }
        let byte = |before: usize| ptr::with_exposed_provenance::<u8>(pc - before);
        // SAFETY: these bytes are code of the program.
        let (at, instead) = unsafe {
            let displacement = byte(4).cast::<i32>().read_unaligned();
            let target = pc.wrapping_add_signed(displacement as isize);
            match (byte(INDIRECT_CALL).read(), byte(CALL).read()) {
                (_, 0xE8) if target == callback => (CALL, 0xA9),
                // The table of the linker, which names the callback.
                (0xFF, 0x15)
                    if target.is_multiple_of(8)
                        && ptr::with_exposed_provenance::<usize>(target).read() == callback =>
                {
                    (INDIRECT_CALL, 0x85)
                }
                _ => return,
            }
        };
        let (len, at) = (self.len.get(), pc - at);
        // SAFETY: the table has room; the code was made writable.
        unsafe {
            self.taken.get().add(len).write(at);
            code_byte(at).store(instead, Ordering::Relaxed);
        }
        self.len.set(len + 1);
    }

    fn put_back(&self) {
        for index in 0..self.len.get() {
            // SAFETY: the bytes were changed by `take_out`, and are writable still.
            unsafe {
                let byte = code_byte(self.taken.get().add(index).read());
                byte.store(if byte.load(Ordering::Relaxed) == 0xA9 { 0xE8 } else { 0xFF }, Ordering::Relaxed);
            }
        }
        let (start, end) = self.code.get();
        if start < end {
            protect(&(start..end), libc::PROT_READ | libc::PROT_EXEC);
            let args =
                [self.taken.get().expose_provenance() as i64, (MOST * size_of::<usize>()) as i64, 0, 0, 0, 0];
            // SAFETY: the table, which nobody uses any more.
            unsafe { raw_syscall(libc::SYS_munmap, args) };
        }
    }
}

/// # Safety
/// The address must be that of code.
unsafe fn code_byte(address: usize) -> &'static AtomicU8 {
    // SAFETY: the caller's. The processor, which reads it as well, is no party to the language.
    unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(address)) }
}

/// The pages of the segment of the program's code that has this address.
fn segment_of(pc: usize) -> Option<Range<usize>> {
    // SAFETY: queries, then the headers that the kernel told of.
    let headers = unsafe {
        let headers =
            ptr::with_exposed_provenance::<libc::Elf64_Phdr>(libc::getauxval(libc::AT_PHDR) as usize);
        (!headers.is_null())
            .then(|| std::slice::from_raw_parts(headers, libc::getauxval(libc::AT_PHNUM) as usize))?
    };
    let own = headers.iter().find(|header| header.p_type == libc::PT_PHDR)?;
    let base = headers.as_ptr().addr().wrapping_sub(own.p_vaddr as usize);
    let is_code =
        |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
    let memory = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        start & !(PAGE - 1)..(start + header.p_memsz as usize).next_multiple_of(PAGE)
    };
    headers.iter().filter(is_code).map(memory).find(|memory| memory.contains(&pc))
}

fn protect(code: &Range<usize>, protection: i32) -> bool {
    let args = [code.start as i64, code.len() as i64, protection.into(), 0, 0, 0];
    // SAFETY: the program's code stays readable and executable.
    unsafe { raw_syscall(libc::SYS_mprotect, args) == 0 }
}

/// Whether a debugger watches the process: its breakpoints are bytes of code, too. True if that is not known.
fn is_traced() -> bool {
    const NAME: &[u8] = b"\nTracerPid:\t";
    let mut text = [0u8; 512];
    // SAFETY: a file is opened, read into the buffer and closed.
    let len = unsafe {
        let path = c"/proc/self/status".as_ptr().expose_provenance() as i64;
        let file = raw_syscall(libc::SYS_open, [path, (libc::O_RDONLY | libc::O_CLOEXEC).into(), 0, 0, 0, 0]);
        let buffer = text.as_mut_ptr().expose_provenance() as i64;
        let len = raw_syscall(libc::SYS_read, [file, buffer, text.len() as i64, 0, 0, 0]);
        raw_syscall(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
        usize::try_from(len).unwrap_or(0)
    };
    let mut lines = text[..len].windows(NAME.len() + 2);
    !lines.any(|line| line.starts_with(NAME) && line.ends_with(b"0\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_the_program_is_found() {
        let here = the_code_of_the_program_is_found as fn() as usize;
        assert!(segment_of(here).is_some_and(|code| code.contains(&here)));
        assert_eq!(segment_of(PAGE), None);
    }

    /// Code of two calls, one of each kind, and the table that the second one uses.
    #[repr(align(16))]
    struct Code([u8; 32]);

    fn calls() -> IdleCalls {
        IdleCalls {
            is_locked: AtomicBool::new(false),
            code: Cell::new((0, usize::MAX)),
            taken: Cell::new(Box::leak(Box::new([0; 4])).as_mut_ptr()),
            len: Cell::new(0),
            is_over: Cell::new(false),
        }
    }

    #[test]
    fn calls_of_the_callback_are_taken_out_and_nothing_else() {
        let mut code = Box::new(Code([0x90; 32]));
        let start = code.0.as_mut_ptr().expose_provenance();
        // At 2: call start + 100. At 8: call [start + 16].
        code.0[2] = 0xE8;
        code.0[3..7].copy_from_slice(&(100i32 - 7).to_le_bytes());
        code.0[8..10].copy_from_slice(&[0xFF, 0x15]);
        code.0[10..14].copy_from_slice(&(16i32 - 14).to_le_bytes());
        code.0[16..24].copy_from_slice(&(start + 100).to_le_bytes());
        let before = code.0;

        let calls = calls();
        // SAFETY: this is no code, and can be written.
        unsafe {
            for (pc, callback) in [(7, 101), (14, 99), (8, 100), (20, 100)] {
                calls.take_out(start + pc, start + callback);
            }
            assert_eq!((code.0, calls.len.get()), (before, 0));
            calls.take_out(start + 7, start + 100);
            calls.take_out(start + 14, start + 100);
        }
        assert_eq!((code.0[2], code.0[8], calls.len.get()), (0xA9, 0x85, 2));
        for index in 0..2 {
            // SAFETY: as above.
            let byte = unsafe { code_byte(calls.taken.get().add(index).read()) };
            assert!([2, 8].contains(&(byte.as_ptr().addr() - start)));
        }
        calls.code.set((0, 0));
        calls.put_back();
        assert_eq!(code.0, before);
    }
}
