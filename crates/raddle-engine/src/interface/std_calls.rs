//! Calls of functions of std that wait for other threads or wake them.

use super::atomics::access;
use super::{along_graph, enter};
use crate::execution::Engine;
use crate::graph::event::Access as Step;
use crate::isolate::heap;
use crate::op::{Order, Pending};
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
        /// How many threads it waits for.
        threads: u64,
    },
    /// A lock of std that is taken in compiled code, and given back by the program.
    Lock {
        /// The word of its mutex.
        word: *mut u32,
    },
    /// A scope counts one thread more: the one that the current thread makes next.
    EnterScope {
        /// The number of its threads.
        count: *mut usize,
        /// The word at which the owner of the scope parks.
        parker: usize,
    },
    /// A scope counts one thread less. Whoever has the last handle of the thread's result calls this: the thread itself before the
    /// destructors of its thread-locals, or the owner of its join handle.
    LeaveScope {
        /// The number of its threads.
        count: *mut usize,
        /// The word at which the owner of the scope parks.
        parker: usize,
        /// Where the scope notes that a thread has panicked, if this one has.
        panicked: Option<*mut bool>,
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
            if let StdCall::EnterScope { count, parker } = call {
                if engine.follows_graph() {
                    along_graph::enter_scope(engine, count.addr(), parker);
                }
                return None;
            }
            if let StdCall::LeaveScope { count, parker, panicked } = call {
                return leave_scope(engine, count, parker, panicked);
            }
            if let StdCall::Lock { word } = call {
                lock(engine, word);
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

/// The current thread waits until the mutex is free and locks it, as far as others can tell: the function that is called next does so
/// without asking, and finds it free.
///
/// # Safety
/// As for [`std_call`].
unsafe fn lock(engine: &mut Engine, word: *mut u32) {
    // SAFETY: the caller's.
    unsafe {
        if engine.follows_graph() {
            along_graph::access_within(engine, 0, word, Step::Lock(1), Order::Acquire);
            word.write_volatile(0);
        } else {
            engine.point_of_lock(word);
            if engine.remembers() {
                engine.remember_rmw(access(engine, Site::MutexLock, word, Order::Acquire, 0), 1);
            }
        }
    }
    // Compiled code that locks and unlocks it on its own is not seen.
    engine.remember_unseen_synchronisation();
}

/// A thread of the scope has done all that the scope waits for.
///
/// # Safety
/// As for [`std_call`].
unsafe fn leave_scope(
    engine: &mut Engine,
    count: *mut usize,
    parker: usize,
    panicked: Option<*mut bool>,
) -> Option<u64> {
    // If the thread has panicked, the end of the scope panics in its place.
    let me = engine.current_id();
    let dropped = engine.current().dropped_handle.take().filter(|_| !engine.current().panicked);
    let left = dropped.unwrap_or(me);
    let thread = &mut engine.threads[usize::from(left)];
    thread.joined |= thread.panicked;
    if !engine.follows_graph() {
        engine.remember_leave(scope_of(count.addr()));
        return None;
    }
    // SAFETY: the caller's. The function would also wake the owner of the scope, unseen.
    unsafe {
        count.write_volatile(count.read_volatile() - 1);
        if let Some(panicked) = panicked {
            panicked.write_volatile(true);
        }
        along_graph::leave_scope(engine, count.addr(), parker);
    }
    Some(0)
}

/// The current thread is about to call `Once::call`. Returns what it is to be called with: along a graph that is the copy, so that
/// nothing changes the once but events.
///
/// # Safety
/// As for [`std_call`], and the copy must be one that nobody else knows.
pub unsafe fn once_begins(engine: *mut Engine, once: *mut u32, copy: *mut u32) -> *mut u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                copy.write(along_graph::once_begins(engine, once));
                return copy;
            }
            engine.point(Pending::NOTHING);
            engine.remember_unseen_synchronisation();
            once
        })
    }
}

/// The current thread has called `Once::call` with the once or with its copy, or is unwinding from it.
///
/// # Safety
/// As for [`once_begins`].
pub unsafe fn once_ends(engine: *mut Engine, once: *mut u32, called: *mut u32) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                along_graph::once_ends(engine, once, called.read());
            }
        });
    }
}

/// The current thread is about to call `Once::wait`, or `wait_force` if `force` is set. Returns what it is to be called with, as
/// [`once_begins`] does: the copy has the state that ends the wait. `states` are those before any call and of one that is complete.
///
/// # Safety
/// As for [`once_begins`].
pub unsafe fn once_waits(
    engine: *mut Engine,
    once: *mut u32,
    copy: *mut u32,
    force: bool,
    states: [u32; 2],
) -> *mut u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                copy.write(along_graph::once_waits(engine, once, force, states));
                return copy;
            }
            engine.point(Pending::NOTHING);
            engine.remember_unseen_synchronisation();
            once
        })
    }
}
