//! Virtual threads.

mod graph_driven;

pub(crate) use self::graph_driven::{Expansion, HandleCounts, Hold, Left, Scope, VALUES};

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use crate::in_place::in_place;
use crate::isolate::heap;
use crate::model_checker::FinalDrop;
use crate::op::{Pending, ThreadId};
use crate::platform::coroutine::Context;
use crate::platform::global::Registers;
use crate::platform::os_thread::OsThread;
use crate::platform::stack::SlotStack;
use crate::platform::tls_donor::TlsDonor;
use crate::platform::unwind::CallFrame;
use crate::rng::Rng;
use crate::spinloop::detect::SpinDetector;
use crate::spinloop::watch::SpinWatch;

/// The start routine of a POSIX thread.
pub type StartRoutine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A destructor of a thread-local and its argument.
pub type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

pub use crate::platform::global::KeyDestructor;

/// The status of a thread: runnable, ended, or what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// Runnable.
    Runnable,
    /// Waits for a wake-up at a futex.
    Futex {
        /// The address.
        address: usize,
        /// The mask of the wake-ups that it accepts.
        mask: u32,
    },
    /// Waits for the mutex at an address to be unlocked.
    Lock {
        /// The address.
        address: usize,
    },
    /// Waits for a thread to end.
    Join(ThreadId),
    /// Waits for the threads of a scope to leave it.
    JoinScope,
    /// Waits for the clock.
    Sleeping,
    /// Spins: would only read the same values again.
    Spinning,
    /// Ended.
    Finished,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// By another thread.
    Woken,
    /// By the clock.
    TimedOut,
}

/// The entry point of a virtual thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// The closure under test.
    Root(*mut dyn FnMut()),
    /// The routine and argument of `pthread_create`.
    Routine(StartRoutine, *mut c_void),
}

/// A virtual thread. The object, its stack and its TLS donor are reused for the thread of the same number in the next
/// execution.
pub struct VThread {
    /// Its number.
    pub id: ThreadId,
    /// State in the current execution.
    state: ThreadState,
    /// The last snapshot of the state, and whether the state may have changed since.
    snapshot: Option<Rc<ThreadState>>,
    is_changed: bool,
    /// Detects spinloops, in interleavings.
    pub(crate) spin: SpinWatch,
    /// The call stack of the last pause, if stacks are saved.
    pub(crate) paused_at: Vec<CallFrame>,
    /// The stack of the thread's slot, on which coroutines run.
    pub(crate) slot: SlotStack,
    /// The stack that the thread runs on.
    pub(crate) stack: SlotStack,
    pub(crate) tls: TlsDonor,
    /// The OS thread, if the thread is no coroutine.
    pub(crate) os_thread: Option<Box<OsThread>>,
}

