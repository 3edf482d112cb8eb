//! A buffer that makes producers and consumers wait.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// A buffer of at most `N` values. Producers and consumers wait at the same condition variable.
#[derive(Default)]
pub struct BoundedBuffer<const N: usize> {
    values: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

impl<const N: usize> BoundedBuffer<N> {
    /// Appends a value; waits while the buffer is full.
    pub fn put(&self, value: u32) {
        self.append(value);
        self.changed.notify_all();
    }

    /// Takes the oldest value; waits while there is none.
    pub fn take(&self) -> u32 {
        let value = self.remove();
        self.changed.notify_all();
        value
    }

    /// [`put`](Self::put) with a bug: it may wake another producer, for whom there is nothing to do.
    pub fn put_and_wake_one(&self, value: u32) {
        self.append(value);
        self.changed.notify_one();
    }

    /// [`take`](Self::take) with a bug: it may wake another consumer.
    pub fn take_and_wake_one(&self) -> u32 {
        let value = self.remove();
        self.changed.notify_one();
        value
    }

    fn append(&self, value: u32) {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |values: &mut VecDeque<u32>| values.len() == N;
        let mut values = self.changed.wait_while(values, full).unwrap_or_else(PoisonError::into_inner);
        values.push_back(value);
    }

    fn remove(&self) -> u32 {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match values.pop_front() {
                Some(value) => return value,
                None => values = self.changed.wait(values).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
