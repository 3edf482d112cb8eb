//! A bounded buffer as a monitor: one lock, one condition.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of at most `capacity` numbers. Who cannot go on waits.
pub struct BoundedBuffer {
    ring: Mutex<Ring>,
    changed: Condvar,
}

/// The numbers: `count` of them, from the position `head` on.
struct Ring {
    slots: Vec<Option<u32>>,
    head: usize,
    count: usize,
}

impl Ring {
    fn is_full(&self) -> bool {
        self.count == self.slots.len()
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends a number. There must be room.
    fn append(&mut self, value: u32) {
        let position = (self.head + self.count) % self.slots.len();
        assert_eq!(self.slots[position], None, "a number is overwritten");
        self.slots[position] = Some(value);
        self.count += 1;
    }

    /// Removes the oldest number. There must be one.
    fn remove(&mut self) -> u32 {
        let value = self.slots[self.head].take().expect("a number is taken from an empty buffer");
        self.head = (self.head + 1) % self.slots.len();
        self.count -= 1;
        value
    }
}

impl BoundedBuffer {
    /// An empty buffer.
    pub fn new(capacity: usize) -> BoundedBuffer {
        let ring = Ring { slots: vec![None; capacity], head: 0, count: 0 };
        BoundedBuffer { ring: Mutex::new(ring), changed: Condvar::new() }
    }

    /// Appends a number; waits while the buffer is full.
    pub fn put(&self, value: u32) {
        let mut ring = self.enter();
        while ring.is_full() {
            ring = self.wait(ring);
        }
        ring.append(value);
        self.changed.notify_one();
    }

    /// Removes the oldest number; waits while there is none.
    pub fn take(&self) -> u32 {
        let mut ring = self.enter();
        while ring.is_empty() {
            ring = self.wait(ring);
        }
        let value = ring.remove();
        self.changed.notify_one();
        value
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.enter().count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn enter(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, ring: MutexGuard<'a, Ring>) -> MutexGuard<'a, Ring> {
        self.changed.wait(ring).unwrap_or_else(PoisonError::into_inner)
    }
}