in_place! {
    /// Per-execution state of a virtual thread. With its stack, thread-locals and heap, all that a checkpoint must
    /// save.
    #[derive(Debug)]
    pub struct ThreadState {
        /// Whether the thread is runnable.
        pub status: ThreadStatus,
        /// The step that the thread takes next.
        pub pending: Pending,
        /// The thread that goes on when this one, which started eagerly, comes to its first event.
        pub(crate) returns_to: Option<ThreadId>,
        /// The end of the last wait.
        pub wake: Wake,
        /// The name, if the program gave one.
        pub name: Option<String>,
        /// Whether the thread panicked.
        pub panicked: bool,
        /// Whether another thread joined it.
        pub joined: bool,
        pub(crate) detached: bool,
        pub(crate) result: *mut c_void,
        pub(crate) destructors: Vec<Destructor>,
        /// Values of `pthread_setspecific`.
        pub(crate) specific: Vec<(u32, *mut c_void)>,
        /// Detects spinloops, in graph-driven executions.
        pub(crate) spin_detector: SpinDetector,
        /// The caller's registers at the current atomic access, in graph-driven executions.
        pub(crate) registers: Registers,
        /// The scope of the thread, in graph-driven executions.
        pub(crate) scope: Option<Scope>,
        /// The scope of the thread that is spawned next.
        pub(crate) enters: Option<Scope>,
        /// Whether the thread ends a scope whose threads run, and parks next for that reason.
        pub(crate) ends_scope: bool,
        /// The latest reference counts that `std::thread` made in this thread, the last one last.
        pub(crate) made_counts: HandleCounts,
        /// The same of its parent at the spawn: the count of the thread's result is one of them.
        pub(crate) handle_counts: HandleCounts,
        /// The thread whose handle was dropped last, if the scope has not counted it down yet.
        pub(crate) dropped_handle: Option<ThreadId>,
        /// Number of spawned threads.
        pub(crate) children: u32,
        /// The symmetry class: threads of one parent and class are symmetric.
        pub(crate) symmetry_class: Option<u64>,
        /// The symmetry class of the threads that it spawns.
        pub(crate) child_class: Option<u64>,
        /// The event that woke the thread last, in graph-driven executions.
        pub(crate) woken_by: u32,
        /// Whether the thread was woken since it last began to wait.
        pub(crate) woken: bool,
        /// Whether the next futex wait is that of a condition variable. Only set in interleavings.
        pub(crate) in_condvar_wait: bool,
        /// Whether the thread is within an operation of a monitor, whose parts are not recorded.
        pub(crate) in_monitor: bool,
        /// Whether a wait has ended spuriously.
        pub(crate) woken_spuriously: bool,
        /// Whether a compare-exchange has failed spuriously.
        pub(crate) failed_spuriously: bool,
        /// Reads of the clock since the last event, in graph-driven executions.
        pub(crate) polls: u32,
        /// Number of timeouts that expired early, in graph-driven executions.
        pub(crate) early_timeouts: u8,
        /// The value that the thread is dropping, if it had the last reference and the drop had no effect yet.
        pub(crate) dropping: Option<FinalDrop>,
        /// Whether the last reference count that the thread changed is precise: all its accesses are events.
        pub(crate) counted_precisely: bool,
        /// The locks of `RwLock`s that the thread holds, in graph-driven executions.
        pub(crate) holds: Vec<Hold>,
        /// Set between the attempts of a read-modify-write that the compiler expanded into a loop.
        pub(crate) in_expanded_rmw: bool,
        /// The same, in graph-driven executions.
        pub(crate) expansion: Expansion,
        /// Whether the last access was a sequentially consistent read-modify-write. Only set if clocks are kept.
        pub(crate) last_was_sc_rmw: bool,
        /// The random bytes of the thread. They do not depend on other threads.
        pub(crate) random: Rng,
        /// The entry point, until the thread begins.
        pub(crate) start: Option<Start>,
        /// The saved context of a paused coroutine.
        pub(crate) context: Context,
    }
}

/// Threads of earlier explorations, whose stacks and thread-locals the next one reuses. Empty while an exploration
/// runs.
struct Spare(Cell<Threads>);

// SAFETY: used only by the thread whose turn it is to explore.
unsafe impl Sync for Spare {}

static SPARE: Spare = Spare(Cell::new(Vec::new()));

/// Takes the threads of an earlier exploration.
pub(crate) fn take_spare() -> Threads {
    SPARE.0.take()
}

/// Leaves threads for later explorations.
pub(crate) fn keep_spare(threads: Threads) {
    SPARE.0.set(threads);
}

/// The threads of an execution, by number.
#[allow(
    clippy::vec_box,
    reason = "a thread must stay where it is while it runs, and may make others meanwhile"
)]
pub(crate) type Threads = Vec<Box<VThread>>;

