//! One virtual thread.

mod graph_driven;

pub(crate) use self::graph_driven::{Expansion, HandleCounts, Hold, Left, Scope, VALUES};

use std::cell::Cell;
use std::ffi::c_void;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

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

/// What a POSIX thread runs.
pub type StartRoutine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A destructor of a thread-local and its argument.
pub type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

pub use crate::platform::global::KeyDestructor;

/// Why a thread does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can run.
    Runnable,
    /// It waits for a wake-up at an address.
    Futex {
        /// The address.
        address: usize,
        /// The wakers it listens to.
        mask: u32,
    },
    /// It waits for the mutex at an address to be unlocked.
    Lock {
        /// The address.
        address: usize,
    },
    /// It waits for a thread to end.
    Join(ThreadId),
    /// It waits for the threads of a scope to end.
    JoinScope,
    /// It waits for the clock.
    Sleeping,
    /// It would only read the same values again.
    Spinning,
    /// It has ended.
    Finished,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// By another thread.
    Woken,
    /// By the clock.
    TimedOut,
}

/// What a virtual thread runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// The closure under test.
    Root(*mut dyn FnMut()),
    /// What the code under test passed to `pthread_create`.
    Routine(StartRoutine, *mut c_void),
}

/// One virtual thread. The object, its stack and its lender are kept for the thread of the same number in the next
/// execution.
pub struct VThread {
    /// Its number.
    pub id: ThreadId,
    /// How it stands in the current execution.
    run: ThreadState,
    /// How it stood when that was last copied, and whether anything may have changed since.
    copied: Option<Rc<ThreadState>>,
    changed: bool,
    /// What it has read since it last wrote, unless the search is exhaustive.
    pub(crate) spin: SpinWatch,
    /// Where it last paused, while a trace is recorded.
    pub(crate) paused_at: Vec<CallFrame>,
    /// The stack of the thread's slot, which coroutines run on.
    pub(crate) slot: SlotStack,
    /// The stack that the thread runs on.
    pub(crate) stack: SlotStack,
    pub(crate) lender: TlsDonor,
    /// What it is, if it is no coroutine.
    pub(crate) os_thread: Option<Box<OsThread>>,
}

