//! Virtual time. The clock stands still while any thread can run; when all wait, it jumps to the first deadline.
//!
//! A short sleep may also end while others could run: they are then *held up*, as a busy machine holds threads up. All of that
//! together stays below [`MOST_DELAY`] in an execution, so that whoever waits longer than that waits for the others indeed.
//!
//! Along an execution graph each thread has a time of its own ([`Clock::apart`]), because the order of events that have nothing to
//! do with each other must not matter: a sleep makes it later for the thread that slept, and for those who learn of what it did
//! afterwards. When nobody can go on, time passes for all.

use crate::in_place::in_place;
use crate::op::ThreadId;

in_place! {
    /// The virtual clock of an execution and the threads that wait for it.
    #[derive(Debug)]
    pub struct Clock {
        now: u64,
        /// Pairs of a deadline and the thread that waits for it, in no order: there are never many.
        sleepers: Vec<(u64, ThreadId)>,
        idle_steps: u32,
        /// How long others were held up so that sleeps could end.
        delay: u64,
        /// How long they can be: less than this.
        most_delay: u64,
        /// Whether each thread has a time of its own.
        apart: bool,
        /// Which time it is for each thread, then, if that is later than `now`.
        own: Vec<u64>,
        /// The same for the thread that made an event, by the event's number.
        at_events: Vec<u64>,
    }
}

/// Nanoseconds for which threads can be held up in an execution: less than this.
const MOST_DELAY: u64 = 1_000_000;

/// When every execution begins, in nanoseconds of the monotonic clock: an hour after boot.
const BEGIN: u64 = 3_600_000_000_000;

/// What the real-time clock shows when the monotonic one shows zero: the year 2025.
const EPOCH: u64 = 1_735_689_600_000_000_000;

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            now: BEGIN,
            sleepers: Vec::new(),
            idle_steps: 0,
            delay: 0,
            most_delay: MOST_DELAY,
            apart: false,
            own: Vec::new(),
            at_events: Vec::new(),
        }
    }
}

impl Clock {
    /// A clock; with `early`, threads can be held up for ever; if `apart`, each thread has a time of its own.
    pub fn new(early: bool, apart: bool) -> Clock {
        Clock { most_delay: if early { u64::MAX } else { MOST_DELAY }, apart, ..Clock::default() }
    }

    /// Nanoseconds of the monotonic clock, for a thread.
    pub fn monotonic(&self, thread: ThreadId) -> u64 {
        self.now.max(self.own_of(thread))
    }

