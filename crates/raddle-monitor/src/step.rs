//! Marked operations.

use std::fmt::{Debug, Display};

use crate::tester;

/// Runs an operation that is marked: in a test with Raddle, other threads may run before it, and the trace of a failure shows its name
/// and its result. Elsewhere it only runs.
///
/// Where [`only_marked`] is asked for, threads change at marked operations and at synchronisation only, so that the operation is
/// atomic as a whole unless it blocks. The operation need not be instrumented.
///
/// ```
/// let mut head = 1;
/// let old = raddle_monitor::step("move head", || std::mem::replace(&mut head, 2));
/// assert_eq!((old, head), (1, 2));
/// ```
///
/// [`only_marked`]: https://docs.rs/raddle/latest/raddle/struct.Explorer.html#method.only_marked
#[inline]
pub fn step<T: Debug>(name: impl Display, operation: impl FnOnce() -> T) -> T {
    let Some(tester) = tester::of_this_thread() else { return operation() };
    tester.begin_step(&name);
    let result = operation();
    if size_of::<T>() == 0 {
        tester.end_step(&name, None);
    } else {
        tester.end_step(&name, Some(&result));
    }
    result
}
