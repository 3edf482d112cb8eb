//! Random delays, which vary how the executions of actors overlap.
//!
//! Actors that sweep the same instances at the same speed stay at the distance they began with. A delay before a stride shifts one
//! against the other; delays between instances, and inside them where [`pause_point`] is called, let the distance drift.

use std::cell::Cell;
use std::hint::black_box;

use crate::rng::Rng;

thread_local! {
    /// State of the generator of pauses inside operations. 0 means that there are none.
    static PAUSES: Cell<u64> = const { Cell::new(0) };
}

/// A place inside an operation where a delay may be inserted. Costs a nanosecond where none is.
///
/// Call it between the operations of an actor that makes several. Outside the harness it does nothing.
///
/// ```
/// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// fn transfer(from: &AtomicU32, to: &AtomicU32) {
///     let taken = from.swap(0, Relaxed);
///     raddle_stress::pause_point();
///     to.fetch_add(taken, Relaxed);
/// }
/// transfer(&AtomicU32::new(1), &AtomicU32::new(0));
/// ```
#[inline]
pub fn pause_point() {
    let state = PAUSES.get();
    if state != 0 {
        pause(state);
    }
}

/// Delays in one of four calls, mostly short ones, rarely as long as a transfer of many cache lines.
#[cold]
fn pause(mut state: u64) {
    // Xorshift: never 0, so that pauses stay on.
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    PAUSES.set(state);
    if state & 3 == 0 {
        let longest = if state & 0x3c == 0 { 0x3ff } else { 0x3f };
        spin((state >> 32) & longest);
    }
}

/// Executes about `steps` instructions that depend on each other: finer than the processor's pause, which takes a hundred cycles.
#[inline]
pub(crate) fn spin(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

/// Delays of one actor in one stride.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// Steps before the first instance.
    before: u64,
    /// The steps between two instances are random, at most this; a power of 2 less 1. 0 means none.
    pub(crate) between: u64,
    rng: Rng,
}

impl Delays {
    pub(crate) fn none(rng: Rng) -> Delays {
        Delays { before: 0, between: 0, rng }
    }

    /// Draws the delays of the next stride: half of them have none, because those are the fastest.
    pub(crate) fn draw(&mut self) {
        (self.before, self.between) = (0, 0);
        let dice = self.rng.next();
        match dice & 7 {
            0..4 => {}
            4..6 => self.before = (dice >> 32) & 0x3ff,
            6 => self.between = 0xf,
            _ => self.between = 0x7f,
        }
        let inside = if self.between == 0 { 0 } else { self.rng.next() | 1 };
        PAUSES.set(inside);
    }

    /// Waits before the first instance of a stride.
    pub(crate) fn begin(&self) {
        spin(self.before);
    }

    /// Waits before the next instance.
    #[inline]
    pub(crate) fn pass(&mut self) {
        spin(self.rng.next() & self.between);
    }

    /// Ends the stride: code outside actors is not delayed.
    pub(crate) fn end(&self) {
        PAUSES.set(0);
    }
}
