//! A queue that keeps the order of its values only roughly.

use std::collections::VecDeque;
use std::sync::Mutex;

/// A queue with two locks, so that producers and consumers seldom meet. Consumers move up to `K` values over at once and take
/// the last of them first, so a value may be overtaken by `K - 1` others.
#[derive(Default)]
pub struct KQueue<const K: usize> {
    back: Mutex<VecDeque<u32>>,
    /// The oldest values. Locked before `back`.
    front: Mutex<Vec<u32>>,
}

impl<const K: usize> KQueue<K> {
    /// Adds a value.
    pub fn push(&self, value: u32) {
        self.back.lock().unwrap().push_back(value);
    }

    /// Takes one of the `K` oldest values.
    pub fn pop(&self) -> Option<u32> {
        let mut front = self.front.lock().unwrap();
        if front.is_empty() {
            let mut back = self.back.lock().unwrap();
            let batch = back.len().min(K);
            front.extend(back.drain(..batch));
        }
        front.pop()
    }
}
