//! Threads of the process that have no part in the exploration, such as the test harness's main thread: they stand still while
//! memory is rolled back, or what they do to statics meanwhile (take the lock of the standard output, say) would be half undone.
//!
//! Most wait already when an exploration begins, in futex calls, and are held when such a call returns. Others are held when they write
//! to a page that is rolled back, for which they find it write-protected.

use std::sync::atomic::Ordering::SeqCst;

use crate::platform::global::{GLOBAL, NO_ROLE, ROLE};
use crate::platform::sys::raw_syscall;

const HELD: u32 = 1;

/// From now on, bystanders stand still.
pub(crate) fn hold() {
    GLOBAL.bystanders.store(HELD, SeqCst);
}

/// Whether bystanders stand still.
pub(crate) fn are_held() -> bool {
    GLOBAL.bystanders.load(SeqCst) == HELD
}

/// Bystanders go on.
pub(crate) fn release() {
    GLOBAL.bystanders.store(0, SeqCst);
    // SAFETY: wakes whoever waits at the word.
    unsafe { futex(libc::FUTEX_WAKE, i64::from(i32::MAX)) };
}

/// Called when a system call of any thread has waited, and by the signal handler of a bystander that wrote to a protected page: returns
/// when the thread may go on.
#[inline]
pub fn stand_still() {
    while GLOBAL.bystanders.load(SeqCst) == HELD && ROLE.get() == NO_ROLE {
        // SAFETY: waits while the word says so.
        unsafe { futex(libc::FUTEX_WAIT, HELD.into()) };
    }
}

unsafe fn futex(op: i32, value: i64) {
    let word = GLOBAL.bystanders.as_ptr() as i64;
    // SAFETY: the word is a static.
    unsafe { raw_syscall(libc::SYS_futex, [word, i64::from(op | libc::FUTEX_PRIVATE_FLAG), value, 0, 0, 0]) };
}
