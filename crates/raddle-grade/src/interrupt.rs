//! Ctrl-C: the first one asks to stop, the second one does not wait.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on, Ctrl-C sets the flag that this returns. Programs in sandboxes do not hear of it: they are in process groups of their own.
pub fn catch() -> &'static AtomicBool {
    extern "C" fn on_interrupt(_: libc::c_int) {
        if STOP.swap(true, Ordering::Relaxed) {
            // SAFETY: may be called from a signal handler.
            unsafe { libc::_exit(130) };
        }
    }
    // SAFETY: the handler does nothing that a handler may not do; the structure is one of numbers and outlives the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_interrupt as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
    }
    &STOP
}
