//! Calls of functions of std that wait for other threads or wake them.

pub use crate::semantics::StdCall;

use crate::execution::Engine;
use crate::semantics::{dispatch, enter};

/// The current thread is about to call a function of std: what that does before it enters the kernel is a step of its own.
/// Returns what the function returns if there is no need to call it: the exhaustive search takes its steps one by one.
///
/// # Safety
/// As for [`super::fence`], and the objects of the call must be what it says.
pub unsafe fn std_call(engine: *mut Engine, call: StdCall) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, std_call(call))) }
}

/// The current thread is about to call `Once::call`. Returns the word that it is to be called with: the once, or the copy.
///
/// # Safety
/// As for [`std_call`], and the copy must be one that nobody else knows.
pub unsafe fn once_begins(engine: *mut Engine, once: *mut u32, copy: *mut u32) -> *mut u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, begin_once(once, copy))) }
}

/// The current thread has called `Once::call` with the once or with its copy, or is unwinding from it.
///
/// # Safety
/// As for [`once_begins`].
pub unsafe fn once_ends(engine: *mut Engine, once: *mut u32, called: *mut u32) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, end_once(once, called))) };
}

/// The current thread is about to call `Once::wait`, or `wait_force` if `force` is set. Returns the word that it is to be called with,
/// as [`once_begins`] does: the copy has the state that ends the wait. `states` are those before any call and of one that is complete.
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
