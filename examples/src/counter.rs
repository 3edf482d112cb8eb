//! Counters.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts.
#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    /// Adds one and returns the new value.
    pub fn inc(&self) -> usize {
        self.0.fetch_add(1, SeqCst) + 1
    }

    /// The value.
    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Counts, but not what two threads count at once.
#[derive(Default)]
pub struct RacyCounter(AtomicUsize);

impl RacyCounter {
    /// Adds one and returns the new value, if nobody else does the same meanwhile.
    pub fn inc(&self) -> usize {
        let value = self.0.load(SeqCst);
        self.0.store(value + 1, SeqCst);
        value + 1
    }

    /// The value.
    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}
