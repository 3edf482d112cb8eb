//! Signals of an exploration: page faults that belong to [`crate::isolate::pages`], crashes of the code under test, and
//! the watchdog. `cargo raddle`, which watches from outside, may ask for the call stack of a process that has become
//! silent.
//!
//! With coroutines, a crash does not end the process. The handler sets the engine's outcome and makes the coroutine
//! continue, when the handler returns, with a call that passes control to the explorer, as after any other failure.
//! With OS threads, which are for debuggers, the crash is left to the debugger.
//!
//! **Invariant:** handlers run on an alternate stack of the exploring OS thread, with the thread-locals of the
//! interrupted virtual thread, and neither allocate nor lock.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::time_stamp;
use crate::detect::fault::{Access, AccessKind, Fault};
use crate::execution::{self, Backend, Engine, engine};
use crate::isolate::{heap, unmanaged_threads};
use crate::op::Caller;
use crate::outcome::Outcome;
use crate::platform::coroutine;
use crate::platform::global::{GLOBAL, NO_ROLE, ROLE};
use crate::platform::sys::PAGE;
use crate::platform::unwind;

/// The tick of the watchdog, in milliseconds.
pub const TICK_MS: u32 = 20;

const CRASHES: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
const ALTERNATE_STACK: usize = 32 * PAGE;

/// The signal handlers of one exploration. Dropping them restores the earlier handlers, except for that of memory
/// faults, which then passes them on.
#[allow(missing_debug_implementations, reason = "holds C structures")]
pub struct Handlers {
    before: [libc::sigaction; CRASHES.len()],
    before_tick: libc::sigaction,
    before_question: libc::sigaction,
    stack_before: libc::stack_t,
    stack: Box<[MaybeUninit<u8>]>,
    watchdog: Option<Watchdog>,
    time_stamps: Option<time_stamp::Forbidden>,
}

impl Handlers {
    /// Installs the handlers and starts the watchdog.
    pub fn install() -> Handlers {
        // Not filled: little of it is used ever.
        let mut stack = Box::new_uninit_slice(ALTERNATE_STACK);
        // SAFETY: plain structures of the C library, filled before use; the alternate stack lives as long as the handlers.
        unsafe {
            let new = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
            let mut stack_before = MaybeUninit::<libc::stack_t>::zeroed();
            sigaltstack(&new, stack_before.as_mut_ptr());
            let ours = on_crash as *const () as usize;
            let mut before = CRASHES.map(|signal| set_handler(signal, ours));
            if let Some(known) = *KEPT.before.get() {
                let left = before.iter_mut().zip(known).filter(|(before, _)| before.sa_sigaction == ours);
                left.for_each(|(before, known)| *before = known);
            }
            KEPT.before.get().write(Some(before));
            let before_tick = set_handler(tick_signal(), on_tick as *const () as usize);
            let before_question = set_handler(question_signal(), on_question as *const () as usize);
            GLOBAL
                .explorer
                .store(crate::platform::sys::raw_syscall(libc::SYS_gettid, [0; 6]) as u32, Relaxed);
            let mut handlers = Handlers {
                before,
                before_tick,
                before_question,
                stack_before: stack_before.assume_init(),
                stack,
                watchdog: None,
                time_stamps: None,
            };
            handlers.start_watchdog();
            handlers
        }
    }

    /// Makes the processor's time-stamp counter show virtual time, too. For coroutines only: the counter is an OS
    /// thread's.
    pub fn forbid_time_stamps(&mut self) {
        self.time_stamps = time_stamp::Forbidden::new();
    }

    /// Starts the watchdog: at the beginning, and again in a forked process.
    pub fn start_watchdog(&mut self) {
        if let Some(old) = self.watchdog.take() {
            // A fork has no timers; the old one belongs to the parent.
            std::mem::forget(old);
        }
        self.watchdog = Some(Watchdog::start());
    }
}

impl Handlers {
    /// Stops the watchdog: under a debugger, time passes for other reasons, and a signal that arrives while the debugger
    /// steps over a breakpoint makes the program hit the breakpoint again.
    pub fn stop_watchdog(&mut self) {
        self.watchdog = None;
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        self.watchdog = None;
        self.time_stamps = None;
        // SAFETY: restores what `install` replaced.
        unsafe {
            for (signal, before) in CRASHES.into_iter().zip(&self.before) {
                // An unmanaged thread may be on its way to this handler, with a fault that the exploration caused.
                if signal != libc::SIGSEGV {
                    libc::sigaction(signal, before, ptr::null_mut());
                }
            }
            libc::sigaction(tick_signal(), &self.before_tick, ptr::null_mut());
            libc::sigaction(question_signal(), &self.before_question, ptr::null_mut());
            sigaltstack(&self.stack_before, ptr::null_mut());
        }
        debug_assert!(self.stack.len() == ALTERNATE_STACK);
    }
}

/// A timer that interrupts the exploring OS thread.
struct Watchdog(libc::timer_t);

