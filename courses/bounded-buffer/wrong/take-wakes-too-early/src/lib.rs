//! A bounded buffer as a monitor.

use std::cell::Cell;

use raddle_monitor::{Field, Monitor};

/// A queue of at most `capacity` numbers. Who cannot go on waits.
pub struct BoundedBuffer {
    monitor: Monitor<Ring>,
}

/// The numbers: `count` of them, from the position `head` on. Only who is inside the monitor sees them.
struct Ring {
    slots: Vec<Cell<Option<u32>>>,
    head: Field<usize>,
    count: Field<usize>,
}

impl Ring {
    fn is_full(&self) -> bool {
        self.count.get() == self.slots.len()
    }

    fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    /// Appends a number. There must be room.
    fn append(&self, value: u32) {
        let position = (self.head.get() + self.count.get()) % self.slots.len();
        assert_eq!(self.slots[position].get(), None, "a number is overwritten");
        self.slots[position].set(Some(value));
        self.count.update(|count| count + 1);
    }

    /// Removes the oldest number. There must be one.
    fn remove(&self) -> u32 {
        let head = self.head.get();
        let value = self.slots[head].take().expect("a number is taken from an empty buffer");
        self.head.set((head + 1) % self.slots.len());
        self.count.update(|count| count - 1);
        value
    }
}

impl BoundedBuffer {
    /// An empty buffer.
    pub fn new(capacity: usize) -> BoundedBuffer {
        let ring = Ring {
            slots: vec![Cell::new(None); capacity],
            head: Field::new("head", 0),
            count: Field::new("count", 0),
        };
        BoundedBuffer { monitor: Monitor::new(ring) }
    }

    /// Appends a number; waits while the buffer is full.
    pub fn put(&self, value: u32) {
        self.monitor.synchronized(|ring| {
            while ring.is_full() {
                self.monitor.wait();
            }
            ring.append(value);
            self.monitor.notify_all();
        });
    }

    /// Removes the oldest number; waits while there is none.
    pub fn take(&self) -> u32 {
        self.monitor.synchronized(|ring| {
            while ring.is_empty() {
                self.monitor.wait();
                // Who wakes now finds no room, and waits again.
                self.monitor.notify_all();
            }
            ring.remove()
        })
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.monitor.synchronized(|ring| ring.count.get())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
