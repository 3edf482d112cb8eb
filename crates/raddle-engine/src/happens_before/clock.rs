//! Vector clocks.
//!
//! Most programs under test have two to sixteen threads: their times lie in the clock itself, those of further threads
//! in a vector that is empty otherwise, so that copying and joining small clocks touches no allocator.

use crate::op::ThreadId;

/// A time of one thread: the number of its releases. A thread begins at [`FIRST`].
pub type Time = u32;

/// The first time of every thread. Events at time 0 happened before everything.
pub const FIRST: Time = 1;

/// Threads whose times lie in the clock itself.
const NEAR: usize = 16;

/// A vector clock: for each thread, the latest time that happened before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Clock {
    near: [Time; NEAR],
    /// Times of the threads from [`NEAR`] on; missing ones are 0.
    far: Vec<Time>,
}

impl Clock {
    /// The latest known time of a thread.
    #[inline]
    pub fn get(&self, thread: ThreadId) -> Time {
        let index = usize::from(thread);
        match self.near.get(index) {
            Some(&time) => time,
            None => self.far.get(index - NEAR).copied().unwrap_or(0),
        }
    }

    /// Whether this time of the thread happened before.
    #[inline]
    pub fn knows(&self, thread: ThreadId, time: Time) -> bool {
        time <= self.get(thread)
    }

    /// Sets the time of a thread.
    #[inline]
    pub fn set(&mut self, thread: ThreadId, time: Time) {
        let index = usize::from(thread);
        if index < NEAR {
            self.near[index] = time;
        } else {
            self.set_far(index - NEAR, time);
        }
    }

    /// Joins another clock: takes the later time for every thread.
    #[inline]
    pub fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.near.iter_mut().zip(&other.near) {
            *mine = (*mine).max(*theirs);
        }
        if !other.far.is_empty() {
            self.join_far(&other.far);
        }
    }

    /// Clears all times, and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.near = [0; NEAR];
        self.far.clear();
    }

    #[cold]
    fn set_far(&mut self, index: usize, time: Time) {
        if self.far.len() <= index {
            self.far.resize(index + 1, 0);
        }
        self.far[index] = time;
    }

    #[cold]
    fn join_far(&mut self, far: &[Time]) {
        if self.far.len() < far.len() {
            self.far.resize(far.len(), 0);
        }
        for (mine, theirs) in self.far.iter_mut().zip(far) {
            *mine = (*mine).max(*theirs);
        }
    }
}

impl Clone for Clock {
    #[inline]
    fn clone(&self) -> Clock {
        Clock { near: self.near, far: self.far.clone() }
    }

    /// Reuses the allocation.
    #[inline]
    fn clone_from(&mut self, other: &Clock) {
        self.near = other.near;
        self.far.clear();
        if !other.far.is_empty() {
            self.far.extend_from_slice(&other.far);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: &[(ThreadId, Time)]) -> Clock {
        let mut clock = Clock::default();
        for &(thread, time) in times {
            clock.set(thread, time);
        }
        clock
    }

    #[test]
    fn joining_takes_the_later_times_of_near_and_far_threads() {
        let mut joined = clock(&[(0, 3), (7, 1), (8, 5), (20, 2)]);
        joined.join(&clock(&[(0, 1), (7, 4), (9, 6), (30, 1)]));
        assert_eq!(joined, clock(&[(0, 3), (7, 4), (8, 5), (9, 6), (20, 2), (30, 1)]));
        assert_eq!((joined.get(31), joined.get(1)), (0, 0));
    }

    #[test]
    fn copying_over_a_clock_forgets_what_it_held() {
        let mut copy = clock(&[(1, 9), (40, 9)]);
        copy.clone_from(&clock(&[(2, 1)]));
        assert_eq!((copy.get(1), copy.get(2), copy.get(40)), (0, 1, 0));
    }

    #[test]
    fn time_zero_happened_before_everything() {
        assert!(Clock::default().knows(100, 0));
        assert!(!Clock::default().knows(0, FIRST));
    }
}
