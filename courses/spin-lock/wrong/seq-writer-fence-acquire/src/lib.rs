//! Three locks made of atomics.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};

/// A lock that waits by trying again.
#[derive(Default)]
pub struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed by the thread that holds the lock only.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// A free lock.
    pub fn new(value: T) -> SpinLock<T> {
        SpinLock { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock, calls `f` with the value, and frees the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self.locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: this thread holds the lock.
        let result = f(unsafe { &mut *self.value.get() });
        self.locked.store(false, Release);
        result
    }

    /// The same, if the lock is free right now.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.locked.swap(true, Acquire) {
            return None;
        }
        // SAFETY: this thread holds the lock.
        let result = f(unsafe { &mut *self.value.get() });
        self.locked.store(false, Release);
        Some(result)
    }
}

/// A lock that serves threads in the order in which they came.
#[derive(Default)]
pub struct TicketLock<T> {
    next: AtomicU32,
    serving: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed by the thread that is served only.
unsafe impl<T: Send> Sync for TicketLock<T> {}

impl<T> TicketLock<T> {
    /// A free lock.
    pub fn new(value: T) -> TicketLock<T> {
        TicketLock { next: AtomicU32::new(0), serving: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Draws a ticket, waits for its turn, calls `f` with the value, and serves the next.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let ticket = self.next.fetch_add(1, Relaxed);
        while self.serving.load(Acquire) != ticket {
            std::hint::spin_loop();
        }
        // SAFETY: it is this thread's turn.
        let result = f(unsafe { &mut *self.value.get() });
        self.serving.store(ticket.wrapping_add(1), Release);
        result
    }
}

/// Two numbers that one thread writes and any number of threads read, without ever making the writer wait.
#[derive(Default)]
pub struct SeqLock {
    /// Odd while the numbers are being written.
    version: AtomicU64,
    first: AtomicU64,
    second: AtomicU64,
}

impl SeqLock {
    /// Writes both numbers. Only one thread may do so.
    pub fn write(&self, first: u64, second: u64) {
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(Acquire);
        self.first.store(first, Relaxed);
        self.second.store(second, Relaxed);
        self.version.store(version + 2, Release);
    }

    /// Reads both numbers, if they were not written meanwhile.
    pub fn try_read(&self) -> Option<(u64, u64)> {
        let before = self.version.load(Acquire);
        let first = self.first.load(Relaxed);
        let second = self.second.load(Relaxed);
        fence(Acquire);
        let after = self.version.load(Relaxed);
        (before == after && before.is_multiple_of(2)).then_some((first, second))
    }
}
