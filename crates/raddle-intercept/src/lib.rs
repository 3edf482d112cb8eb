//! The C symbols that Raddle intercepts.
//!
//! Linking this crate puts its definitions before the C library's. On a thread that is not part of an exploration each
//! symbol calls the original; on a virtual thread it becomes a call of [`raddle_engine::interface`].
//!
//! | module | symbols |
//! |---|---|
//! | [`mod@atomics`] | `__tsan_atomic*`: what LLVM's ThreadSanitizer pass turns atomic accesses and fences into |
//! | [`mod@plain`] | `__asan_*`, `__tsan_volatile_*`, `__tsan_mem*`: what LLVM's passes announce plain accesses by |
//! | [`mod@syscalls`] | `syscall`: futex, randomness, thread ids |
//! | [`mod@threads`] | `pthread_*`, `sched_yield`, `sigaltstack`, thread-local destructors |
//! | [`mod@std_calls`] | functions of std that `cargo raddle` lets programs call through here |
//! | [`mod@clocks`] | `clock_gettime`, `nanosleep` and relatives |
//! | [`mod@memory`] | `malloc` and relatives |
//! | [`mod@endings`] | `abort`, `exit`, `atexit`, `pthread_atfork`, and the raising of panics |
//! | [`mod@environment`] | `setenv` and relatives |
//!
//! **Invariant:** nothing here decides anything. A missing symbol is added here; its meaning is the engine's.
#![allow(
    clippy::missing_safety_doc,
    reason = "every function here has the contract of the C symbol it stands for"
)]

pub mod atomics;
mod barrier;
pub mod clocks;
pub mod endings;
pub mod environment;
pub mod memory;
pub mod plain;
mod registers;
mod scope;
pub mod std_calls;
mod stdio;
pub mod syscalls;
pub mod threads;

/// Keeps this crate linked, and inspects the layouts of the program's std. Dependents call it before they explore.
pub fn link() {
    std_calls::look_at_std();
    raddle_engine::platform::global::GLOBAL.announcements.set(plain::ANNOUNCEMENTS);
    raddle_engine::platform::global::GLOBAL.attempts.set(atomics::ATTEMPTS);
}
