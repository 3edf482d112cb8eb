//! Time, and what else an execution would get from outside.

use super::enter;
use crate::engine::{Engine, Outcome};
use crate::left_out::Reason;
use crate::spin::{CLOCK, Read};
use crate::thread::State;
use crate::trace::{Action, SwitchReason};

/// Nanoseconds of the monotonic clock.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn now(engine: *mut Engine) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.monotonic() }
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
            let ns = deadline.saturating_sub(engine.clock.monotonic());
            engine.record(|| Action::Sleep { ns });
            let me = engine.current_id();
            engine.current().spin.reset();
            if engine.follows_graph() {
                // Whoever sleeps may be late, and so may the others. But people take it that after a long sleep the others have
                // done what they could: where other searches follow, that is left to them.
                if !engine.limits.to_the_letter && engine.alive > 1 && !engine.clock.is_nearly(deadline) {
                    engine.stop(Outcome::Unsupported { thread: me });
                }
                return engine.clock.advance(deadline);
            }
            engine.note_timeout(Some(deadline));
            engine.clock.sleep(me, deadline);
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
            engine.left_out.add(Reason::Time);
            let now = engine.clock.monotonic();
            engine.has_read(Read { pc, address: CLOCK, value: now });
            engine.clock.monotonic()
        })
    }
}

/// The real-time clock that belongs to a monotonic time.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn real_time(engine: *mut Engine, monotonic: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.real_time() - (*engine).clock.monotonic() + monotonic }
}

/// The monotonic time that a time of the real-time clock stands for.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn from_real_time(engine: *mut Engine, real: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.from_real_time(real) }
}

/// Fills a buffer with random bytes that are equal in every execution.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn fill_random(engine: *mut Engine, buffer: &mut [u8]) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.left_out.add(Reason::RandomBytes);
            let random = &mut engine.current().random;
            for chunk in buffer.chunks_mut(8) {
                chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
            }
        });
    }
}
