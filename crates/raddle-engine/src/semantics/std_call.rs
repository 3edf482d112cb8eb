//! Calls of uninstrumented functions of std, and operations of monitors.

/// A call of an uninstrumented function of std that blocks or wakes threads.
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
        /// How many threads are woken.
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
        /// The futex of the current thread.
        state: *mut u32,
        /// When it ends, if it does.
        deadline: Option<u64>,
        /// Whether the program called the function, rather than std, which checks its condition again after a wake-up.
        by_user: bool,
    },
    /// `Barrier::wait`.
    Barrier {
        /// A word of the barrier that is zero at first: the number of arrivals.
        arrivals: *mut u64,
        /// How many threads the barrier waits for.
        threads: u64,
    },
    /// A lock of std that uninstrumented code takes and the program gives back.
    Lock {
        /// The word of its mutex.
        word: *mut u32,
    },
    /// A scope counts one thread more: the one that the current thread spawns next.
    EnterScope {
        /// The number of its threads.
        count: *mut usize,
        /// The word at which the owner of the scope parks.
        parker: usize,
    },
    /// A scope counts one thread less. The owner of the last handle of the thread's result calls this: the thread
    /// itself before the destructors of its thread-locals, or the owner of its join handle.
    LeaveScope {
        /// The number of its threads.
        count: *mut usize,
        /// The word at which the owner of the scope parks.
        parker: usize,
        /// The scope's flag that a thread has panicked, if this one has.
        panicked: Option<*mut bool>,
    },
}

/// An operation of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorCall {
    /// The thread enters when no other thread is inside.
    Enter,
    /// The thread leaves.
    Exit,
    /// The thread leaves, waits for a notification, and enters again.
    Wait,
    /// Notifies one of the waiting threads.
    Notify,
    /// Notifies all waiting threads.
    NotifyAll,
}
