//! The language: small programs over std's primitives, as data.
//!
//! A program has a few objects of each kind, which are named by their numbers, and threads. Thread 0 is the main one; every other
//! one is started at one place. Whatever an operation returns, its thread *sees*. When the main thread has come to its end, it
//! joins whom nobody has joined yet and sees what all atomics hold.

use std::sync::atomic::Ordering;

/// A thread, by its number.
pub type ThreadId = usize;

/// What an execution came to: what each thread saw, in order.
pub type Outcome = Vec<Vec<u64>>;

/// Operations, one after the other.
pub type Body = Vec<Op>;

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// What each atomic is. All hold 0 at first.
    pub atomics: Vec<Width>,
    /// Whether the only channel holds any number of messages, or at most so many.
    pub capacity: Option<usize>,
    /// How many threads open the barrier.
    pub barrier: usize,
    /// What the threads do.
    pub threads: Vec<Body>,
}

/// The type of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// `AtomicBool`
    Bool,
    /// `AtomicU8`
    U8,
    /// `AtomicU16`
    U16,
    /// `AtomicU32`
    U32,
    /// `AtomicU64`
    U64,
    /// `AtomicUsize`
    Usize,
    /// `AtomicPtr<u8>`
    Ptr,
}

/// How a value is changed atomically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `swap`
    Swap,
    /// `fetch_add`
    Add,
    /// `fetch_sub`
    Sub,
    /// `fetch_and`
    And,
    /// `fetch_or`
    Or,
    /// `fetch_xor`
    Xor,
    /// `fetch_min`
    Min,
    /// `fetch_max`
    Max,
}

/// A compare-exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    /// The atomic.
    pub at: usize,
    /// What has to be there.
    pub current: u64,
    /// What is put there.
    pub new: u64,
    /// The order of success.
    pub success: Ordering,
    /// The order of failure.
    pub failure: Ordering,
    /// Whether it is `compare_exchange_weak`.
    pub weak: bool,
}

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `Mutex::lock`
    Mutex,
    /// `RwLock::read`
    Read,
    /// `RwLock::write`
    Write,
}

/// Which initialised-once object: each number is one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnceKind {
    /// `Once::call_once`
    Once,
    /// `OnceLock::get_or_init`
    OnceLock,
    /// `LazyLock::force`. Its closure adds 1 to atomic 0.
    LazyLock,
}

/// What is done to a thread's handles of the shared `Arc`. Dropping what it holds adds 1 to atomic 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArcOp {
    /// `clone` of the newest handle.
    Clone,
    /// Drops the newest handle.
    Drop,
    /// `Arc::strong_count`
    Count,
    /// Whether `Arc::get_mut` gives something.
    GetMut,
    /// `Arc::try_unwrap` of the newest handle, which is kept if that fails.
    TryUnwrap,
    /// `Arc::into_inner` of the newest handle.
    IntoInner,
    /// `Arc::downgrade` of the newest handle; the thread's weak handle before is dropped.
    Downgrade,
    /// Whether `Weak::upgrade` of the weak handle gives a handle, which is kept.
    Upgrade,
    /// Drops the weak handle.
    DropWeak,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Loads an atomic.
    Load(usize, Ordering),
    /// Stores to an atomic.
    Store(usize, u64, Ordering),
    /// Changes an atomic.
    Fetch(Change, usize, u64, Ordering),
    /// Compares and exchanges.
    CompareExchange(Exchange),
    /// A fence.
    Fence(Ordering),
    /// Loads in a loop until the atomic holds a value; gives way in each round if the last part says so.
    SpinUntil(usize, u64, Ordering, bool),
    /// Reads plain data.
    Read(usize),
    /// Writes plain data.
    Write(usize, u64),
    /// Takes a lock, does something, and gives it back. Or does nothing if it only tries and the lock is not free: the thread
    /// sees which, if it only tries.
    Locked {
        /// How.
        mode: Mode,
        /// Which.
        lock: usize,
        /// Whether it only tries.
        only_try: bool,
        /// What is done meanwhile.
        body: Body,
    },
    /// Sees what the mutex holds and puts something else there. Stands inside of that lock.
    Replace(Mode, usize, u64),
    /// Waits at the condition variable until its mutex holds something else than 0. Sees what, and whether time was over.
    WaitWhileZero {
        /// The mutex, which has a condition variable of its own.
        mutex: usize,
        /// In microseconds.
        timeout: Option<u64>,
    },
    /// `notify_one` or `notify_all` of the condition variable of a mutex.
    Notify(usize, bool),
    /// Sends; sees whether there is a receiver.
    Send(u64),
    /// Receives.
    Receive,
    /// Receives, if there is something.
    TryReceive,
    /// Receives for at most so many microseconds.
    ReceiveTimeout(u64),
    /// Drops this thread's sender.
    DropSender,
    /// Drops the receiver.
    DropReceiver,
    /// `thread::park`
    Park,
    /// `thread::park_timeout`, in microseconds.
    ParkTimeout(u64),
    /// Unparks a thread: the one that started this one, or one that this one started.
    Unpark(ThreadId),
    /// Waits at the barrier; sees whether it is the leader.
    Barrier,
    /// Initialises, unless that was done: does something, and the value is set. Sees the value.
    Initialise(OnceKind, usize, Body, u64),
    /// Whether it is initialised.
    IsInitialised(OnceKind, usize),
    /// Something about the `Arc`. A thread without a handle does nothing.
    Arc(ArcOp),
    /// Starts a thread.
    Spawn(ThreadId),
    /// Joins a thread that this one started.
    Join(ThreadId),
    /// `is_finished` of a thread that this one started.
    IsFinished(ThreadId),
    /// Starts threads in a scope, does something, and ends the scope.
    Scope(Vec<ThreadId>, Body),
    /// `thread::sleep`, in microseconds.
    Sleep(u64),
    /// `thread::yield_now`
    Yield,
    /// Initialises a thread-local, whose destructor adds to an atomic.
    ThreadLocal,
}

