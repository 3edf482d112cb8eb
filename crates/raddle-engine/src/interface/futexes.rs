//! Futexes.

use crate::execution::Engine;
use crate::semantics::{dispatch, enter};
use crate::thread::Wake;

/// The current thread waits at `word` until it is woken, if the word holds `expected`.
///
/// `deadline` is a time of the monotonic clock. Returns the end of the wait; none if the value was another.
///
/// # Safety
/// As for [`super::load`].
pub unsafe fn futex_wait(
    engine: *mut Engine,
    word: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, futex_wait(word, expected, mask, deadline))) }
}

/// Wakes up to `count` threads that wait at the address; returns how many.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn futex_wake(engine: *mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, futex_wake(address, count, mask))) }
}

/// Wakes up to `wake` threads at `from` and moves up to `requeue` others to `to`. Returns both numbers.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn futex_requeue(
    engine: *mut Engine,
    from: usize,
    to: usize,
    wake: u32,
    requeue: u32,
) -> (u32, u32) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, futex_requeue(from, to, wake, requeue))) }
}