/// How a virtual thread stands in an execution: with its stack, its thread-locals and memory, all that it needs to go on.
#[derive(Debug)]
pub struct ThreadState {
    /// Whether it can run.
    pub state: State,
    /// What it does when it runs next.
    pub pending: Pending,
    /// How its last wait ended.
    pub wake: Wake,
    /// Its name, where it was given one.
    pub name: Option<String>,
    /// Whether a panic ended it.
    pub panicked: bool,
    /// Whether another thread took note of its end.
    pub joined: bool,
    pub(crate) detached: bool,
    pub(crate) result: *mut c_void,
    pub(crate) destructors: Vec<Destructor>,
    /// Values of `pthread_setspecific`.
    pub(crate) specific: Vec<(u32, *mut c_void)>,
    /// What it has read since it last had an effect, if the search is exhaustive.
    pub(crate) rounds: SpinDetector,
    /// What it had in registers when it called for the atomic access that it makes, if the search is exhaustive.
    pub(crate) registers: Registers,
    /// Its scope, if it has one and the search is exhaustive.
    pub(crate) scope: Option<Scope>,
    /// The scope of the thread that it is about to make.
    pub(crate) enters: Option<Scope>,
    /// Whether it ends a scope whose threads run, and parks next for that reason.
    pub(crate) ends_scope: bool,
    /// The counts of handles that it has made, the latest last.
    pub(crate) made_counts: HandleCounts,
    /// Those that its parent had made: the count of the handles of its result is one of them.
    pub(crate) handle_counts: HandleCounts,
    /// The thread whose handle it dropped last, if a scope does not know yet that this is over.
    pub(crate) dropped_handle: Option<ThreadId>,
    /// How many threads it has made.
    pub(crate) children: u32,
    /// Which of the threads that its parent made it is like.
    pub(crate) kind: Option<u64>,
    /// Of which kind the threads are that it makes.
    pub(crate) makes: Option<u64>,
    /// The event that woke it last, if the search is exhaustive.
    pub(crate) woken_by: u32,
    /// Whether it was woken since it last began to wait.
    pub(crate) woken: bool,
    /// Whether the next wait is that of a condition variable. Only noted unless the search is exhaustive.
    pub(crate) in_condvar_wait: bool,
    /// Whether a wait of it has ended although nobody ended it.
    pub(crate) woken_spuriously: bool,
    /// Whether a compare-exchange of it has failed although the place held what was expected.
    pub(crate) failed_spuriously: bool,
    /// How often it has looked at the clock since its last event, if the search is exhaustive.
    pub(crate) polls: u32,
    /// How many of its timeouts have ended although others could go on, if the search is exhaustive.
    pub(crate) early_timeouts: u8,
    /// What it is in the middle of giving up, if that is the last handle of a counted value and nobody can have noticed yet.
    pub(crate) dropping: Option<FinalDrop>,
    /// Whether the count that it changed last is one whose accesses are all events.
    pub(crate) counted_exactly: bool,
    /// The locks of `RwLock` that it holds, if the search is exhaustive.
    pub(crate) holds: Vec<Hold>,
    /// Set between the halves of a read-modify-write that the compiler expanded into a loop.
    pub(crate) in_expanded_rmw: bool,
    /// The same, along an execution graph.
    pub(crate) expansion: Expansion,
    /// Whether its last access was a sequentially consistent read-modify-write. Only noted if memory is remembered.
    pub(crate) made_sc_rmw: bool,
    /// What it gets when it asks for random bytes. Each thread has bytes of its own, which do not depend on what others do.
    pub(crate) random: Rng,
    /// What it begins with.
    pub(crate) start: Option<Start>,
    /// Where it goes on, if it is a coroutine.
    pub(crate) context: Context,
}

/// Threads of earlier explorations, whose stacks and thread-locals the next one uses. Empty
/// while an exploration runs.
struct Spare(Cell<Threads>);

// SAFETY: used by the thread whose turn it is to explore.
unsafe impl Sync for Spare {}

static SPARE: Spare = Spare(Cell::new(Vec::new()));

/// The threads that an earlier exploration left.
pub(crate) fn take_spare() -> Threads {
    SPARE.0.take()
}

/// Leaves threads to later explorations.
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
    /// Of a thread that has yet to be made.
    fn default() -> ThreadState {
        ThreadState {
            state: State::Finished,
            pending: Pending::NOTHING,
            wake: Wake::Woken,
            name: None,
            panicked: false,
            joined: false,
            detached: false,
            result: std::ptr::null_mut(),
            destructors: Vec::new(),
            specific: Vec::new(),
            rounds: SpinDetector::default(),
            registers: Registers::EMPTY,
            scope: None,
            enters: None,
            ends_scope: false,
            made_counts: HandleCounts::default(),
            handle_counts: HandleCounts::default(),
            dropped_handle: None,
            children: 0,
            kind: None,
            makes: None,
            woken_by: 0,
            woken: false,
            in_condvar_wait: false,
            woken_spuriously: false,
            failed_spuriously: false,
            polls: 0,
            early_timeouts: 0,
            dropping: None,
            counted_exactly: false,
            holds: Vec::new(),
            in_expanded_rmw: false,
            expansion: Expansion::None,
            made_sc_rmw: false,
            random: Rng::default(),
            start: None,
            context: 0,
        }
    }
}

impl Clone for ThreadState {
    fn clone(&self) -> ThreadState {
        let mut copy = ThreadState::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &ThreadState) {
        self.destructors.clone_from(&other.destructors);
        self.specific.clone_from(&other.specific);
        self.rounds.clone_from(&other.rounds);
        self.holds.clone_from(&other.holds);
        *self = ThreadState {
            name: other.name.clone(),
            destructors: mem::take(&mut self.destructors),
            specific: mem::take(&mut self.specific),
            rounds: mem::take(&mut self.rounds),
            holds: mem::take(&mut self.holds),
            random: other.random.clone(),
            ..*other
        };
    }
}

