//! Ctrl-C while tests run.
//!
//! It reaches the tests by themselves, and most of them just end. But a search that is to be resumed is written down first, so this
//! process, with which all tests would go away, waits for them. Whoever presses Ctrl-C again does not want to wait.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What a process that Ctrl-C ends is expected to return.
const EXIT_CODE: i32 = 130;

/// From now on, the first Ctrl-C only says that no more tests are to be started.
pub(super) fn catch() {
    extern "C" fn on_interrupt(_: libc::c_int) {
        if INTERRUPTED.swap(true, SeqCst) {
            // SAFETY: may be called from a signal handler.
            unsafe { libc::_exit(EXIT_CODE) };
        }
    }
    // SAFETY: the handler does nothing that a handler may not do. Tests do not inherit it: it goes with `exec`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_interrupt as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
    }
}

/// Whether Ctrl-C was pressed.
pub(super) fn is_requested() -> bool {
    INTERRUPTED.load(SeqCst)
}
