//! Operations of a scenario: their beginnings, ends, and order.
//!
//! In graph-driven executions under sequential consistency both are events: two executions that differ only in which
//! operation ended before which began are different. Each thread of a scenario has a synthetic location that only it
//! writes, the number of its completed operations; a thread that begins an operation reads those of all others.
//!
//! Under a weak memory model there is no real time, only happens-before.

use crate::execution::Engine;
use crate::op::ThreadId;
use crate::semantics::{dispatch, enter};
use crate::trace::{Action, Introduced};

/// A thread of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The number among the threads of the scenario, from 0.
    pub number: usize,
    /// The number of threads of the scenario.
    pub of: usize,
}

/// Records an action without an effect on the execution, if a trace is recorded.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn note(engine: *mut Engine, action: impl FnOnce() -> Action) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.record(action)) };
}

/// Introduces the object that the report is about, if a trace is recorded.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn introduce(engine: *mut Engine, object: Introduced) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.introduce(object)) };
}

/// The current thread begins a marked operation: other threads may run before.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn step_begins(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, begin_step())) };
}

/// The current thread begins an operation, its `first` or another. Other threads may run before, and operations that
/// they complete by then come before it in real time. Returns the number of the event, if the beginning is one.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn operation_begins(engine: *mut Engine, member: Member, first: bool) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, begin_operation(member.number, member.of, first))) }
}

/// The current thread has completed the operation with this number, from 1. Returns the number of the event, if the end
/// is one.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn operation_ends(engine: *mut Engine, member: Member, ended: u32) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, end_operation(member.number, member.of, ended))) }
}

/// Signals a waker: sets the word to 0, so that the awaiting thread goes on. False outside graph-driven executions:
/// then the caller must wake the thread itself.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn ring(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, signal(bell))) }
}

/// Awaits the signal of a waker, and resets the word to 1. False outside graph-driven executions: then the caller must
/// wait itself.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn hear(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, await_signal(bell))) }
}

/// A signal was received in another way than by [`hear`]: the current thread acquires the views of all threads.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn heard(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, Engine::acquire_uninstrumented) };
}

/// Whether the memory model of the execution is weak, so that operations are ordered by happens-before only.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn is_without_time(engine: *mut Engine) -> bool {
    // SAFETY: the caller's.
    unsafe { dispatch!(&*engine, has_no_real_time()) }
}

/// Stores the entries of these threads in the current thread's vector clock. The execution must be one [without real
/// time](is_without_time).
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn seen_of_threads(engine: *mut Engine, threads: &[ThreadId], seen: &mut [u32]) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            for (&thread, seen) in threads.iter().zip(seen) {
                let Some(time) = dispatch!(&*engine, seen_of(thread)) else { return };
                *seen = time;
            }
        });
    }
}