impl Watchdog {
    fn start() -> Watchdog {
        // SAFETY: plain structures, filled before use. The signal goes to this thread only: no other ever sees it.
        unsafe {
            let mut event = MaybeUninit::<libc::sigevent>::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = tick_signal();
            event.sigev_notify_thread_id =
                crate::platform::sys::raw_syscall(libc::SYS_gettid, [0; 6]) as c_int;
            let mut timer = MaybeUninit::<libc::timer_t>::zeroed();
            let made = libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr());
            assert!(made == 0, "raddle: cannot make a timer");
            let timer = timer.assume_init();
            let every = libc::timespec { tv_sec: 0, tv_nsec: i64::from(TICK_MS) * 1_000_000 };
            let spec = libc::itimerspec { it_interval: every, it_value: every };
            libc::timer_settime(timer, 0, &spec, ptr::null_mut());
            Watchdog(timer)
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // SAFETY: the timer exists.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The earlier handlers of crashes, for crashes that are not the exploration's.
#[repr(align(4096))]
struct Kept {
    before: std::cell::UnsafeCell<Option<[libc::sigaction; CRASHES.len()]>>,
}

// SAFETY: written by the exploring thread before the handlers can run.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept { before: std::cell::UnsafeCell::new(None) };

fn tick_signal() -> c_int {
    libc::SIGRTMAX() - 3
}

/// The signal by which `cargo raddle` asks for the call stack of a process.
fn question_signal() -> c_int {
    libc::SIGRTMAX() - 4
}

unsafe fn set_handler(signal: c_int, handler: usize) -> libc::sigaction {
    // SAFETY: a zeroed action is valid; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER;
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        libc::sigaction(signal, &action, before.as_mut_ptr());
        before.assume_init()
    }
}

/// The system call itself: `sigaltstack` the symbol is intercepted.
unsafe fn sigaltstack(new: *const libc::stack_t, before: *mut libc::stack_t) {
    // SAFETY: the caller's.
    unsafe {
        crate::platform::sys::raw_syscall(libc::SYS_sigaltstack, [new as i64, before as i64, 0, 0, 0, 0]);
    }
}

unsafe extern "C" fn on_crash(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid structures. The interrupted code cannot be harmed by the use of the engine: pages
    // are only saved here, and an outcome ends the execution.
    unsafe {
        let engine = engine();
        let address = (*info).si_addr().addr();
        if signal == libc::SIGSEGV && time_stamp::emulate(info, context) {
            return;
        }
        if ROLE.get() == NO_ROLE {
            let may_be_protected = signal == libc::SIGSEGV && (*info).si_code == SEGV_ACCERR;
            if may_be_protected && bystander_tries_again(address) {
                return;
            }
            return pass_on(signal);
        }
        if engine.is_null() {
            return pass_on(signal);
        }
        if signal == libc::SIGSEGV
            && (*engine).exploration.pages.as_mut().is_some_and(|pages| pages.save(address))
        {
            return;
        }
        let thread = (*engine).current_id();
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let outcome = match heap::block_of(address).filter(|block| block.freed_by.is_some()) {
            Some(block) if signal == libc::SIGSEGV => {
                const WRITE: i64 = 1 << 1;
                let writes = registers[libc::REG_ERR as usize] & WRITE != 0;
                let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                Outcome::Fault(Fault::UseAfterFree {
                    access: Access { thread, address, size: 1, kind },
                    block,
                })
            }
            _ if (*engine).current().stack.is_overflow(address) => Outcome::StackOverflow { thread },
            _ => Outcome::Crash { thread, signal, address },
        };
        // The instruction counts as a call that returns to its next byte.
        (*engine).execution.crashed_at = Some(Caller {
            pc: registers[libc::REG_RIP as usize] as usize + 1,
            fp: registers[libc::REG_RBP as usize] as usize,
        });
        (*engine).tell_debugger_of_crash();
        if !trap(engine, context, outcome) {
            let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            if (*engine).exploration.limits.backend == Backend::Coroutines {
                complain(signal, address, registers[libc::REG_RIP as usize] as usize);
            }
            pass_on(signal);
        }
    }
}

/// `si_code` of an access that the protection of mapped memory forbids.
const SEGV_ACCERR: c_int = 2;

/// Handles the write of an unmanaged thread to protected memory, perhaps because it is rolled back. The write would be
/// undone, so the thread retries it when the exploration is over. The record of protected memory belongs to the
/// exploration, which may end at any moment, so it is not read here. False after many retries: the fault had another
/// cause.
fn bystander_tries_again(address: usize) -> bool {
    /// Consecutive explorations may protect the memory again before the thread gets to run.
    const MOST: u32 = 1000;
    thread_local! {
        static LAST: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
    }
    let (last, times) = LAST.get();
    let times = if last == address && !unmanaged_threads::are_held() { times + 1 } else { 0 };
    LAST.set((address, times));
    unmanaged_threads::stand_still();
    times < MOST
}

unsafe extern "C" fn on_tick(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: as above; of an interrupted engine only flags are set, an interrupted thread is ended.
    unsafe {
        let engine = engine();
        if engine.is_null() {
            return;
        }
        (*engine).exploration.watchdog.total += 1;
        (*engine).exploration.watchdog.ticks += 1;
        if (*engine).exploration.watchdog.ticks > (*engine).exploration.limits.max_ticks {
            (*engine).exploration.watchdog.expired = true;
            // At its next event the execution becomes fair, with a new time limit. The event may be some way off.
            let had_grace = (*engine).fair_since().is_some()
                || (*engine).exploration.watchdog.ticks
                    > (*engine)
                        .exploration
                        .limits
                        .max_ticks
                        .saturating_add((*engine).exploration.limits.max_ticks / 2);
            if had_grace && !GLOBAL.in_engine.get() {
                trap(engine, context, Outcome::TimeLimit);
            }
            if let Some((overdue, with)) = GLOBAL.overdue.get() {
                overdue(with);
            }
        }
    }
}

/// Reports the call stack of the exploring thread. The process is about to be killed, so a hang in this function loses
/// nothing.
unsafe extern "C" fn on_question(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    const DEEPEST: usize = 64;
    let explorer = i64::from(GLOBAL.explorer.load(Relaxed));
    // SAFETY: plain system calls.
    unsafe {
        if crate::platform::sys::raw_syscall(libc::SYS_gettid, [0; 6]) != explorer {
            let process = crate::platform::sys::raw_syscall(libc::SYS_getpid, [0; 6]);
            crate::platform::sys::raw_syscall(libc::SYS_tgkill, [process, explorer, signal.into(), 0, 0, 0]);
            return;
        }
    }
    let was_in_engine = GLOBAL.in_engine.replace(true);
    if let Some(tell) = GLOBAL.tell_stack.get() {
        let mut stack = [0; DEEPEST];
        tell(unwind::return_addresses(&mut stack));
    }
    GLOBAL.in_engine.set(was_in_engine);
}

/// Ends the interrupted coroutine when the handler returns. False if no coroutine was interrupted.
unsafe fn trap(engine: *mut Engine, context: *mut c_void, outcome: Outcome) -> bool {
    // SAFETY: the caller is a signal handler that was given `context`. The interrupted code is abandoned together with
    // everything it may have left half done, all of which is rolled back.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let stack = (*engine).current().stack;
        let interrupted = registers[libc::REG_RSP as usize] as usize;
        if (*engine).exploration.limits.backend != Backend::Coroutines || !stack.contains(interrupted) {
            return false;
        }
        GLOBAL.in_engine.set(true);
        (*engine).execution.outcome = Some(outcome);
        let (instruction, stack_pointer) = coroutine::divert(&stack, execution::trapped);
        registers[libc::REG_RIP as usize] = instruction as i64;
        registers[libc::REG_RSP as usize] = stack_pointer as i64;
        // The chain of frames ends here.
        registers[libc::REG_RBP as usize] = 0;
        true
    }
}

