//! Threads that are alike.

use crate::engine::Engine;
use crate::engine::execution::engine_of_virtual_thread;
use crate::engine::interface::{make_alike, unused_kind};

/// Makes threads that are alike: calls the closure, and promises that the threads which it makes can be exchanged.
///
/// Of executions that differ only in which of these threads did what, [`Strategy::Exhaustive`](crate::Strategy::Exhaustive) then makes
/// one: up to *n*! times fewer for *n* threads. Other strategies take no notice.
///
/// The promise is about the threads that the closure makes itself, on its own thread:
///
/// - They do the same: what they do depends only on what they read, not on a number or another value that they were given. Addresses of
///   memory that each allocates may differ.
/// - Nothing else tells them apart. What happens once they have ended must not depend on which of them returned what, except
///   that the same holds for the others: a sum of the results, or a sorted list, but not the result of the first. Wait for all
///   of them before anything else is done. The outcomes in a [`Report`](crate::Report) are those of the executions that were made.
///
/// A promise that is broken may hide executions. What can be noticed is an error: threads that do different things although
/// they have read the same, and anything that happens between the joins of two of them. Threads between which their parent
/// does anything but make threads are not taken for alike.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// raddle::explore(|| {
///     let counter = AtomicU32::new(0);
///     std::thread::scope(|scope| {
///         raddle::symmetric(|| {
///             for _ in 0..3 {
///                 scope.spawn(|| counter.fetch_add(1, Relaxed));
///             }
///         });
///     });
///     assert_eq!(counter.into_inner(), 3);
/// });
/// ```
pub fn symmetric<T>(make: impl FnOnce() -> T) -> T {
    /// Ends the promise, whatever happens.
    struct Before(*mut Engine, Option<u64>);
    impl Drop for Before {
        fn drop(&mut self) {
            // SAFETY: as below; it is dropped on the same thread.
            unsafe { make_alike(self.0, self.1) };
        }
    }
    let Some(engine) = engine_of_virtual_thread() else { return make() };
    // SAFETY: the engine runs and this is a virtual thread.
    let _before = unsafe { Before(engine, make_alike(engine, Some(unused_kind(engine)))) };
    make()
}
