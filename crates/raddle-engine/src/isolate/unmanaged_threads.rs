//! Unmanaged threads: those of the process that have no part in the exploration, such as the test harness's main
//! thread. They are held while memory is rolled back, or their changes of statics (taking the lock of the standard
//! output, say) would be half undone.
//!
//! Most wait already in futex calls when an exploration begins, and are held when such a call returns. Others are held
//! when they write to a page that is rolled back, which is write-protected.

use std::sync::atomic::Ordering::SeqCst;

use crate::platform::global::{GLOBAL, NO_ROLE, ROLE};
use crate::platform::sys::raw_syscall;

const HELD: u32 = 1;

/// Holds unmanaged threads from now on.
pub(crate) fn hold() {
    GLOBAL.unmanaged_held.store(HELD, SeqCst);
}

/// Whether unmanaged threads are held.
pub(crate) fn are_held() -> bool {
    GLOBAL.unmanaged_held.load(SeqCst) == HELD
}

/// Releases unmanaged threads.
pub(crate) fn release() {
    GLOBAL.unmanaged_held.store(0, SeqCst);
    // SAFETY: wakes the threads that wait at the word.
    unsafe { futex(libc::FUTEX_WAKE, i64::from(i32::MAX)) };
}

/// Holds the calling thread, if it is unmanaged, until the exploration is over. Called when a system call of any thread
/// has waited, and by the signal handler of an unmanaged thread that wrote to a protected page.
#[inline]
pub fn stand_still() {
    while GLOBAL.unmanaged_held.load(SeqCst) == HELD && ROLE.get() == NO_ROLE {
        // SAFETY: waits while the word says so.
        unsafe { futex(libc::FUTEX_WAIT, HELD.into()) };
    }
}

unsafe fn futex(op: i32, value: i64) {
    let word = GLOBAL.unmanaged_held.as_ptr() as i64;
    // SAFETY: the word is a static.
    unsafe { raw_syscall(libc::SYS_futex, [word, i64::from(op | libc::FUTEX_PRIVATE_FLAG), value, 0, 0, 0]) };
}
