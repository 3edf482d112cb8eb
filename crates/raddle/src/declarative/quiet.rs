//! Panics that are results: nobody wants to read about them on the terminal.

use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, whose panics on this thread are not announced.
pub(crate) fn quietly<R>(work: impl FnOnce() -> R) -> R {
    install();
    let before = QUIET.replace(true);
    let result = work();
    QUIET.set(before);
    result
}

/// Puts the hook in place that knows who is quiet.
pub(crate) fn install() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
}
