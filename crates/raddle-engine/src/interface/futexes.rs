//! Waiting at an address, and waking those who do.

use super::{along_graph, at, enter};
use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::left_out::Reason;
use crate::op::{Effect, Pending, ThreadId};
use crate::outcome::Outcome;
use crate::thread::{State, Wake};
use crate::trace::{Action, SwitchReason};

/// The current thread waits at `place` until it is woken, if the place holds `expected`.
///
/// `deadline` is a time of the monotonic clock. Returns how the wait ended; none if the value was another.
///
/// # Safety
/// As for [`super::load`].
pub unsafe fn futex_wait(
    engine: *mut Engine,
    place: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let address = place.addr();
            if engine.follows_graph() {
                return along_graph::futex_wait(engine, place, expected, mask, deadline);
            }
            engine.point(Pending { address, effect: Effect::Write });
            engine.reach(at(place), AccessKind::AtomicRead);
            let blocks = place.read_volatile() == expected;
            let now = engine.time();
            engine.record(|| Action::Wait {
                address,
                expected,
                blocks,
                timeout: deadline.map(|deadline| deadline.saturating_sub(now)),
            });
            if !blocks {
                engine.remember_unseen_synchronisation();
                return None;
            }
            engine.current().spin.reset();
            if std::mem::take(&mut engine.current().in_condvar_wait) && engine.wakes_spuriously() {
                engine.remember_unseen_synchronisation();
                return Some(Wake::Woken);
            }
            let me = engine.current_id();
            engine.execution.futexes.wait(me, address, mask);
            engine.note_timeout(deadline);
            if let Some(deadline) = deadline {
                engine.execution.clock.sleep(me, deadline);
            }
            engine.block(State::Futex { address, mask }, SwitchReason::Blocked);
            engine.remember_unseen_synchronisation();
            let wake = engine.current().wake;
            engine.record(|| Action::Woken { address, timed_out: wake == Wake::TimedOut });
            Some(wake)
        })
    }
}

/// Wakes up to `count` threads that wait at the address; returns how many.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn futex_wake(engine: *mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| wake_at(engine, address, count, mask)) }
}

pub(super) fn wake_at(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    point_at_queue(engine, address);
    let mut woken = wake_waiters(engine, address, count, mask);
    let number = woken.len() as u32;
    if engine.exploration.trace.is_none() {
        // The step that follows may return several times, in as many executions.
        woken = Vec::new();
    }
    leave_queue(engine, address);
    engine.remember_unseen_synchronisation();
    engine.record(|| Action::Wake { address, woken });
    number
}

/// Wakes up to `wake` threads at `from` and lets up to `requeue` others wait at `to` from now on. Returns how many were
/// woken and how many moved.
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
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                let thread = engine.current_id();
                engine.stop(Outcome::Unsupported { thread });
            }
            point_at_queue(engine, from);
            let woken = wake_waiters(engine, from, wake, !0);
            let mut moved = Vec::new();
            engine.execution.futexes.requeue(from, to, requeue, |thread| moved.push(thread));
            for &thread in &moved {
                if let State::Futex { address, .. } = &mut engine.threads[usize::from(thread)].state {
                    *address = to;
                }
            }
            engine.record(|| Action::Wake { address: from, woken: woken.clone() });
            (woken.len() as u32, moved.len() as u32)
        })
    }
}

fn point_at_queue(engine: &mut Engine, address: usize) {
    match engine.follows_graph() {
        true => engine.current().woken_by = along_graph::lock_queue(engine, address),
        false => engine.point(Pending { address, effect: Effect::Write }),
    }
}

fn leave_queue(engine: &mut Engine, address: usize) {
    if engine.follows_graph() {
        along_graph::unlock_queue(engine, address);
    }
}

fn wake_waiters(engine: &mut Engine, address: usize, count: u32, mask: u32) -> Vec<ThreadId> {
    let mut woken = Vec::new();
    if engine.execution.futexes.waiters(address, mask) > count as usize {
        engine.exploration.left_out.add(Reason::WakeOrders);
    }
    engine.execution.futexes.wake(address, count, mask, |thread| woken.push(thread));
    let waker = engine.current().woken_by;
    for &thread in &woken {
        engine.threads[usize::from(thread)].woken_by = waker;
        engine.threads[usize::from(thread)].woken = true;
        engine.execution.clock.cancel(thread);
        engine.unblock(thread, Wake::Woken);
    }
    engine.current().spin.reset();
    woken
}
