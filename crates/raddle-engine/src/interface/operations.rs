//! Operations of a scenario: where they begin and end, and what orders them.
//!
//! Along graphs, under sequential consistency, both are events: two executions that differ only in which operation ended before
//! which began are different. Each thread of a scenario has a place that only it writes, the number of operations that it has
//! ended; who begins an operation looks at those of all others.
//!
//! Under a weak memory model there is no such time, only what happened before what.

use crate::execution::Engine;
use crate::op::ThreadId;
use crate::semantics::{dispatch, enter};
use crate::trace::Action;

/// A thread of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its number among them, from 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// Records something that has no effect on the execution, if a trace is wanted.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn note(engine: *mut Engine, action: impl FnOnce() -> Action) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.record(action)) };
}

/// The current thread is about to begin an operation, its `first` or another: others may go before it, so that what they have
/// done by then comes before it in real time. Returns the number of the event, if it is one.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn operation_begins(engine: *mut Engine, member: Member, first: bool) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, begin_operation(member.number, member.of, first))) }
}

/// The current thread has ended the operation with this number, from 1. Returns the number of the event, if it is one.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn operation_ends(engine: *mut Engine, member: Member, ended: u32) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, end_operation(member.number, member.of, ended))) }
}

/// Rings a bell, a word that holds 0 from then on: the thread that waits for it may go on. False if the execution follows no graph,
/// and so the caller has to wake the thread in another way.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn ring(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, signal(bell))) }
}

/// Waits for a bell, and silences it. False if the execution follows no graph, and so the caller has to wait in another way.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn hear(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, await_signal(bell))) }
}

/// A bell was heard in another way than by [`hear`]: what was done before it rang is known now.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn heard(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, Engine::acquire_uninstrumented) };
}

/// Whether the memory model of the execution is weak, so that operations are ordered by what happened before what.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn is_without_time(engine: *mut Engine) -> bool {
    // SAFETY: the caller's.
    unsafe { dispatch!(&*engine, has_no_real_time()) }
}

/// Writes down what the current thread has seen of these threads: how far each of them had come in what happened before now. The
/// execution must be one [without time](is_without_time).
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
