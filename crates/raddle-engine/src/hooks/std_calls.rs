//! Calls of functions of std that wait for other threads or wake them.

use super::atomics::access;
use super::{along_graph, enter};
use crate::engine::Engine;
use crate::event::{Order, Pending};
use crate::isolate::heap;
use crate::site::Site;

/// A call of a function of std that waits for other threads or wakes them, and that is not instrumented.
#[derive(Clone, Copy, Debug)]
pub enum StdCall {
    /// `Condvar::wait` or `wait_timeout`, with the time of the monotonic clock at which it ends.
    CondvarWait {
        /// The word of the condition variable.
        condvar: *mut u32,
        /// The word of the mutex.
        mutex: *mut u32,
        /// When it ends, if it does.
        deadline: Option<u64>,
    },
    /// `Condvar::notify_one` or `notify_all`.
    CondvarNotify {
        /// The word of the condition variable.
        condvar: *mut u32,
        /// How many are woken.
        count: u32,
    },
    /// The part of `RwLock::read` that waits.
    LockShared {
        /// The first word of the lock.
        state: *mut u32,
    },
    /// The part of `RwLock::write` that waits.
    LockAlone {
        /// The first word of the lock.
        state: *mut u32,
    },
    /// `thread::park` or `park_timeout`.
    Park {
        /// The word of the current thread.
        state: *mut u32,
        /// When it ends, if it does.
        deadline: Option<u64>,
        /// Whether the program called it, and not std, which looks again why it was woken.
        by_user: bool,
    },
    /// `Barrier::wait`.
    Barrier {
        /// A word of it that is zero at first: how many threads have come.
        arrivals: *mut u64,
        /// Another: how often the barrier has let threads go.
        openings: *mut u64,
        /// How many threads it waits for.
        threads: u64,
    },
    /// A scope counts one thread less. Whoever has the last handle of the thread's result calls this: the thread itself before the
    /// destructors of its thread-locals, or the owner of its join handle.
    LeaveScope {
        /// The address of what the scope counts in.
        scope: usize,
    },
}

/// The current thread is about to call a function of std: what that does before it enters the kernel is a step of its own.
/// Returns what the function returns if there is no need to call it: the exhaustive search takes its steps one by one.
///
/// # Safety
/// As for [`super::fence`], and the objects of the call must be what it says.
pub unsafe fn std_call(engine: *mut Engine, call: StdCall) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if let StdCall::LeaveScope { scope } = call {
                leave_scope(engine, scope_of(scope));
                return None;
            }
            if engine.follows_graph() {
                return Some(along_graph::std_call(engine, call));
            }
            engine.point(Pending::NOTHING);
            engine.current().in_condvar_wait = matches!(call, StdCall::CondvarWait { .. });
            if let StdCall::Park { by_user: true, .. } = call
                && engine.wakes_spuriously()
            {
                return Some(0);
            }
            engine.remember_unseen_synchronisation();
            if let StdCall::CondvarWait { mutex, .. } = call
                && engine.remembers()
            {
                // It unlocks the mutex unseen; what others find there is nothing new if it was so before.
                let held = mutex.read_volatile();
                engine.remember_store(access(engine, Site::Std, mutex, Order::Release, held), 0);
            }
            None
        })
    }
}

/// What a scope counts in is a block of its own, so any address in it tells which scope it is.
pub(super) fn scope_of(address: usize) -> usize {
    heap::block_of(address).map_or(address, |block| block.start)
}

/// A thread of the scope has done all that the scope waits for.
fn leave_scope(engine: &mut Engine, scope: usize) {
    // If the thread has panicked, the end of the scope panics in its place.
    let me = engine.current_id();
    let dropped = engine.current().dropped_handle.take().filter(|_| !engine.current().panicked);
    let left = dropped.unwrap_or(me);
    let thread = &mut engine.threads[usize::from(left)];
    thread.joined |= thread.panicked;
    match engine.follows_graph() {
        true => along_graph::leave_scope(engine, scope),
        false => engine.remember_leave(scope),
    }
}

/// The current thread is about to call `Once::call`. Returns what [`once_ends`] wants to know.
///
/// # Safety
/// As for [`std_call`].
pub unsafe fn once_begins(engine: *mut Engine, once: *mut u32) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                return along_graph::once_begins(engine, once);
            }
            engine.point(Pending::NOTHING);
            engine.remember_unseen_synchronisation();
            0
        })
    }
}

/// The current thread has called `Once::call`, or is unwinding from it.
///
/// # Safety
/// As for [`std_call`].
pub unsafe fn once_ends(engine: *mut Engine, once: *mut u32, before: u32) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                along_graph::once_ends(engine, once, before);
            }
        });
    }
}
