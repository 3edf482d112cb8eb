//! Events of an execution that follows an execution graph.

use super::{Caller, Int, enter};
use crate::engine::{Engine, Outcome, Shared};
use crate::event::Order;
use crate::graph::Location;
use crate::graph::event::{Access, NONE};
use crate::thread::{Start, State, ThreadId, Wake};
use crate::trace::{Action, SwitchReason};

/// An access to memory; returns what it reads. `action` tells what to record, given that and what memory held (for a store:
/// holds then).
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
    action: impl FnOnce(T, T) -> Action,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let thread = engine.current_id();
            if size_of::<T>() > size_of::<u64>() {
                engine.stop(Outcome::MixedSize { thread });
            }
            let location = || {
                let value = Some(place.read_volatile().widen() as u64);
                Some(Location { address: place.addr(), size: size_of::<T>() as u8, value })
            };
            let (read, write) = engine.take_step(access, order, location, NONE, caller.pc);
            let held = place.read_volatile();
            if let Some(value) = write {
                place.write_volatile(T::narrow(value.into()));
            }
            let read = T::narrow(read.into());
            let newest = if matches!(access, Access::Store(_)) { place.read_volatile() } else { held };
            engine.record(|| action(read, newest));
            read
        })
    }
}

/// A futex wait.
pub(super) fn futex_wait(
    engine: &mut Engine,
    place: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    let address = place.addr();
    engine.take_shared_step(Shared::Queue(address));
    // SAFETY: the caller waits at this word.
    let location =
        || Some(Location { address, size: 4, value: Some(unsafe { place.read_volatile() }.into()) });
    let (value, _) = engine.take_step(Access::Load, Order::Acquire, location, NONE, 0);
    let blocks = value as u32 == expected;
    let timeout = deadline.map(|deadline| deadline.saturating_sub(engine.clock.monotonic()));
    engine.record(|| Action::Wait { address, expected, blocks, timeout });
    if !blocks {
        return None;
    }
    let me = engine.current_id();
    engine.futexes.wait(me, address, mask);
    if let Some(deadline) = deadline {
        engine.clock.sleep(me, deadline);
    }
    engine.block(State::Futex { address, mask }, SwitchReason::Blocked);
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

/// Before a step at the queue of those who wait at an address. Threads that it wakes go on after this event.
pub(super) fn at_queue(engine: &mut Engine, address: usize) -> u32 {
    engine.take_shared_step(Shared::Queue(address))
}

/// Makes a thread.
pub(super) fn spawn(engine: &mut Engine, start: Start) -> ThreadId {
    let child = engine.next_child();
    engine.take_other_step(Access::Spawn(child), Order::Relaxed, NONE);
    engine.make_thread_with_number(child.into(), start)
}

/// A thread that was waited for has ended.
pub(super) fn joined(engine: &mut Engine, thread: ThreadId) {
    let last = engine.last_event_of(thread);
    engine.take_other_step(Access::Join(thread), Order::Relaxed, last);
}
