//! Futexes of graph-driven executions. The queue of waiting threads is a synthetic location: one thread at a time may
//! change the queue, as in the kernel.

use super::synthetic::SyntheticLocation;
use crate::execution::Engine;
use crate::graph::event::{Access, NONE};
use crate::model_checker::Location;
use crate::op::{Order, Rmw, ThreadId};
use crate::thread::{ThreadStatus, Wake};
use crate::trace::{Action, SwitchReason};

/// A futex wait.
pub(super) fn futex_wait(
    engine: &mut Engine,
    word: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    let address = word.addr();
    lock_queue(engine, address);
    let location = || {
        // SAFETY: the caller waits at this word.
        let value = unsafe { word.read_volatile() };
        Some(Location { address, size: 4, value: Some(value.into()) })
    };
    let (value, _) = engine.take_step(Access::Load, Order::Acquire, location, NONE, 0);
    let blocks = value as u32 == expected;
    let timeout = deadline.map(|deadline| deadline.saturating_sub(engine.time()));
    engine.record(|| Action::Wait { address, expected, blocks, timeout });
    if !blocks {
        unlock_queue(engine, address);
        return None;
    }
    let me = engine.current_id();
    if let Some(deadline) = deadline
        && engine.times_out_early(deadline)
    {
        unlock_queue(engine, address);
        engine.record(|| Action::Woken { address, timed_out: true });
        return Some(Wake::TimedOut);
    }
    engine.execution.futexes.wait(me, address, mask);
    engine.current().woken = false;
    unlock_queue(engine, address);
    if !engine.current().woken {
        if let Some(deadline) = deadline {
            engine.execution.clock.sleep(me, deadline);
        }
        engine.block(ThreadStatus::Futex { address, mask }, SwitchReason::Blocked);
    }
    let wake = engine.current().wake;
    match wake {
        Wake::Woken => {
            let waker = engine.current().woken_by;
            engine.take_other_step(Access::Woken, Order::Relaxed, waker);
        }
        Wake::TimedOut => engine.take_other_step(Access::TimedOut, Order::Relaxed, NONE),
    }
    engine.record(|| Action::Woken { address, timed_out: wake == Wake::TimedOut });
    Some(wake)
}

/// Locks the queue of a futex. Threads that the current one wakes go on after this event.
fn lock_queue(engine: &mut Engine, address: usize) -> u32 {
    engine.take_synthetic_step(SyntheticLocation::Queue(address), Access::Lock(1))
}

/// Unlocks the queue of a futex.
fn unlock_queue(engine: &mut Engine, address: usize) {
    engine.take_synthetic_step(SyntheticLocation::Queue(address), Access::Rmw(Rmw::Swap, 0));
}

/// Wakes up to `count` threads; returns how many.
pub(super) fn wake(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    let (number, woken) = wake_threads(engine, address, count, mask);
    engine.record(|| Action::Wake { address, woken });
    number
}

/// Wakes up to `count` threads; returns how many, and who they are if a trace is recorded.
pub(super) fn wake_threads(
    engine: &mut Engine,
    address: usize,
    count: u32,
    mask: u32,
) -> (u32, Vec<ThreadId>) {
    engine.current().woken_by = lock_queue(engine, address);
    let mut woken = engine.wake_waiters(address, count, mask);
    let number = woken.len() as u32;
    if engine.exploration.trace.is_none() {
        // The step that follows may return several times, once per execution, and would free the memory as often.
        woken = Vec::new();
    }
    unlock_queue(engine, address);
    engine.acquire_uninstrumented();
    (number, woken)
}
