use std::sync::atomic::{AtomicUsize, Ordering::*};
#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    pub fn inc(&self) {
        let value = self.0.load(Acquire);
        self.0.store(value + 1, Release);
    }

    pub fn get(&self) -> usize {
        self.0.load(Acquire)
    }
}
