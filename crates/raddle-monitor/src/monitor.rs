//! Monitors: a lock and the state that it guards.

use std::fmt;

use crate::ownership::Ownership;

/// A monitor as every object on the JVM has one: a re-entrant lock around a state, with a condition to wait for.
///
/// One thread at a time is inside [`synchronized`](Monitor::synchronized), where it sees the state by a shared reference, because it may
/// enter again; what changes in the state is a [`Cell`](std::cell::Cell), a [`RefCell`](std::cell::RefCell) or a
/// [`Field`](crate::Field). A panic leaves the monitor as a return does, and poisons nothing.
///
/// A wait may end without a notification, as the JVM says of its own: wait in a loop that checks the condition. In tests with Raddle,
/// waits end spuriously only where `Also::SpuriousWakeUps` asks for it, and a notification may wake any of the threads that wait.
///
/// ```
/// use std::cell::Cell;
/// use raddle_monitor::Monitor;
///
/// let balance = Monitor::new(Cell::new(0));
/// let deposit = |amount| balance.synchronized(|cell| cell.set(cell.get() + amount));
/// balance.synchronized(|cell| {
///     deposit(3); // enters again
///     assert_eq!(cell.get(), 3);
/// });
/// ```
#[derive(Default)]
pub struct Monitor<T = ()> {
    lock: Ownership,
    state: T,
}

// SAFETY: the state is reached only by `synchronized`, inside of which one thread at a time runs. A reference to it that a thread
// keeps while it waits is used only when the thread is inside again, and does not leave the closure.
unsafe impl<T: Send> Sync for Monitor<T> {}

impl<T> Monitor<T> {
    /// A monitor around a state.
    pub const fn new(state: T) -> Monitor<T> {
        Monitor { lock: Ownership::new(), state }
    }

    /// Runs the closure when no other thread is inside; others wait meanwhile. A thread that is inside may enter again.
    pub fn synchronized<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        self.lock.enter();
        let _inside = Inside(&self.lock);
        work(&self.state)
    }

    /// Leaves the monitor, however often the thread has entered it, waits until another thread notifies, and enters it as often again.
    ///
    /// # Panics
    /// If the thread is not inside [`synchronized`](Monitor::synchronized).
    #[track_caller]
    pub fn wait(&self) {
        self.check("wait");
        self.lock.wait();
    }

    /// Wakes one of the threads that wait, if there are any; which one is not defined. It goes on when this thread has left.
    ///
    /// # Panics
    /// If the thread is not inside [`synchronized`](Monitor::synchronized).
    #[track_caller]
    pub fn notify(&self) {
        self.check("notify");
        self.lock.notify(false);
    }

    /// Wakes all threads that wait. They go on, one after another, when this thread has left.
    ///
    /// # Panics
    /// If the thread is not inside [`synchronized`](Monitor::synchronized).
    #[track_caller]
    pub fn notify_all(&self) {
        self.check("notify_all");
        self.lock.notify(true);
    }

    /// The state, of which nobody else knows.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.state
    }

    /// The state.
    pub fn into_inner(self) -> T {
        self.state
    }

    /// Whether the calling thread is inside.
    pub fn is_inside(&self) -> bool {
        self.lock.is_mine()
    }

    #[track_caller]
    fn check(&self, call: &str) {
        assert!(
            self.is_inside(),
            "`{call}` was called by a thread that is not inside the monitor; call it within `synchronized` of the same monitor"
        );
    }
}

/// A thread is inside until this is dropped: by a return or by a panic.
struct Inside<'a>(&'a Ownership);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.exit();
    }
}

impl<T> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The state may be another thread's.
        f.debug_struct("Monitor").field("is_inside", &self.is_inside()).finish_non_exhaustive()
    }
}
