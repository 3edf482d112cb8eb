//! Calls of uninstrumented functions of std, which block or wake threads, and operations of monitors.

pub use crate::semantics::{MonitorCall, StdCall};

use crate::execution::Engine;
use crate::semantics::{dispatch, enter};

/// The current thread is about to call a function of std, whose code up to the system call is one step. Returns the
/// result if the call is not needed, because the exhaustive search takes the steps one by one.
///
/// # Safety
/// As for [`super::fence`], and the pointers of the call must be valid for their objects.
pub unsafe fn std_call(engine: *mut Engine, call: StdCall) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, std_call(call))) }
}

/// The current thread calls an operation of a monitor, given by its lock and its condition.
///
/// # Safety
/// As for [`std_call`].
pub unsafe fn monitor(engine: *mut Engine, words: [*mut u32; 2], call: MonitorCall) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, monitor(words, call))) };
}

/// The current thread is about to call `Once::call`. Returns the word to call it with: the once, or the copy.
///
/// # Safety
/// As for [`std_call`], and the copy must be private to the caller.
pub unsafe fn once_begins(engine: *mut Engine, once: *mut u32, copy: *mut u32) -> *mut u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, begin_once(once, copy))) }
}

/// The current thread has called `Once::call` with the once or with its copy, or unwinds from it.
///
/// # Safety
/// As for [`once_begins`].
pub unsafe fn once_ends(engine: *mut Engine, once: *mut u32, called: *mut u32) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, end_once(once, called))) };
}

/// The current thread is about to call `Once::wait`, or `wait_force` if `force` is set. Returns the word to call the
/// function with, as [`once_begins`] does: the copy has the state that ends the wait. `states` are those of a once
/// before any call and of a complete one.
///
/// # Safety
/// As for [`once_begins`].
pub unsafe fn once_waits(
    engine: *mut Engine,
    once: *mut u32,
    copy: *mut u32,
    force: bool,
    states: [u32; 2],
) -> *mut u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, wait_once(once, copy, force, states))) }
}
