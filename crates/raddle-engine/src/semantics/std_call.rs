//! Calls of functions of std that are not instrumented.

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