/// The atomic that the destructor of the thread-local adds 1 to.
pub const DESTRUCTOR_ADDS_TO: usize = 0;

/// Stands for "no value".
pub const NOTHING: u64 = u64::MAX;

/// Stands for "too late".
pub const TIMED_OUT: u64 = u64::MAX - 1;

impl Width {
    /// All of them.
    pub const ALL: [Width; 7] =
        [Width::Bool, Width::U8, Width::U16, Width::U32, Width::U64, Width::Usize, Width::Ptr];

    /// What a value is in this type.
    pub fn fit(self, value: u64) -> u64 {
        match self {
            Width::Bool => value & 1,
            Width::U8 => value & 0xff,
            Width::U16 => value & 0xffff,
            Width::U32 => value & 0xffff_ffff,
            Width::U64 | Width::Usize | Width::Ptr => value,
        }
    }

    /// Whether the type has such an operation.
    pub fn can(self, change: Change) -> bool {
        match self {
            Width::Bool => matches!(change, Change::Swap | Change::And | Change::Or | Change::Xor),
            Width::Ptr => change == Change::Swap,
            _ => true,
        }
    }
}

impl OnceKind {
    /// All of them.
    pub const ALL: [OnceKind; 3] = [OnceKind::Once, OnceKind::OnceLock, OnceKind::LazyLock];
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 8] = [
        Change::Swap,
        Change::Add,
        Change::Sub,
        Change::And,
        Change::Or,
        Change::Xor,
        Change::Min,
        Change::Max,
    ];

    /// What becomes of a value.
    pub fn of(self, old: u64, operand: u64) -> u64 {
        match self {
            Change::Swap => operand,
            Change::Add => old.wrapping_add(operand),
            Change::Sub => old.wrapping_sub(operand),
            Change::And => old & operand,
            Change::Or => old | operand,
            Change::Xor => old ^ operand,
            Change::Min => old.min(operand),
            Change::Max => old.max(operand),
        }
    }
}

impl Op {
    /// What is done inside of it.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Op::Locked { body, .. } | Op::Initialise(_, _, body, _) | Op::Scope(_, body) => Some(body),
            _ => None,
        }
    }

    /// What is done inside of it.
    pub fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Op::Locked { body, .. } | Op::Initialise(_, _, body, _) | Op::Scope(_, body) => Some(body),
            _ => None,
        }
    }

    /// The threads that it starts.
    pub fn starts(&self) -> &[ThreadId] {
        match self {
            Op::Spawn(thread) => std::slice::from_ref(thread),
            Op::Scope(threads, _) => threads,
            _ => &[],
        }
    }
}

/// The operations, with those inside of others, in the order of the text.
pub fn flat(body: &[Op]) -> Vec<&Op> {
    body.iter()
        .flat_map(|op| std::iter::once(op).chain(op.body().map_or(Vec::new(), |inner| flat(inner))))
        .collect()
}

impl Program {
    /// Whether some operation of any thread is like that.
    pub fn has(&self, like: impl Fn(&Op) -> bool) -> bool {
        self.threads.iter().any(|body| flat(body).into_iter().any(&like))
    }

    /// Whether some operation of one thread is like that.
    pub fn thread_has(&self, thread: ThreadId, like: impl Fn(&Op) -> bool) -> bool {
        flat(&self.threads[thread]).into_iter().any(like)
    }

    /// Whether a thread begins with a sender.
    pub fn has_sender(&self, thread: ThreadId) -> bool {
        self.thread_has(thread, |op| matches!(op, Op::Send(_) | Op::DropSender))
    }

    /// The thread that begins with the receiver.
    pub fn receiver(&self) -> Option<ThreadId> {
        (0..self.threads.len()).find(|&thread| self.thread_has(thread, Op::receives))
    }

    /// Whether there is a channel.
    pub fn has_channel(&self) -> bool {
        self.receiver().is_some() || (0..self.threads.len()).any(|thread| self.has_sender(thread))
    }

