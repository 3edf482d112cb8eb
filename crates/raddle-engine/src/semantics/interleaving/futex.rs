//! Futexes of interleavings.

use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::location_table::MemoryLocation;
use crate::op::{Effect, Pending, ThreadId};
use crate::thread::{ThreadStatus, Wake};
use crate::trace::{Action, SwitchReason};

/// Waits at a futex: see [`Semantics::futex_wait`](crate::semantics::Semantics::futex_wait).
///
/// # Safety
/// The word must be valid for reads.
pub(super) unsafe fn wait(
    engine: &mut Engine,
    word: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    let address = word.addr();
    engine.recognise_no_more();
    engine.point(Pending { address, effect: Effect::Write });
    engine.reach(MemoryLocation { address, size: 4 }, AccessKind::AtomicRead);
    // SAFETY: the caller's.
    let blocks = unsafe { word.read_volatile() } == expected;
    let now = engine.time();
    let timeout = deadline.map(|deadline| deadline.saturating_sub(now));
    engine.record(|| Action::Wait { address, expected, blocks, timeout });
    if !blocks {
        engine.acquire_uninstrumented();
        return None;
    }
    engine.current().spin.reset();
    if std::mem::take(&mut engine.current().in_condvar_wait) && engine.wakes_spuriously() {
        engine.acquire_uninstrumented();
        return Some(Wake::Woken);
    }
    let me = engine.current_id();
    engine.execution.futexes.wait(me, address, mask);
    if let Some(deadline) = deadline {
        let is_explored = engine.execution.clock.may_delay_until(deadline);
        engine.leave_out_unexplored_timeout(is_explored);
        engine.execution.clock.sleep(me, deadline);
    }
    engine.block(ThreadStatus::Futex { address, mask }, SwitchReason::Blocked);
    engine.acquire_uninstrumented();
    let wake = engine.current().wake;
    engine.record(|| Action::Woken { address, timed_out: wake == Wake::TimedOut });
    Some(wake)
}

/// Wakes up to `count` threads; returns how many.
pub(super) fn wake(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    engine.recognise_no_more();
    engine.point(Pending { address, effect: Effect::Write });
    let woken = engine.wake_waiters(address, count, mask);
    let number = woken.len() as u32;
    engine.acquire_uninstrumented();
    engine.record(|| Action::Wake { address, woken });
    number
}

/// Wakes up to `wake` threads at one futex and moves up to `requeue` others to another; returns how many.
pub(super) fn requeue(engine: &mut Engine, from: usize, to: usize, wake: u32, requeue: u32) -> (u32, u32) {
    engine.recognise_no_more();
    engine.point(Pending { address: from, effect: Effect::Write });
    let woken = engine.wake_waiters(from, wake, !0);
    let mut moved: Vec<ThreadId> = Vec::new();
    engine.execution.futexes.requeue(from, to, requeue, |thread| moved.push(thread));
    for &thread in &moved {
        if let ThreadStatus::Futex { address, .. } = &mut engine.threads[usize::from(thread)].status {
            *address = to;
        }
    }
    let counts = (woken.len() as u32, moved.len() as u32);
    engine.record(|| Action::Wake { address: from, woken });
    counts
}
