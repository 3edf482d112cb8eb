//! The monitor of threads that are not under test.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A lock with a condition. It knows no owner: [`Monitor`](crate::Monitor) does.
#[derive(Debug, Default)]
pub(crate) struct Real {
    /// Whether a thread is inside.
    taken: Mutex<bool>,
    entry: Condvar,
    notified: Condvar,
}

impl Real {
    pub(crate) const fn new() -> Real {
        Real { taken: Mutex::new(false), entry: Condvar::new(), notified: Condvar::new() }
    }

    /// Enters when no thread is inside.
    pub(crate) fn enter(&self) {
        self.take(self.taken());
    }

    /// Leaves.
    pub(crate) fn exit(&self) {
        self.give_back(&mut self.taken());
    }

    /// Leaves, waits for a notification, and enters again. May end without a notification.
    pub(crate) fn wait(&self) {
        let mut taken = self.taken();
        self.give_back(&mut taken);
        let taken = self.notified.wait(taken).unwrap_or_else(PoisonError::into_inner);
        self.take(taken);
    }

    /// Notifies one waiting thread, or all.
    pub(crate) fn notify(&self, all: bool) {
        if all { self.notified.notify_all() } else { self.notified.notify_one() }
    }

    fn take(&self, taken: MutexGuard<'_, bool>) {
        let free = self.entry.wait_while(taken, |taken| *taken);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn give_back(&self, taken: &mut bool) {
        *taken = false;
        self.entry.notify_one();
    }

    /// Nothing panics while the mutex is locked.
    fn taken(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