    /// Whether a thread begins with a handle of the `Arc`.
    pub fn has_arc(&self, thread: ThreadId) -> bool {
        self.thread_has(thread, |op| matches!(op, Op::Arc(_)))
    }

    /// How many mutexes there are, or locks for reading and writing.
    pub fn locks(&self, of_mutex: bool) -> usize {
        let number = |op: &Op| match op {
            Op::Locked { mode, lock, .. } if (*mode == Mode::Mutex) == of_mutex => lock + 1,
            Op::WaitWhileZero { mutex, .. } | Op::Notify(mutex, _) if of_mutex => mutex + 1,
            _ => 0,
        };
        self.most(number)
    }

    /// How many objects there are that are initialised once.
    pub fn onces(&self, kind: OnceKind) -> usize {
        self.most(|op| match op {
            Op::Initialise(of, number, ..) | Op::IsInitialised(of, number) if *of == kind => number + 1,
            _ => 0,
        })
    }

    /// How many pieces of plain data there are.
    pub fn cells(&self) -> usize {
        self.most(|op| match op {
            Op::Read(cell) | Op::Write(cell, _) => cell + 1,
            _ => 0,
        })
    }

    fn most(&self, number: impl Fn(&Op) -> usize) -> usize {
        self.threads.iter().flat_map(|body| flat(body)).map(number).max().unwrap_or(0)
    }

    /// The threads that are started by `spawn`, in a scope or not at all.
    pub fn started_by(&self, thread: ThreadId) -> Option<(ThreadId, &Op)> {
        let starts = |(by, body)| {
            let op = flat(body).into_iter().find(|op| op.starts().contains(&thread))?;
            Some((by, op))
        };
        self.threads.iter().map(Vec::as_slice).enumerate().find_map(starts)
    }
}

impl Op {
    /// Whether it needs the receiver.
    pub fn receives(&self) -> bool {
        matches!(self, Op::Receive | Op::TryReceive | Op::ReceiveTimeout(_) | Op::DropReceiver)
    }

    /// Whether it accesses an atomic.
    pub fn accesses(&self, atomic: usize) -> bool {
        match self {
            Op::Load(at, _) | Op::Store(at, ..) | Op::Fetch(_, at, ..) | Op::SpinUntil(at, ..) => {
                *at == atomic
            }
            Op::CompareExchange(exchange) => exchange.at == atomic,
            _ => false,
        }
    }

    /// What of std it is about.
    pub fn primitive(&self) -> &'static str {
        match self {
            Op::Load(..) => "load",
            Op::Store(..) => "store",
            Op::Fetch(..) => "fetch",
            Op::CompareExchange(_) => "compare_exchange",
            Op::Fence(_) => "fence",
            Op::SpinUntil(..) => "spin loop",
            Op::Read(_) | Op::Write(..) => "plain data",
            Op::Locked { mode: Mode::Mutex, only_try: false, .. } => "Mutex::lock",
            Op::Locked { mode: Mode::Mutex, only_try: true, .. } => "Mutex::try_lock",
            Op::Locked { mode: Mode::Read, only_try: false, .. } => "RwLock::read",
            Op::Locked { mode: Mode::Read, only_try: true, .. } => "RwLock::try_read",
            Op::Locked { mode: Mode::Write, only_try: false, .. } => "RwLock::write",
            Op::Locked { mode: Mode::Write, only_try: true, .. } => "RwLock::try_write",
            Op::Replace(..) => "data in a lock",
            Op::WaitWhileZero { timeout: None, .. } => "Condvar::wait",
            Op::WaitWhileZero { timeout: Some(_), .. } => "Condvar::wait_timeout",
            Op::Notify(..) => "Condvar::notify",
            Op::Send(_) => "send",
            Op::Receive => "recv",
            Op::TryReceive => "try_recv",
            Op::ReceiveTimeout(_) => "recv_timeout",
            Op::DropSender | Op::DropReceiver => "drop of a channel",
            Op::Park => "park",
            Op::ParkTimeout(_) => "park_timeout",
            Op::Unpark(_) => "unpark",
            Op::Barrier => "Barrier",
            Op::Initialise(OnceKind::Once, ..) | Op::IsInitialised(OnceKind::Once, _) => "Once",
            Op::Initialise(OnceKind::OnceLock, ..) | Op::IsInitialised(OnceKind::OnceLock, _) => "OnceLock",
            Op::Initialise(OnceKind::LazyLock, ..) | Op::IsInitialised(OnceKind::LazyLock, _) => "LazyLock",
            Op::Arc(_) => "Arc",
            Op::Spawn(_) => "spawn",
            Op::Join(_) => "join",
            Op::IsFinished(_) => "is_finished",
            Op::Scope(..) => "scope",
            Op::Sleep(_) => "sleep",
            Op::Yield => "yield_now",
            Op::ThreadLocal => "thread-local",
        }
    }
}
