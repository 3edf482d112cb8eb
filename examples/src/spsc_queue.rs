//! Bounded queues for one producer and one consumer (Lamport).

use std::array;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A queue of at most `N` values. One thread may push, one thread may pop.
pub struct SpscQueue<const N: usize> {
    slots: [AtomicU32; N],
    /// Values popped so far; written by the consumer.
    head: AtomicUsize,
    /// Values pushed so far; written by the producer.
    tail: AtomicUsize,
}

impl<const N: usize> Default for SpscQueue<N> {
    fn default() -> Self {
        SpscQueue {
            slots: array::from_fn(|_| AtomicU32::new(0)),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }
}

/// Positions that the other side reads are sequentially consistent: with release and acquire, no value would be lost, but the
/// producer could find the queue full while the consumer finds it empty, and no order of the operations explains that.
impl<const N: usize> SpscQueue<N> {
    /// Appends a value, unless the queue is full.
    pub fn push(&self, value: u32) -> bool {
        self.push_by(value, Ordering::SeqCst, Ordering::SeqCst)
    }

    /// [`push`](Self::push) that may find a queue full which has become empty.
    pub fn push_releasing(&self, value: u32) -> bool {
        self.push_by(value, Ordering::Acquire, Ordering::Release)
    }

    fn push_by(&self, value: u32, load: Ordering, store: Ordering) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.head.load(load) == N {
            return false;
        }
        self.slots[tail % N].store(value, Ordering::Relaxed);
        self.tail.store(tail + 1, store);
        true
    }

    /// [`push`](Self::push) with a bug: the consumer hears of the value before it is there.
    pub fn push_too_early(&self, value: u32) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.head.load(Ordering::Acquire) == N {
            return false;
        }
        self.tail.store(tail + 1, Ordering::Release);
        self.slots[tail % N].store(value, Ordering::Relaxed);
        true
    }

    /// Takes the oldest value.
    pub fn pop(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::SeqCst) {
            return None;
        }
        let value = self.slots[head % N].load(Ordering::Relaxed);
        self.head.store(head + 1, Ordering::SeqCst);
        Some(value)
    }
}
