//! Variables of the environment.

use crate::execution::Engine;
use crate::semantics::enter;

/// Gives a variable a value, or none. Unless `overwrite` says so, one that has a value keeps it.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn set_variable(engine: *mut Engine, name: &[u8], value: Option<&[u8]>, overwrite: bool) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if overwrite || !engine.exploration.environment.has(name) {
                engine.exploration.environment.set(name, value);
            }
        });
    }
}

/// Takes the value of every variable.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn clear_variables(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.exploration.environment.clear()) };
}
