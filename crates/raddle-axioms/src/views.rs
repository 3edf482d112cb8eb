//! Happens-before, computed event by event with three views for each thread.
//!
//! A *view* is a set of events that is closed under happens-before, such as a vector clock. Each thread has three, and each
//! write carries one, its *message* (after the views of Kang, Hur, Lahav, Vafeiadis and Dreyer, *A Promising Semantics for
//! Relaxed-Memory Concurrency*, POPL 2017):
//!
//! - A release write publishes the events that happen before it; a relaxed write those that happened before the last release
//!   fence of its thread.
//! - An acquire read takes over the message of its source; after a relaxed read an acquire fence does.
//! - A read-modify-write also publishes the message of its source, whatever its order: release sequences are nothing else.
//!
//! The result is `(po ∪ sw)⁺` of [`Execution::hb`](crate::Execution::hb), for executions made in an order that contains `po ∪ rf`.

use std::sync::atomic::Ordering;

use crate::{acquires, releases};

/// A set of events that is closed under happens-before.
pub trait View {
    /// Adds the events of another view.
    fn include(&mut self, other: &Self);

    /// Becomes a copy of another view.
    fn copy_from(&mut self, other: &Self);
}

/// A vector clock: for each thread, the number of its events that are in the view.
impl View for [u32] {
    #[inline]
    fn include(&mut self, other: &[u32]) {
        for (mine, &theirs) in self.iter_mut().zip(other) {
            *mine = (*mine).max(theirs);
        }
    }

    #[inline]
    fn copy_from(&mut self, other: &[u32]) {
        self.copy_from_slice(other);
    }
}

/// The views of a thread.
#[derive(Debug)]
pub struct ThreadViews<'a, V: ?Sized> {
    /// The events that happen before the thread's next event.
    pub current: &'a mut V,
    /// The events that an acquire fence would add to `current`. Those that are in `current` may be missing.
    pub acquirable: &'a mut V,
    /// The value of `current` at the thread's last release fence.
    pub released: &'a mut V,
}

impl<V: View + ?Sized> ThreadViews<'_, V> {
    /// The thread reads from a write with this message.
    #[inline]
    pub fn read(&mut self, order: Ordering, message: &V) {
        let view = if acquires(order) { &mut *self.current } else { &mut *self.acquirable };
        view.include(message);
    }

    /// The message of a write of the thread. A read-modify-write adds the message of its source.
    #[inline]
    pub fn message(&self, order: Ordering) -> &V {
        if releases(order) { self.current } else { self.released }
    }

    /// The first half of a fence: `current` grows if the fence acquires.
    #[inline]
    pub fn acquire_fence(&mut self, order: Ordering) {
        if acquires(order) {
            self.current.include(self.acquirable);
        }
    }

    /// The second half of a fence: later relaxed writes publish `current` if the fence releases.
    #[inline]
    pub fn release_fence(&mut self, order: Ordering) {
        if releases(order) {
            self.released.copy_from(self.current);
        }
    }
}
