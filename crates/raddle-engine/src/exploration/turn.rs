//! Turns of the explorations in one process: an exploration takes the process over, so there can be one at a time.
//!
//! The lock lies in [`GLOBAL`], and threads wait for it in system calls that are not intercepted. A lock of std would
//! be a static like any other: rolled back after each execution, it would lose its waiting threads.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::platform::global::{GLOBAL, NO_ROLE, ROLE};
use crate::platform::sys::{self, raw_syscall};

/// No thread explores.
const FREE: u32 = 0;
/// A thread explores, and no other waits.
const TAKEN: u32 = 1;
/// A thread explores, and others may wait.
const WANTED: u32 = 2;

/// The calling thread's turn, until this is dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Guard {
    /// The turn belongs to the thread that took it.
    _not_send: PhantomData<*const ()>,
}

/// Waits until it is the calling thread's turn to explore. A thread whose turn it is may take it again.
///
/// # Panics
/// If called from within an exploration.
pub fn take() -> Guard {
    assert!(
        ROLE.get() == NO_ROLE,
        "raddle: an exploration cannot be started inside another one: call `explore` outside of the closure that is explored"
    );
    let me = sys::fs_base();
    if GLOBAL.turn_of.load(Relaxed) != me {
        wait();
        GLOBAL.turn_of.store(me, Relaxed);
    }
    GLOBAL.turns.set(GLOBAL.turns.get() + 1);
    Guard { _not_send: PhantomData }
}

fn wait() {
    let mut free = GLOBAL.turn.compare_exchange(FREE, TAKEN, SeqCst, SeqCst).is_ok();
    while !free {
        free = GLOBAL.turn.swap(WANTED, SeqCst) == FREE;
        if !free {
            // SAFETY: waits while another thread has the lock.
            unsafe { futex(libc::FUTEX_WAIT, WANTED.into()) };
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let left = GLOBAL.turns.get() - 1;
        GLOBAL.turns.set(left);
        if left == 0 {
            GLOBAL.turn_of.store(0, Relaxed);
            if GLOBAL.turn.swap(FREE, SeqCst) == WANTED {
                // SAFETY: wakes one of the waiting threads.
                unsafe { futex(libc::FUTEX_WAKE, 1) };
            }
        }
    }
}

unsafe fn futex(op: i32, value: i64) {
    let word = GLOBAL.turn.as_ptr() as i64;
    // SAFETY: the word is a static.
    unsafe { raw_syscall(libc::SYS_futex, [word, i64::from(op | libc::FUTEX_PRIVATE_FLAG), value, 0, 0, 0]) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::thread;

    struct Shared(Cell<u32>);
    // SAFETY: accessed by the thread that has the turn.
    unsafe impl Sync for Shared {}

    #[test]
    fn one_at_a_time() {
        let count = &Shared(Cell::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let _turn = take();
                        let _again = take();
                        count.0.set(count.0.get() + 1);
                    }
                });
            }
        });
        assert_eq!(count.0.get(), 4000);
    }
}
