//! Environment variables.

use crate::execution::Engine;
use crate::semantics::enter;

/// Sets or removes a variable. Unless `overwrite` is set, an existing value stays.
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

/// Removes all variables.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn clear_variables(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.exploration.environment.clear()) };
}
