//! Operations: calls that a report should show by name, with their results.

use std::fmt::{Debug, Display};

use crate::engine::execution::engine_of_virtual_thread;
use crate::engine::interface;
use crate::engine::trace::Action;

/// Runs `body` as an operation: a failure shows it in the scenario (who called what, with which result) and in the
/// interleaving. Outside an exploration it only runs `body`.
///
/// ```
/// let popped = raddle::operation("pop()", || Some(1));
/// assert_eq!(popped, Some(1));
/// ```
pub fn operation<T: Debug>(call: impl Display, body: impl FnOnce() -> T) -> T {
    note(|| Action::Call { call: call.to_string() });
    let result = body();
    note(|| Action::Return { call: call.to_string(), result: format!("{result:?}") });
    result
}

/// Nothing is formatted unless a trace is being recorded.
fn note(action: impl FnOnce() -> Action) {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: the engine runs and this is a virtual thread.
        unsafe { interface::note(engine, action) };
    }
}
