//! Futexes of Linux, in which every lock, condition and park of std and parking_lot ends.

use crate::in_place::in_place;
use crate::op::ThreadId;

in_place! {
    /// The threads that wait at futexes, longest waiting first.
    #[derive(Debug, Default)]
    pub struct Futexes {
        waiters: Vec<Waiter>,
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    address: usize,
    mask: u32,
    thread: ThreadId,
}

impl Futexes {
    /// Removes all threads.
    pub fn clear(&mut self) {
        self.waiters.clear();
    }

    /// Adds a waiting thread.
    pub fn wait(&mut self, thread: ThreadId, address: usize, mask: u32) {
        self.waiters.push(Waiter { address, mask, thread });
    }

    /// Removes a thread that stops waiting for another reason than a wake-up.
    pub fn cancel(&mut self, thread: ThreadId) {
        self.waiters.retain(|waiter| waiter.thread != thread);
    }

    /// Number of threads that wait at the address.
    pub fn waiters(&self, address: usize, mask: u32) -> usize {
        self.waiters.iter().filter(|waiter| waiter.address == address && waiter.mask & mask != 0).count()
    }

    /// The threads that wait at the address, longest waiting first.
    pub fn waiting(&self, address: usize, mask: u32) -> impl Iterator<Item = ThreadId> {
        let here = move |waiter: &&Waiter| waiter.address == address && waiter.mask & mask != 0;
        self.waiters.iter().filter(here).map(|waiter| waiter.thread)
    }

    /// Makes the thread with this position among those that wait at the address the longest waiting one.
    pub fn prefer(&mut self, address: usize, mask: u32, position: usize) {
        let here = |waiter: &Waiter| waiter.address == address && waiter.mask & mask != 0;
        let mut places = (0..self.waiters.len()).filter(|&index| here(&self.waiters[index]));
        let Some(first) = places.next() else { return };
        if let Some(chosen) = position.checked_sub(1).and_then(|rest| places.nth(rest)) {
            self.waiters[first..=chosen].rotate_right(1);
        }
    }

    /// Removes up to `count` threads, longest waiting first, and passes each to `woken`.
    pub fn wake(&mut self, address: usize, count: u32, mask: u32, mut woken: impl FnMut(ThreadId)) -> u32 {
        let mut left = count;
        self.waiters.retain(|waiter| {
            let wake = left > 0 && waiter.address == address && waiter.mask & mask != 0;
            if wake {
                left -= 1;
                woken(waiter.thread);
            }
            !wake
        });
        count - left
    }

    /// Moves up to `count` threads that wait at `from` to `to`, and passes each to `moved`.
    pub fn requeue(&mut self, from: usize, to: usize, count: u32, mut moved: impl FnMut(ThreadId)) -> u32 {
        let mut left = count;
        for waiter in &mut self.waiters {
            if left > 0 && waiter.address == from {
                waiter.address = to;
                left -= 1;
                moved(waiter.thread);
            }
        }
        count - left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_the_longest_waiting_first_and_respects_masks() {
        let mut futexes = Futexes::default();
        futexes.wait(1, 8, 1);
        futexes.wait(2, 8, 2);
        futexes.wait(3, 16, !0);
        futexes.wait(4, 8, 3);
        let mut woken = Vec::new();
        assert_eq!(futexes.wake(8, 1, 2, |thread| woken.push(thread)), 1);
        assert_eq!(futexes.wake(8, 9, !0, |thread| woken.push(thread)), 2);
        assert_eq!(woken, [2, 1, 4]);
    }

    #[test]
    fn a_preferred_thread_is_woken_first_and_the_others_keep_their_order() {
        for (position, expected) in [(0, [1, 3, 5]), (1, [3, 1, 5]), (2, [5, 1, 3])] {
            let mut futexes = Futexes::default();
            for thread in 1..6 {
                futexes.wait(thread, if thread % 2 == 1 { 8 } else { 16 }, !0);
            }
            futexes.prefer(8, !0, position);
            let mut woken = Vec::new();
            futexes.wake(8, 9, !0, |thread| woken.push(thread));
            assert_eq!(woken, expected);
            assert_eq!(futexes.waiting(16, !0).collect::<Vec<_>>(), [2, 4]);
        }
    }

    #[test]
    fn a_requeued_thread_is_woken_at_its_new_address() {
        let mut futexes = Futexes::default();
        futexes.wait(1, 8, !0);
        futexes.wait(2, 8, !0);
        assert_eq!(futexes.requeue(8, 16, 1, |_| ()), 1);
        let mut woken = Vec::new();
        futexes.wake(16, 9, !0, |thread| woken.push(thread));
        assert_eq!(woken, [1]);
    }
}
