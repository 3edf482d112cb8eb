//! The same queue with the mutex and the condition variable of the standard library.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use crate::monitor_queue::Wake;

/// A queue with room for so many values.
#[derive(Debug)]
pub struct StdQueue {
    capacity: usize,
    wake: Wake,
    values: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

impl StdQueue {
    /// An empty queue.
    pub fn new(capacity: usize, wake: Wake) -> StdQueue {
        StdQueue { capacity, wake, values: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a value when there is room.
    pub fn put(&self, value: u32) {
        let values = self.values.lock().unwrap();
        let mut values = self.changed.wait_while(values, |values| values.len() == self.capacity).unwrap();
        values.push_back(value);
        self.wake();
    }

    /// Removes the oldest value when there is one.
    pub fn take(&self) -> u32 {
        let values = self.values.lock().unwrap();
        let mut values = self.changed.wait_while(values, |values| values.is_empty()).unwrap();
        let value = values.pop_front().expect("there is one");
        self.wake();
        value
    }

    fn wake(&self) {
        match self.wake {
            Wake::All => self.changed.notify_all(),
            Wake::One => self.changed.notify_one(),
        }
    }
}
