//! Time and random bytes.

use crate::execution::Engine;
use crate::execution::clock::Clock;
use crate::left_out::Reason;
use crate::semantics::{dispatch, enter};
use crate::trace::Action;

/// Nanoseconds of the monotonic clock.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn now(engine: *mut Engine) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).time() }
}

/// The current thread yields, in a call that returns to `pc`.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn yield_now(engine: *mut Engine, pc: usize) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.record(|| Action::Yield);
            dispatch!(engine, yield_now(pc));
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
            engine.current().spin.reset();
            dispatch!(engine, sleep_until(deadline));
        });
    }
}

/// The current thread reads the monotonic clock, in a call that returns to `pc`. Returns nanoseconds of virtual time.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn monotonic_time(engine: *mut Engine, pc: usize) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.count_step();
            engine.exploration.left_out.add(Reason::Time);
            dispatch!(engine, read_clock(pc));
            engine.time()
        })
    }
}

/// The real time at a monotonic time.
pub fn real_time(monotonic: u64) -> u64 {
    Clock::real_time(monotonic)
}

/// The monotonic time at a real time.
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
