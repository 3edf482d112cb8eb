//! Virtual time. The clock stands still while any thread is runnable; when all wait, it jumps to the first deadline.
//!
//! A short sleep may also end while other threads are runnable: they are then *delayed*, as by a busy machine. The
//! delays of an execution stay below [`MOST_DELAY`] in total, so that a thread which waits longer than that does wait
//! for the others.
//!
//! In a graph-driven execution each thread has a time of its own (`per_thread`), because the order of independent
//! events must not matter: a sleep advances the time of the thread that slept, and of threads that observe its later
//! events. When no thread can go on, time passes for all.

use crate::in_place::in_place;
use crate::op::ThreadId;

in_place! {
    /// The virtual clock of an execution and its sleeping threads.
    #[derive(Debug)]
    pub struct Clock {
        now: u64,
        /// Pairs of a deadline and a thread, in no order: there are never many.
        sleepers: Vec<(u64, ThreadId)>,
        idle_steps: u32,
        /// Total delay of threads in favour of sleeping ones.
        delay: u64,
        /// Limit of the total delay (exclusive).
        most_delay: u64,
        /// Whether each thread has a time of its own.
        per_thread: bool,
        /// The times of threads, where they are later than `now`.
        thread_times: Vec<u64>,
        /// The time of the thread that made an event, by the event's number.
        at_events: Vec<u64>,
    }
}

/// Limit of the total delay of an execution (exclusive), in nanoseconds.
const MOST_DELAY: u64 = 1_000_000;

/// Begin of every execution, in nanoseconds of the monotonic clock: an hour after boot.
const BEGIN: u64 = 3_600_000_000_000;

/// Real time at monotonic time zero: the year 2025.
const EPOCH: u64 = 1_735_689_600_000_000_000;

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            now: BEGIN,
            sleepers: Vec::new(),
            idle_steps: 0,
            delay: 0,
            most_delay: MOST_DELAY,
            per_thread: false,
            thread_times: Vec::new(),
            at_events: Vec::new(),
        }
    }
}

impl Clock {
    /// A clock. With `early`, delays are unlimited; with `per_thread`, each thread has a time of its own.
    pub fn new(early: bool, per_thread: bool) -> Clock {
        Clock { most_delay: if early { u64::MAX } else { MOST_DELAY }, per_thread, ..Clock::default() }
    }

    /// The monotonic time of a thread, in nanoseconds.
    pub fn monotonic(&self, thread: ThreadId) -> u64 {
        self.now.max(self.thread_time(thread))
    }

