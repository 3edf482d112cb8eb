//! A place where all threads of a session wait for each other, without system calls where possible.
//!
//! Arrivals are counted for ever and never reset: the threads of round `n` have all arrived when the count is at least `n` times
//! their number. So a thread that is early in the next round disturbs nobody.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::yield_now;

/// How a thread waits for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spin {
    /// The processor's hint for spinloops, and yields after a while. Yields at once if there are more actors than processors.
    #[default]
    Adaptive,
    /// Nothing but loads: the shortest time between the last arrival and the first step.
    Hard,
    /// The processor's hint for spinloops.
    Hint,
    /// A yield to other threads of the processor after each load.
    Yield,
}

/// Spins before an adaptive wait begins to yield: about a tenth of a millisecond, more than a stride takes.
const PATIENCE: u32 = 1 << 12;

/// Spins between two looks at whether the session was abandoned.
const LOOKS: u32 = 1 << 6;

/// A value with cache lines of its own. Two lines, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// The meeting point of the threads of a session.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    arrived: Padded<AtomicU64>,
    abandoned: Padded<AtomicBool>,
    threads: u64,
    spin: Spin,
}

/// The session was abandoned: somebody will never arrive.
#[derive(Debug)]
pub(crate) struct Abandoned;

impl Rendezvous {
    pub(crate) fn new(threads: usize, spin: Spin) -> Rendezvous {
        Rendezvous { arrived: Padded::default(), abandoned: Padded::default(), threads: threads as u64, spin }
    }

    /// Waits until all threads have arrived in this `round`, and counts it. What they did before happens before what any does after.
    pub(crate) fn meet(&self, round: &mut u64) -> Result<(), Abandoned> {
        *round += 1;
        let all = *round * self.threads;
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 >= all {
            return Ok(());
        }
        let mut spins = 0u32;
        while self.arrived.0.load(Ordering::Acquire) < all {
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(LOOKS) && self.is_abandoned() {
                return Err(Abandoned);
            }
            match self.spin {
                Spin::Hard => {}
                Spin::Hint => spin_loop(),
                Spin::Yield => yield_now(),
                Spin::Adaptive if spins < PATIENCE => spin_loop(),
                Spin::Adaptive => yield_now(),
            }
        }
        Ok(())
    }

    /// Lets all threads leave that wait, now or later.
    pub(crate) fn abandon(&self) {
        self.abandoned.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn check(spin: Spin, threads: usize) {
        let rendezvous = Rendezvous::new(threads, spin);
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut round = 0;
                    for turn in 1..=200 {
                        inside.fetch_add(1, Ordering::Relaxed);
                        rendezvous.meet(&mut round).unwrap();
                        assert!(inside.load(Ordering::Relaxed) >= turn * threads);
                        rendezvous.meet(&mut round).unwrap();
                    }
                });
            }
        });
        assert_eq!(inside.load(Ordering::Relaxed), 200 * threads);
    }

    #[test]
    fn nobody_goes_on_before_all_have_arrived() {
        check(Spin::Adaptive, 2);
        check(Spin::Yield, 5);
        check(Spin::Hint, 2);
        check(Spin::Hard, 2);
    }

    #[test]
    fn an_abandoned_rendezvous_lets_everybody_leave() {
        let rendezvous = Rendezvous::new(2, Spin::Adaptive);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| rendezvous.meet(&mut 0).is_err());
            rendezvous.abandon();
            assert!(waits.join().unwrap());
        });
    }
}
