//! Panics that are results: nobody wants to read about a million of them on the terminal.

use std::any::Any;
use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, whose panics on this thread are not announced.
pub fn quietly<R>(work: impl FnOnce() -> R) -> R {
    install_quiet_hook();
    /// Restores the flag also where `work` unwinds.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            QUIET.set(self.0);
        }
    }
    let _restore = Restore(QUIET.replace(true));
    work()
}

/// Puts the hook in place that knows who is quiet. [`quietly`] does so, too; an exploration, which undoes what happens inside, does so before.
pub fn install_quiet_hook() {
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

/// The message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
