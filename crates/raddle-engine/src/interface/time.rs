//! Time, and what else an execution would get from outside.

use super::enter;
use crate::execution::Engine;
use crate::execution::clock::Clock;
use crate::left_out::Reason;
use crate::outcome::Outcome;
use crate::spinloop::watch::{CLOCK, Read};
use crate::thread::State;
use crate::trace::{Action, SwitchReason};

/// Nanoseconds of the monotonic clock.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn now(engine: *mut Engine) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).time() }
}

/// The current thread gives way to the others, in a call that returns to `pc`.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn yield_now(engine: *mut Engine, pc: usize) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.record(|| Action::Yield);
            engine.yield_now(pc);
        });
    }
}

/// The current thread sleeps until this time of the monotonic clock.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn sleep_until(engine: *mut Engine, deadline: u64) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let ns = deadline.saturating_sub(engine.time());
            engine.record(|| Action::Sleep { ns });
            let me = engine.current_id();
            engine.current().spin.reset();
            if engine.follows_graph() {
                // Whoever sleeps may be late, and so may the others. But people take it that after a long sleep the others have
                // done what they could: where other searches follow, that is left to them.
                if !engine.exploration.limits.to_the_letter
                    && engine.execution.alive > 1
                    && !engine.execution.clock.may_hold_up_for(ns)
                {
                    engine.stop(Outcome::Unsupported { thread: me });
                }
                return engine.execution.clock.has_waited(me, deadline);
            }
            engine.note_timeout(Some(deadline));
            engine.execution.clock.sleep(me, deadline);
            engine.block(State::Sleeping, SwitchReason::Sleeping);
        });
    }
}

/// The virtual time: nanoseconds of the monotonic clock.
///
/// Asking again and again is a way to wait, so the answer counts as a read of a place that only time changes.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn monotonic_time(engine: *mut Engine, pc: usize) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.count_step();
            engine.exploration.left_out.add(Reason::Time);
            let now = engine.time();
            match engine.follows_graph() {
                true => engine.poll_clock(),
                false => engine.has_read(Read { pc, address: CLOCK, value: now }),
            }
            engine.time()
        })
    }
}

/// The real-time clock that belongs to a monotonic time.
pub fn real_time(monotonic: u64) -> u64 {
    Clock::real_time(monotonic)
}

/// The monotonic time that a time of the real-time clock stands for.
pub fn from_real_time(real: u64) -> u64 {
    Clock::from_real_time(real)
}

/// Fills a buffer with random bytes that are equal in every execution.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn fill_random(engine: *mut Engine, buffer: &mut [u8]) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.exploration.left_out.add(Reason::RandomBytes);
            let random = &mut engine.current().random;
            for chunk in buffer.chunks_mut(8) {
                chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
            }
        });
    }
}