/// Makes Ctrl-C end a search after the current execution, and not the process.
pub fn catch_interrupts() {
    extern "C" fn on_interrupt(_: c_int) {
        GLOBAL.interrupted.set(true);
    }
    // SAFETY: the handler only sets a flag.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_interrupt as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
    }
}

/// Whether Ctrl-C has been pressed since [`catch_interrupts`].
pub fn interrupted() -> bool {
    GLOBAL.interrupted.get()
}

/// Prints a message and ends the process with the code of a failed test, without running anything else.
pub fn leave(text: &[u8]) -> ! {
    // SAFETY: writes what is there, and ends.
    unsafe {
        crate::platform::sys::raw_syscall(
            libc::SYS_write,
            [2, text.as_ptr() as i64, text.len() as i64, 0, 0, 0],
        );
        loop {
            crate::platform::sys::raw_syscall(libc::SYS_exit_group, [101, 0, 0, 0, 0, 0]);
        }
    }
}

/// Reports a crash of the engine itself, without allocating.
fn complain(signal: c_int, address: usize, pc: usize) {
    use std::io::Write;
    let mut text = [0u8; 256];
    let mut rest = &mut text[..];
    let code = pc.wrapping_sub(GLOBAL.text_start.get());
    // Cannot fail: the text fits.
    let _ = writeln!(
        rest,
        "raddle: internal error: signal {signal} at address {address:#x} in Raddle's own code (text+{code:#x}); \
         please report this"
    );
    let len = 256 - rest.len();
    // SAFETY: the text is initialised up to `len`.
    unsafe {
        crate::platform::sys::raw_syscall(libc::SYS_write, [2, text.as_ptr() as i64, len as i64, 0, 0, 0])
    };
}

/// Passes a signal to the earlier handler: the faulting instruction runs again under it.
unsafe fn pass_on(signal: c_int) {
    // SAFETY: restores an action that the C library gave us, or the default.
    unsafe {
        let before = (*KEPT.before.get())
            .and_then(|before| CRASHES.iter().position(|&crash| crash == signal).map(|index| before[index]));
        let action = before.unwrap_or_else(|| MaybeUninit::zeroed().assume_init());
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