impl Deref for VThread {
    type Target = ThreadState;

    #[inline]
    fn deref(&self) -> &ThreadState {
        &self.run
    }
}

impl DerefMut for VThread {
    #[inline]
    fn deref_mut(&mut self) -> &mut ThreadState {
        self.changed = true;
        &mut self.run
    }
}

impl VThread {
    pub(crate) fn new(id: usize, stack_size: usize) -> VThread {
        let slot = SlotStack::map(id, stack_size);
        heap::map(id);
        VThread {
            id: id as ThreadId,
            run: ThreadState::default(),
            copied: None,
            changed: true,
            spin: SpinWatch::default(),
            paused_at: Vec::new(),
            slot,
            stack: slot,
            lender: TlsDonor::start(id),
            os_thread: None,
        }
    }

    /// Says how the thread stands now.
    pub(crate) fn copy_to(&mut self, to: &mut Rc<ThreadState>) {
        if self.changed {
            // It may be the one that is written to.
            self.copied = None;
            match Rc::get_mut(to) {
                Some(to) => to.clone_from(&self.run),
                None => *to = Rc::new(self.run.clone()),
            }
            self.changed = false;
            self.copied = Some(Rc::clone(to));
        } else if let Some(copied) = &self.copied {
            to.clone_from(copied);
        }
    }

    /// Lets the thread stand as it did.
    pub(crate) fn take_up(&mut self, run: &Rc<ThreadState>) {
        if self.changed || !self.copied.as_ref().is_some_and(|copied| Rc::ptr_eq(copied, run)) {
            self.run.clone_from(run);
            self.copied = Some(Rc::clone(run));
            self.changed = false;
        }
    }

    /// Makes the thread new, ready to begin with `start`.
    pub(crate) fn renew(&mut self, start: Start, seed: u64) {
        self.random = Rng::of_execution(seed, self.id.into());
        self.state = State::Runnable;
        self.pending = Pending::NOTHING;
        self.name = None;
        self.panicked = false;
        self.joined = false;
        self.paused_at.clear();
        self.detached = false;
        self.result = std::ptr::null_mut();
        self.spin.reset();
        self.rounds.reset();
        self.scope = None;
        self.enters = None;
        self.ends_scope = false;
        self.made_counts = HandleCounts::default();
        self.handle_counts = HandleCounts::default();
        self.dropped_handle = None;
        self.children = 0;
        self.dropping = None;
        self.counted_exactly = false;
        self.in_condvar_wait = false;
        self.woken_spuriously = false;
        self.failed_spuriously = false;
        self.polls = 0;
        self.early_timeouts = 0;
        self.holds.clear();
        self.kind = None;
        self.makes = None;
        self.in_expanded_rmw = false;
        self.expansion = Expansion::None;
        self.made_sc_rmw = false;
        self.start = Some(start);
    }

    /// Whether it holds the `RwLock` at the address.
    pub(crate) fn holds_lock(&self, lock: usize) -> bool {
        self.holds.iter().any(|hold| hold.lock == lock)
    }

    /// The execution has no thread of this number so far.
    pub(crate) fn leave_out(&mut self) {
        self.state = State::Finished;
        self.name = None;
        self.panicked = false;
        self.joined = true;
        self.paused_at.clear();
    }

    /// Drops what is left of the thread's run, when it has ended or is abandoned as it stands: thread-locals are made new.
    pub(crate) fn clear(&mut self) {
        self.destructors.clear();
        self.specific.clear();
        self.holds.clear();
        self.lender.restore();
        self.start = None;
        self.state = State::Finished;
    }
}

impl std::fmt::Debug for VThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VThread").field("id", &self.id).field("state", &self.state).finish_non_exhaustive()
    }
}
