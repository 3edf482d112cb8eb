//! The processor's time-stamp counter (`rdtsc`, `rdtscp`): while an exploration runs, it counts nanoseconds of virtual time.
//!
//! Crates that measure time cheaply, such as `quanta`, read the counter without any call that could be intercepted. [`Forbidden`]
//! tells the kernel to answer the instruction with SIGSEGV on the exploring OS thread. The handler ([`emulate`]) turns the instruction
//! into a call of [`read_virtual`], which returns behind the instruction:
//!
//! ```text
//!   interrupted: … frame │ red zone (128 bytes) │ ← rsp
//!   in the call: … frame │ red zone (128 bytes) │ address behind the instruction │ flags, registers, vector registers │
//! ```
//!
//! The call runs on the stack of the virtual thread, so a switch may follow, as at any other read of the clock. The
//! counter is real outside executions and outside the program's own code: in the kernel's shared page, which the C
//! library's clock functions call.

use std::arch::{naked_asm, x86_64};
use std::ffi::{c_int, c_void};

use crate::execution::{engine, engine_of_virtual_thread};
use crate::platform::global::GLOBAL;

const PR_SET_TSC: i64 = 26;
const PR_TSC_ENABLE: i64 = 1;
const PR_TSC_SIGSEGV: i64 = 2;

/// `si_code` of a fault that has no address.
const SI_KERNEL: c_int = 0x80;

/// Bytes below the stack pointer that a function may use.
const RED_ZONE: i64 = 128;

/// A guard: while it lives, the time-stamp counter must not be read on the OS thread that made it.
#[derive(Debug)]
pub(crate) struct Forbidden(());

impl Forbidden {
    /// Forbids the counter. `None` if the processor cannot save its vector registers, which [`read_virtual`] needs: the
    /// counter stays real.
    pub(crate) fn new() -> Option<Forbidden> {
        std::arch::is_x86_feature_detected!("xsave").then(|| {
            set(PR_TSC_SIGSEGV);
            Forbidden(())
        })
    }
}

impl Drop for Forbidden {
    fn drop(&mut self) {
        set(PR_TSC_ENABLE);
    }
}

fn set(mode: i64) {
    // SAFETY: changes nothing but what the two instructions do on this OS thread.
    unsafe { crate::platform::sys::raw_syscall(libc::SYS_prctl, [PR_SET_TSC, mode, 0, 0, 0, 0]) };
}

/// Emulates the faulting instruction, if it reads the counter: with virtual time for a virtual thread in the program's
/// own code, otherwise as the processor does.
///
/// # Safety
/// A handler of SIGSEGV was given `info` and `context`.
pub(super) unsafe fn emulate(info: *const libc::siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the kernel's structures; the interrupted code lies where it was executed.
    unsafe {
        if (*info).si_code != SI_KERNEL {
            return false;
        }
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let pc = registers[libc::REG_RIP as usize];
        let (len, with_processor) = match Read::at(pc as *const u8) {
            None => return false,
            Some(Read::Rdtsc) => (2, false),
            Some(Read::Rdtscp) => (3, true),
        };
        let behind = pc + len;
        let in_program = (pc as usize).wrapping_sub(GLOBAL.text_start.get()) < GLOBAL.text_len.get();
        if in_program && engine_of_virtual_thread().is_some() {
            let stack = registers[libc::REG_RSP as usize] - RED_ZONE - 8;
            (stack as *mut i64).write(behind);
            registers[libc::REG_RSP as usize] = stack;
            registers[libc::REG_RIP as usize] = read_virtual as *const () as i64;
            if with_processor {
                registers[libc::REG_RCX as usize] = 0;
            }
            return true;
        }
        set(PR_TSC_ENABLE);
        let mut processor = 0;
        let counter = if with_processor { x86_64::__rdtscp(&mut processor) } else { x86_64::_rdtsc() };
        set(PR_TSC_SIGSEGV);
        registers[libc::REG_RAX as usize] = (counter & 0xffff_ffff) as i64;
        registers[libc::REG_RDX as usize] = (counter >> 32) as i64;
        if with_processor {
            registers[libc::REG_RCX as usize] = i64::from(processor);
        }
        registers[libc::REG_RIP as usize] = behind;
        true
    }
}

/// An instruction that reads the counter.
enum Read {
    Rdtsc,
    /// Reads the number of the processor, too.
    Rdtscp,
}

impl Read {
    /// The instruction at an address, if it reads the counter.
    ///
    /// # Safety
    /// A whole instruction lies there.
    unsafe fn at(code: *const u8) -> Option<Read> {
        // SAFETY: each byte says whether the instruction has another one.
        unsafe {
            match (*code, (*code == 0x0f).then(|| *code.add(1))) {
                (0x0f, Some(0x31)) => Some(Read::Rdtsc),
                (0x0f, Some(0x01)) if *code.add(2) == 0xf9 => Some(Read::Rdtscp),
                _ => None,
            }
        }
    }
}

/// Replaces the instruction: leaves the counter in edx and eax and changes no other register, nor flags.
#[unsafe(naked)]
unsafe extern "C" fn read_virtual() {
    naked_asm!(
        "pushfq",
        "cld",
        "push rbp",
        "mov rbp, rsp",
        "push rcx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        // x87, SSE and AVX state: 512 bytes, a header of 64 that must be zero, 256 bytes.
        "sub rsp, 832",
        "and rsp, -64",
        "xor eax, eax",
        "lea rdi, [rsp + 512]",
        "mov ecx, 8",
        "rep stosq",
        "mov eax, 7",
        "xor edx, edx",
        "xsave [rsp]",
        "mov rdi, [rbp + 16]",
        "call {counter}",
        "mov r11, rax",
        "mov eax, 7",
        "xor edx, edx",
        "xrstor [rsp]",
        "mov eax, r11d",
        "shr r11, 32",
        "mov edx, r11d",
        "lea rsp, [rbp - 56]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rcx",
        "pop rbp",
        "popfq",
        "ret {red_zone}",
        counter = sym virtual_counter,
        red_zone = const RED_ZONE,
    )
}

unsafe extern "C" fn virtual_counter(pc: usize) -> u64 {
    // SAFETY: called on the stack of a virtual thread, outside the engine.
    unsafe { super::monotonic_time(engine(), pc) }
}
