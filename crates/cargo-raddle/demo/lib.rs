//! A bounded first-in first-out queue without locks, after Lamport: a ring of slots and two counters.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const CAPACITY: usize = 4;

/// A queue of numbers.
#[derive(Default)]
pub struct Queue {
    slots: [AtomicU32; CAPACITY],
    /// How many elements have been taken out so far.
    head: AtomicUsize,
    /// How many elements have been put in so far.
    tail: AtomicUsize,
}

impl Queue {
    /// Puts an element in. Returns whether there was room.
    pub fn offer(&self, value: u32) -> bool {
        let tail = self.tail.load(Ordering::Acquire);
        if tail - self.head.load(Ordering::Acquire) == CAPACITY {
            return false;
        }
        self.slots[tail % CAPACITY].store(value, Ordering::Relaxed);
        self.tail.store(tail + 1, Ordering::Release);
        true
    }

    /// Takes the oldest element out.
    pub fn poll(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Acquire);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        let value = self.slots[head % CAPACITY].load(Ordering::Relaxed);
        self.head.store(head + 1, Ordering::Release);
        Some(value)
    }
}