    fn own_of(&self, thread: ThreadId) -> u64 {
        self.own.get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// The thread has waited until a time of the monotonic clock, unless that had passed. Others need not know.
    pub fn has_waited(&mut self, thread: ThreadId, until: u64) {
        if self.apart {
            self.catch_up(thread, until);
        } else {
            self.now = self.now.max(until);
        }
    }

    /// It is at least that late for a thread.
    fn catch_up(&mut self, thread: ThreadId, time: u64) {
        let index = usize::from(thread);
        if time > 0 && self.own.len() <= index {
            self.own.resize(index + 1, 0);
        }
        if let Some(own) = self.own.get_mut(index) {
            *own = time.max(*own);
        }
    }

    /// Whether it is the same time for all threads.
    #[inline]
    pub fn is_one(&self) -> bool {
        self.own.is_empty()
    }

    /// A thread has learned of what another one did last.
    pub fn follow_thread(&mut self, thread: ThreadId, other: ThreadId) {
        self.catch_up(thread, self.own_of(other));
    }

    /// A thread has made an event of this number, which shows the work of another one.
    pub fn follow_event(&mut self, thread: ThreadId, event: u32, source: u32) {
        self.catch_up(thread, self.at_events.get(source as usize).copied().unwrap_or(0));
        self.at_events.resize(event as usize, 0);
        self.at_events.push(self.own_of(thread));
    }

    /// The real time that a monotonic time stands for: nanoseconds since 1970.
    pub fn real_time(monotonic: u64) -> u64 {
        EPOCH + monotonic
    }

    /// The monotonic time that a real time stands for.
    pub fn from_real_time(real: u64) -> u64 {
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
        self.may_hold_up_for(time.saturating_sub(self.now))
    }

    /// Whether others can be held up for so long.
    pub fn may_hold_up_for(&self, time: u64) -> bool {
        self.delay.saturating_add(time) < self.most_delay
    }

    /// Holds the others up until the thread's deadline, and forgets that.
    pub fn hold_up(&mut self, thread: ThreadId) {
        let Some(deadline) = self.deadline(thread) else { return };
        self.cancel(thread);
        // Apart, it did not hold anybody up: nobody could go on when its time came, in the execution that is made again.
        if !self.apart {
            self.delay = self.delay.saturating_add(deadline.saturating_sub(self.now));
        }
        self.now = self.now.max(deadline);
        self.has_timed_out(thread, deadline);
    }

    /// The wait of a thread has ended at its deadline. If that was at once, it still took time, or a loop of such waits would never end.
    fn has_timed_out(&mut self, thread: ThreadId, deadline: u64) {
        if self.apart {
            self.catch_up(thread, deadline.max(self.own_of(thread) + 1));
        }
    }

    /// The thread was woken for another reason.
    pub fn cancel(&mut self, thread: ThreadId) {
        self.sleepers.retain(|&(_, sleeper)| sleeper != thread);
    }

    /// Jumps to the first deadline, if there is one, and hands over every thread whose deadline that is. Apart, one of them: the others
    /// wait until nobody can go on again, and may be woken before that, as in every execution that follows the same graph.
    pub fn jump(&mut self, mut wake: impl FnMut(ThreadId)) -> bool {
        let Some(&(deadline, first)) = self.sleepers.iter().min() else { return false };
        // A wait that ends at once still takes time, or a loop of such waits would never end.
        self.now = deadline.max(self.now + 1);
        if self.apart {
            self.cancel(first);
            self.has_timed_out(first, deadline);
            wake(first);
            return true;
        }
        let mut sleepers = std::mem::take(&mut self.sleepers);
        sleepers.retain(|&(deadline, thread)| {
            let due = deadline <= self.now;
            if due {
                wake(thread);
            }
            !due
        });
        self.sleepers = sleepers;
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
        let begin = clock.monotonic(0);
        clock.sleep(1, begin + 20);
        clock.sleep(2, begin + 10);
        clock.sleep(3, begin + 10);
        let mut woken = Vec::new();
        assert!(clock.jump(|thread| woken.push(thread)));
        assert_eq!((woken.as_slice(), clock.monotonic(0)), (&[2, 3][..], begin + 10));
        clock.cancel(1);
        assert!(!clock.jump(|_| ()));
    }

    #[test]
    fn threads_apart_learn_of_time_by_events() {
        let mut clock = Clock::new(false, true);
        let begin = clock.monotonic(0);
        let times = |clock: &Clock| [0, 1, 2].map(|thread| clock.monotonic(thread) - begin);
        clock.has_waited(2, begin + 10);
        assert_eq!(times(&clock), [0, 0, 10]);
        clock.follow_event(2, 7, u32::MAX);
        clock.follow_event(0, 8, 7);
        assert_eq!(times(&clock), [10, 0, 10]);
        clock.follow_event(0, 9, 3);
        clock.follow_thread(1, 0);
        assert_eq!(times(&clock), [10, 10, 10]);
        // Time passes for all when nobody can go on.
        clock.sleep(1, begin + 20);
        assert!(clock.jump(|thread| assert_eq!(thread, 1)));
        assert_eq!(times(&clock), [20, 20, 20]);
        clock.has_waited(2, begin + 30);
        clock.sleep(2, begin + 30);
        assert!(clock.jump(|thread| assert_eq!(thread, 2)));
        assert_eq!(times(&clock), [30, 30, 31], "a wait takes time");
        let mut woken = Vec::new();
        clock.sleep(2, begin + 40);
        clock.sleep(1, begin + 40);
        while clock.jump(|thread| woken.push(thread)) {
            woken.push(ThreadId::MAX);
        }
        assert_eq!(woken, [1, ThreadId::MAX, 2, ThreadId::MAX], "one at a time");
    }

    #[test]
    fn threads_are_held_up_for_less_than_a_while_in_all() {
        let mut clock = Clock::default();
        let begin = clock.monotonic(0);
        let nearly_due = |clock: &Clock| clock.nearly_due().collect::<Vec<_>>();
        clock.sleep(1, begin + MOST_DELAY / 2);
        clock.sleep(2, begin + MOST_DELAY);
        assert_eq!(nearly_due(&clock), [1]);
        clock.hold_up(1);
        assert_eq!((clock.monotonic(0), nearly_due(&clock)), (begin + MOST_DELAY / 2, vec![]));
        clock.sleep(3, begin);
        assert_eq!(nearly_due(&clock), [3], "what is due already holds nobody up");
    }
}