    fn thread_time(&self, thread: ThreadId) -> u64 {
        self.thread_times.get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// Advances the time of a thread that waited, or of all threads if they share one.
    pub fn has_waited(&mut self, thread: ThreadId, until: u64) {
        if self.per_thread {
            self.advance_thread(thread, until);
        } else {
            self.now = self.now.max(until);
        }
    }

    /// Advances the time of a thread to at least `time`.
    fn advance_thread(&mut self, thread: ThreadId, time: u64) {
        let index = usize::from(thread);
        if time > 0 && self.thread_times.len() <= index {
            self.thread_times.resize(index + 1, 0);
        }
        if let Some(own) = self.thread_times.get_mut(index) {
            *own = time.max(*own);
        }
    }

    /// Whether all threads have the same time.
    #[inline]
    pub fn is_global(&self) -> bool {
        self.thread_times.is_empty()
    }

    /// A thread has observed the latest event of another: its time is not earlier.
    pub fn follow_thread(&mut self, thread: ThreadId, other: ThreadId) {
        self.advance_thread(thread, self.thread_time(other));
    }

    /// A thread has made an event that observes the event `source`: its time is not earlier than the source's.
    pub fn follow_event(&mut self, thread: ThreadId, event: u32, source: u32) {
        self.advance_thread(thread, self.at_events.get(source as usize).copied().unwrap_or(0));
        self.at_events.resize(event as usize, 0);
        self.at_events.push(self.thread_time(thread));
    }

    /// The real time at a monotonic time, in nanoseconds since 1970.
    pub fn real_time(monotonic: u64) -> u64 {
        EPOCH + monotonic
    }

    /// The monotonic time at a real time.
    pub fn from_real_time(real: u64) -> u64 {
        real.saturating_sub(EPOCH)
    }

    /// Sets the deadline of a thread, in monotonic time.
    pub fn sleep(&mut self, thread: ThreadId, deadline: u64) {
        self.sleepers.push((deadline, thread));
    }

    /// The deadline of a thread.
    pub fn deadline(&self, thread: ThreadId) -> Option<u64> {
        self.sleepers.iter().find(|&&(_, sleeper)| sleeper == thread).map(|&(deadline, _)| deadline)
    }

    /// Whether a sleeping thread could be woken now by delaying the others.
    #[inline]
    pub fn may_wake_early(&self) -> bool {
        !self.sleepers.is_empty() && self.within_delay().next().is_some()
    }

    /// The sleeping threads that could be woken now by delaying the others, in no order.
    pub fn within_delay(&self) -> impl Iterator<Item = ThreadId> {
        self.sleepers
            .iter()
            .filter(|&&(deadline, _)| self.may_delay_until(deadline))
            .map(|&(_, thread)| thread)
    }

    /// Whether threads can be delayed until this time.
    pub fn may_delay_until(&self, time: u64) -> bool {
        self.may_delay_for(time.saturating_sub(self.now))
    }

    /// Whether threads can be delayed for this long.
    pub fn may_delay_for(&self, time: u64) -> bool {
        self.delay.saturating_add(time) < self.most_delay
    }

    /// Delays the other threads until the thread's deadline, and removes the deadline.
    pub fn delay_others(&mut self, thread: ThreadId) {
        let Some(deadline) = self.deadline(thread) else { return };
        self.cancel(thread);
        // With a time per thread, nothing is delayed: no thread could go on when the deadline came, in the execution
        // that is repeated.
        if !self.per_thread {
            self.delay = self.delay.saturating_add(deadline.saturating_sub(self.now));
        }
        self.now = self.now.max(deadline);
        self.has_timed_out(thread, deadline);
    }

    /// Ends the wait of a thread at its deadline. A wait that ends at once takes time, too, or a loop of such waits
    /// would never end.
    fn has_timed_out(&mut self, thread: ThreadId, deadline: u64) {
        if self.per_thread {
            self.advance_thread(thread, deadline.max(self.thread_time(thread) + 1));
        }
    }

    /// Removes the deadline of a thread that was woken for another reason.
    pub fn cancel(&mut self, thread: ThreadId) {
        self.sleepers.retain(|&(_, sleeper)| sleeper != thread);
    }

    /// Jumps to the first deadline, if there is one, and wakes every thread that is due. With a time per thread, wakes
    /// one of them: the others wait until no thread can go on again, and may be woken before, as in every execution of
    /// the same graph.
    pub fn jump(&mut self, mut wake: impl FnMut(ThreadId)) -> bool {
        let Some(&(deadline, first)) = self.sleepers.iter().min() else { return false };
        // A wait that ends at once still takes time, or a loop of such waits would never end.
        self.now = deadline.max(self.now + 1);
        if self.per_thread {
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

    /// Advances the time although no thread sleeps, because threads spin and may read the clock: first by a
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
    fn threads_learn_of_time_by_events() {
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
        // Time passes for all when no thread can go on.
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
    fn threads_are_delayed_for_less_than_the_limit_in_all() {
        let mut clock = Clock::default();
        let begin = clock.monotonic(0);
        let within_delay = |clock: &Clock| clock.within_delay().collect::<Vec<_>>();
        clock.sleep(1, begin + MOST_DELAY / 2);
        clock.sleep(2, begin + MOST_DELAY);
        assert_eq!(within_delay(&clock), [1]);
        clock.delay_others(1);
        assert_eq!((clock.monotonic(0), within_delay(&clock)), (begin + MOST_DELAY / 2, vec![]));
        clock.sleep(3, begin);
        assert_eq!(within_delay(&clock), [3], "what is due already holds nobody up");
    }
}
