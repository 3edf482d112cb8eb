//! Three locks made of atomics. Replace each `todo!`.
#![allow(dead_code, unused_variables)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

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
        todo!()
    }

    /// The same, if the lock is free right now.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        todo!()
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
        todo!()
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
        todo!()
    }

    /// Reads both numbers, if they were not written meanwhile.
    pub fn try_read(&self) -> Option<(u64, u64)> {
        todo!()
    }
}