impl Default for ThreadState {
    /// The state of a thread that is not spawned yet.
    fn default() -> ThreadState {
        ThreadState {
            status: ThreadStatus::Finished,
            pending: Pending::NOTHING,
            returns_to: None,
            wake: Wake::Woken,
            name: None,
            panicked: false,
            joined: false,
            detached: false,
            result: std::ptr::null_mut(),
            destructors: Vec::new(),
            specific: Vec::new(),
            spin_detector: SpinDetector::default(),
            registers: Registers::EMPTY,
            scope: None,
            enters: None,
            ends_scope: false,
            made_counts: HandleCounts::default(),
            handle_counts: HandleCounts::default(),
            dropped_handle: None,
            children: 0,
            symmetry_class: None,
            child_class: None,
            woken_by: 0,
            woken: false,
            in_condvar_wait: false,
            in_monitor: false,
            woken_spuriously: false,
            failed_spuriously: false,
            polls: 0,
            early_timeouts: 0,
            dropping: None,
            counted_precisely: false,
            holds: Vec::new(),
            in_expanded_rmw: false,
            expansion: Expansion::None,
            last_was_sc_rmw: false,
            random: Rng::default(),
            start: None,
            context: 0,
        }
    }
}

impl Deref for VThread {
    type Target = ThreadState;

    #[inline]
    fn deref(&self) -> &ThreadState {
        &self.state
    }
}

impl DerefMut for VThread {
    #[inline]
    fn deref_mut(&mut self) -> &mut ThreadState {
        self.is_changed = true;
        &mut self.state
    }
}

impl VThread {
    pub(crate) fn new(id: usize, stack_size: usize) -> VThread {
        let slot = SlotStack::map(id, stack_size);
        heap::map(id);
        VThread {
            id: id as ThreadId,
            state: ThreadState::default(),
            snapshot: None,
            is_changed: true,
            spin: SpinWatch::default(),
            paused_at: Vec::new(),
            slot,
            stack: slot,
            tls: TlsDonor::start(id),
            os_thread: None,
        }
    }

    /// Copies the state into a snapshot, which is shared as long as the state does not change.
    pub(crate) fn snapshot_to(&mut self, to: &mut Rc<ThreadState>) {
        if self.is_changed {
            // The last snapshot may be `to` itself, and must not be shared when it is overwritten.
            self.snapshot = None;
            match Rc::get_mut(to) {
                Some(to) => to.clone_from(&self.state),
                None => *to = Rc::new(self.state.clone()),
            }
            self.is_changed = false;
            self.snapshot = Some(Rc::clone(to));
        } else if let Some(snapshot) = &self.snapshot {
            to.clone_from(snapshot);
        }
    }

    /// Restores the state from a snapshot.
    pub(crate) fn restore(&mut self, state: &Rc<ThreadState>) {
        if self.is_changed || !self.snapshot.as_ref().is_some_and(|snapshot| Rc::ptr_eq(snapshot, state)) {
            self.state.clone_from(state);
            self.snapshot = Some(Rc::clone(state));
            self.is_changed = false;
        }
    }

    /// Resets the thread to the initial state, ready to begin with `start`.
    pub(crate) fn renew(&mut self, start: Start, seed: u64, initial: &ThreadState) {
        self.paused_at.clear();
        self.spin.reset();
        let random = Rng::of_execution(seed, self.id.into());
        let state: &mut ThreadState = self;
        state.clone_from(initial);
        state.status = ThreadStatus::Runnable;
        state.random = random;
        state.start = Some(start);
    }

    /// Whether the thread holds the `RwLock` at the address.
    pub(crate) fn holds_lock(&self, lock: usize) -> bool {
        self.holds.iter().any(|hold| hold.lock == lock)
    }

    /// Marks the number as one without a thread so far.
    pub(crate) fn leave_out(&mut self) {
        self.status = ThreadStatus::Finished;
        self.name = None;
        self.panicked = false;
        self.joined = true;
        self.paused_at.clear();
    }

    /// Drops the remaining state of a thread that has ended or is abandoned, and restores its thread-locals.
    pub(crate) fn clear(&mut self) {
        self.destructors.clear();
        self.specific.clear();
        self.holds.clear();
        self.tls.restore();
        self.start = None;
        self.status = ThreadStatus::Finished;
    }
}

impl std::fmt::Debug for VThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VThread").field("id", &self.id).field("status", &self.status).finish_non_exhaustive()
    }
}
