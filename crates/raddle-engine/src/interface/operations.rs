//! Operations of a scenario: where they begin and end, and what orders them.
//!
//! Along graphs, under sequential consistency, both are events: two executions that differ only in which operation ended before
//! which began are different. Each thread of a scenario has a place that only it writes, the number of operations that it has
//! ended; who begins an operation looks at those of all others.
//!
//! Under a weak memory model there is no such time, only what happened before what.

use super::{along_graph, enter};
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::happens_before::Model;
use crate::op::{Order, Pending, Rmw, ThreadId};
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
    unsafe {
        enter(engine, |engine| {
            if engine.explores_time() {
                return engine.look_at_others(member.number, member.of);
            }
            if engine.follows_graph() {
                // A thread that does the same again does not wait.
                engine.current().rounds.reset();
            } else if !first {
                // When a thread starts, that it was chosen to is the choice.
                engine.point(Pending::NOTHING);
            }
            None
        })
    }
}

/// The current thread has ended the operation with this number, from 1. Returns the number of the event, if it is one.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn operation_ends(engine: *mut Engine, member: Member, ended: u32) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let seen = engine.explores_time() && member.of > 1;
            seen.then(|| engine.tell_others(member.number, ended))
        })
    }
}

/// Rings a bell, a word that holds 0 from then on: the thread that waits for it may go on. False if the execution follows no graph,
/// and so the caller has to wake the thread in another way.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn ring(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { step_at_bell(engine, bell, Access::Rmw(Rmw::Swap, 0)) }
}

/// Waits for a bell, and silences it. False if the execution follows no graph, and so the caller has to wait in another way.
///
/// # Safety
/// As for [`store`](super::store).
pub unsafe fn hear(engine: *mut Engine, bell: *mut u32) -> bool {
    // SAFETY: the caller's.
    unsafe { step_at_bell(engine, bell, Access::Lock(1)) }
}

unsafe fn step_at_bell(engine: *mut Engine, bell: *mut u32, access: Access) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let follows = (*engine).follows_graph();
        if follows {
            enter(engine, |engine| along_graph::access_within(engine, 0, bell, access, Order::AcqRel));
        }
        follows
    }
}

/// A bell was heard in another way than by [`hear`]: what was done before it rang is known now.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn heard(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, Engine::remember_unseen_synchronisation) };
}

/// Whether the memory model of the execution is weak, so that operations are ordered by what happened before what.
///
/// # Safety
/// As for [`fence`](super::fence).
pub unsafe fn is_without_time(engine: *mut Engine) -> bool {
    // SAFETY: the caller's.
    unsafe {
        match &(*engine).exhaustive {
            Some(graph) => graph.model() == Model::Rc11,
            None => (*engine).is_weak(),
        }
    }
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
            let me = engine.current_id();
            let clock: &dyn Fn(ThreadId) -> u32 = match (&engine.exhaustive, &engine.memory) {
                (Some(graph), _) => &|thread| graph.hb_entry_of_next(me, thread),
                (None, Some(memory)) => &|thread| memory.sync.view(me).clock.get(thread),
                (None, None) => return,
            };
            threads.iter().zip(seen).for_each(|(&thread, seen)| *seen = clock(thread));
        });
    }
}
