//! One virtual thread.

use std::ffi::c_void;

use corosensei::{Coroutine, Yielder};

use crate::event::Pending;
use crate::lender::Lender;
use crate::spin::SpinWatch;
use crate::stack::SlotStack;

/// The number of a virtual thread within an execution. 0 runs the closure; the others are numbered as they are made.
pub type ThreadId = u16;

/// What a POSIX thread runs.
pub type StartRoutine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A destructor of a thread-local and its argument.
pub type Destructor = (unsafe extern "C" fn(*mut u8), *mut u8);

pub(crate) type ThreadCoroutine = Coroutine<(), (), End, SlotStack>;

/// How a coroutine came back for the last time.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// It ran to its end.
    Returned,
    /// A signal ended it; the engine's outcome says which.
    Trapped,
}

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
    pub(crate) spin: SpinWatch,
    /// Set between the halves of a read-modify-write that the compiler expanded into a loop.
    pub(crate) in_expanded_rmw: bool,
    pub(crate) stack: SlotStack,
    pub(crate) lender: Lender,
    pub(crate) coroutine: Option<ThreadCoroutine>,
    pub(crate) yielder: *const Yielder<(), ()>,
}

impl VThread {
    pub(crate) fn new(id: usize, stack_size: usize) -> VThread {
        VThread {
            id: id as ThreadId,
            state: State::Finished,
            pending: Pending::NOTHING,
            wake: Wake::Woken,
            name: None,
            panicked: false,
            joined: false,
            detached: false,
            result: std::ptr::null_mut(),
            destructors: Vec::new(),
            spin: SpinWatch::default(),
            in_expanded_rmw: false,
            stack: SlotStack::map(id, stack_size),
            lender: Lender::start(id),
            coroutine: None,
            yielder: std::ptr::null(),
        }
    }

    /// Makes the thread new, ready to run `coroutine`.
    pub(crate) fn renew(&mut self, coroutine: ThreadCoroutine) {
        self.state = State::Runnable;
        self.pending = Pending::NOTHING;
        self.name = None;
        self.panicked = false;
        self.joined = false;
        self.detached = false;
        self.result = std::ptr::null_mut();
        self.spin.reset();
        self.in_expanded_rmw = false;
        self.coroutine = Some(coroutine);
    }

    /// Drops what is left of the thread's run: its stack is abandoned as it stands, its thread-locals are made new.
    pub(crate) fn clear(&mut self) {
        if let Some(mut coroutine) = self.coroutine.take()
            && coroutine.started()
            && !coroutine.done()
        {
            // SAFETY: nothing on the stack owns anything outside what is rolled back with it.
            unsafe { coroutine.force_reset() };
        }
        self.destructors.clear();
        self.lender.restore();
        self.state = State::Finished;
    }
}

impl std::fmt::Debug for VThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VThread").field("id", &self.id).field("state", &self.state).finish_non_exhaustive()
    }
}
