//! Virtual time. The clock stands still while any thread can run; when all wait, it jumps to the first deadline.
//!
//! A short sleep may also end while others could run: they are then *held up*, as a busy machine holds threads up. All of that
//! together stays below [`MOST_DELAY`] in an execution, so that whoever waits longer than that waits for the others indeed.

use crate::thread::ThreadId;

/// The virtual clock of an execution and the threads that wait for it.
#[derive(Clone, Debug)]
pub struct Clock {
    now: u64,
    /// Pairs of a deadline and the thread that waits for it, in no order: there are never many.
    sleepers: Vec<(u64, ThreadId)>,
    idle_steps: u32,
    /// How long others were held up so that sleeps could end.
    delay: u64,
    /// How long they can be: less than this.
    most_delay: u64,
}

/// Nanoseconds for which threads can be held up in an execution: less than this.
const MOST_DELAY: u64 = 1_000_000;

/// When every execution begins, in nanoseconds of the monotonic clock: an hour after boot.
const BEGIN: u64 = 3_600_000_000_000;

/// What the real-time clock shows when the monotonic one shows zero: the year 2025.
const EPOCH: u64 = 1_735_689_600_000_000_000;

impl Default for Clock {
    fn default() -> Clock {
        Clock { now: BEGIN, sleepers: Vec::new(), idle_steps: 0, delay: 0, most_delay: MOST_DELAY }
    }
}

impl Clock {
    /// A clock; with `early`, threads can be held up for ever.
    pub fn new(early: bool) -> Clock {
        Clock { most_delay: if early { u64::MAX } else { MOST_DELAY }, ..Clock::default() }
    }

    /// Back to the beginning.
    pub fn reset(&mut self) {
        self.now = BEGIN;
        self.idle_steps = 0;
        self.delay = 0;
        self.sleepers.clear();
    }

    /// Nanoseconds of the monotonic clock.
    pub fn monotonic(&self) -> u64 {
        self.now
    }

    /// Nanoseconds since 1970.
    pub fn real_time(&self) -> u64 {
        EPOCH + self.now
    }

    /// The monotonic time that a real time stands for.
    pub fn from_real_time(&self, real: u64) -> u64 {
        real.saturating_sub(EPOCH)
    }

    /// The thread wants to be woken at this monotonic time.
    pub fn sleep(&mut self, thread: ThreadId, deadline: u64) {
        self.sleepers.push((deadline, thread));
    }

    /// When the thread wants to be woken.
    pub fn deadline(&self, thread: ThreadId) -> Option<u64> {
        self.sleepers.iter().find(|&&(_, sleeper)| sleeper == thread).map(|&(deadline, _)| deadline)
    }

    /// Whether any thread could be woken now if the others are held up.
    #[inline]
    pub fn may_wake_somebody(&self) -> bool {
        !self.sleepers.is_empty() && self.nearly_due().next().is_some()
    }

    /// The threads that could be woken now if the others are held up, in no order.
    pub fn nearly_due(&self) -> impl Iterator<Item = ThreadId> {
        self.sleepers.iter().filter(|&&(deadline, _)| self.is_nearly(deadline)).map(|&(_, thread)| thread)
    }

    /// Whether others can be held up until this time.
    pub fn is_nearly(&self, time: u64) -> bool {
        self.delay.saturating_add(time.saturating_sub(self.now)) < self.most_delay
    }

    /// Holds the others up until the thread's deadline, and forgets that.
    pub fn hold_up(&mut self, thread: ThreadId) {
        let Some(deadline) = self.deadline(thread) else { return };
        self.delay = self.delay.saturating_add(deadline.saturating_sub(self.now));
        self.advance(deadline);
        self.cancel(thread);
    }

    /// Moves on to a time, unless that has passed.
    pub fn advance(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// The thread was woken for another reason.
    pub fn cancel(&mut self, thread: ThreadId) {
        self.sleepers.retain(|&(_, sleeper)| sleeper != thread);
    }

    /// Jumps to the first deadline, if there is one, and hands over every thread whose deadline that is.
    pub fn jump(&mut self, mut wake: impl FnMut(ThreadId)) -> bool {
        let Some(deadline) = self.sleepers.iter().map(|&(deadline, _)| deadline).min() else { return false };
        // A wait that ends at once still takes time, or a loop of such waits would never end.
        self.now = if deadline > self.now { deadline } else { self.now + 1 };
        let now = self.now;
        self.sleepers.retain(|&(deadline, thread)| {
            let due = deadline <= now;
            if due {
                wake(thread);
            }
            !due
        });
        true
    }

    /// Lets some time pass although nobody waits for it, because threads spin and may look at the clock: first a
    /// microsecond, then ever more.
    pub fn drift(&mut self) {
        self.now += 1_000 << self.idle_steps.min(30);
        self.idle_steps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_to_the_first_deadline_and_wakes_all_that_are_due() {
        let mut clock = Clock::default();
        let begin = clock.monotonic();
        clock.sleep(1, begin + 20);
        clock.sleep(2, begin + 10);
        clock.sleep(3, begin + 10);
        let mut woken = Vec::new();
        assert!(clock.jump(|thread| woken.push(thread)));
        assert_eq!((woken.as_slice(), clock.monotonic()), (&[2, 3][..], begin + 10));
        clock.cancel(1);
        assert!(!clock.jump(|_| ()));
    }

    #[test]
    fn threads_are_held_up_for_less_than_a_while_in_all() {
        let mut clock = Clock::default();
        let begin = clock.monotonic();
        let nearly_due = |clock: &Clock| clock.nearly_due().collect::<Vec<_>>();
        clock.sleep(1, begin + MOST_DELAY / 2);
        clock.sleep(2, begin + MOST_DELAY);
        assert_eq!(nearly_due(&clock), [1]);
        clock.hold_up(1);
        assert_eq!((clock.monotonic(), nearly_due(&clock)), (begin + MOST_DELAY / 2, vec![]));
        clock.sleep(3, begin);
        assert_eq!(nearly_due(&clock), [3], "what is due already holds nobody up");
    }
}
