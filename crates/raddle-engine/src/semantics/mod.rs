//! The two semantics of threads' operations.
//!
//! | | [`Interleaving`](interleaving::Interleaving) | [`GraphDriven`](graph_driven::GraphDriven) |
//! |---|---|---|
//! | explorations | strategies that sample or enumerate schedules | the exhaustive search |
//! | next thread | the strategy chooses | the execution graph says, and beyond its end any thread |
//! | value of a read | memory, or an older store of the location's history | the write that the graph has it read from |
//! | functions of std that block | run, as one step between two events | are made step by step |
//! | spinning thread | suspended until a location that it read changes | reads blocked until another value is there |
//!
//! [`Semantics`] is the contract. The [`interface`](crate::interface) turns intercepted calls into its operations, and
//! the [machine](crate::execution) asks it for the next thread, the beginning of executions, and the relations between
//! events.
//!
//! **Invariant:** `dispatch!` is the only place that asks which semantics an exploration has. Every difference between
//! the two is an operation of the trait; everything that they share is a method of [`Engine`].

pub(crate) mod graph_driven;
pub(crate) mod interleaving;
mod op;
pub(crate) mod spurious;
mod std_call;
pub(crate) mod unobserved;

pub(crate) use self::op::{AtomicKind, AtomicOp};
pub use self::std_call::{MonitorCall, StdCall};

use std::ops::Range;

use crate::execution::Engine;
use crate::op::{Caller, Int, Order, ThreadId};
use crate::platform::global::GLOBAL;
use crate::schedule::Schedule;
use crate::thread::{Start, Wake};
use crate::trace::{Action, Links};

/// A semantics of threads' operations.
///
/// Operations of a thread run on its stack, inside [`enter`]; those that take a pointer to the engine enter by
/// themselves. An operation may switch to other threads, and return much later. A graph-driven operation may even
/// return several times, once for each execution that begins at a checkpoint within it. Therefore no operation may own
/// memory of the engine while it takes a step.
pub(crate) trait Semantics {
    /// An atomic access. Returns the value that it reads; for a store, any value.
    ///
    /// # Safety
    /// `engine` must be the running engine, the caller a virtual thread, and the location valid for the access.
    unsafe fn atomic<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T;

    /// The orders of success and failure of a compare-exchange, from those in the program.
    fn exchange_orders(engine: &Engine, orders: [Order; 2]) -> [Order; 2];

    /// A fence.
    ///
    /// # Safety
    /// As for [`Semantics::atomic`].
    unsafe fn fence(engine: *mut Engine, caller: Caller, order: Order);

    /// A compiler fence that stands for a fence of the processor.
    ///
    /// # Safety
    /// As for [`Semantics::atomic`].
    unsafe fn compiler_fence(engine: *mut Engine, order: Order);

    /// A sequentially consistent fence in all threads.
    fn membarrier(engine: &mut Engine);

    /// Spawns a thread; calls `made` with its number before it can run.
    fn spawn(engine: &mut Engine, start: Start, made: impl FnOnce(ThreadId)) -> ThreadId;

    /// The current thread begins.
    fn begin_thread(engine: &mut Engine);

    /// The code of the current thread has returned; destructors of its thread-locals follow.
    fn end_thread(engine: &mut Engine);

    /// The current thread joins a thread that has ended.
    fn join(engine: &mut Engine, thread: ThreadId);

    /// The current thread drops the handle of another.
    fn detach(engine: &mut Engine, thread: ThreadId);

    /// The current thread panics.
    fn panics(engine: &mut Engine);

    /// The current thread waits at a futex until it is woken, or until the deadline, if the word holds the expected
    /// value. None if it does not.
    ///
    /// # Safety
    /// The word must be valid for reads.
    unsafe fn futex_wait(
        engine: &mut Engine,
        word: *const u32,
        expected: u32,
        mask: u32,
        deadline: Option<u64>,
    ) -> Option<Wake>;

    /// Wakes up to `count` threads at a futex; returns how many.
    fn futex_wake(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32;

    /// Wakes up to `wake` threads at one futex and moves up to `requeue` others to another; returns how many.
    fn futex_requeue(engine: &mut Engine, from: usize, to: usize, wake: u32, requeue: u32) -> (u32, u32);

    /// A call of an uninstrumented function of std. Returns the result if the call is not needed.
    ///
    /// # Safety
    /// The pointers of the call must be valid for their objects.
    unsafe fn std_call(engine: &mut Engine, call: StdCall) -> Option<u64>;

    /// An operation of a monitor, given by its lock and its condition.
    ///
    /// # Safety
    /// The words must be valid for writes.
    unsafe fn monitor(engine: &mut Engine, words: [*mut u32; 2], call: MonitorCall);

    /// The current thread begins a marked operation.
    fn begin_step(engine: &mut Engine);

    /// `Once::call` begins. Returns the word to call it with: the once, or the copy.
    ///
    /// # Safety
    /// `once` must be the word of a `Once`, and the copy private to the caller.
    unsafe fn begin_once(engine: &mut Engine, once: *mut u32, copy: *mut u32) -> *mut u32;

    /// `Once::call`, called with the word that [`Semantics::begin_once`] returned, has ended.
    ///
    /// # Safety
    /// As for [`Semantics::begin_once`].
    unsafe fn end_once(engine: &mut Engine, once: *mut u32, called: *mut u32);

    /// `Once::wait` or `wait_force` begins. `states` are those of a once before any call and of a complete one. Returns
    /// the word to call the function with.
    ///
    /// # Safety
    /// As for [`Semantics::begin_once`].
    unsafe fn wait_once(
        engine: &mut Engine,
        once: *mut u32,
        copy: *mut u32,
        force: bool,
        states: [u32; 2],
    ) -> *mut u32;

    /// The current thread yields, in a call that returns to `pc`.
    fn yield_now(engine: &mut Engine, pc: usize);

    /// The current thread sleeps until a time of the monotonic clock.
    fn sleep_until(engine: &mut Engine, deadline: u64);

    /// The current thread reads the monotonic clock, in a call that returns to `pc`.
    fn read_clock(engine: &mut Engine, pc: usize);

    /// Chooses one of several alternatives of the current thread, by its number. 0 is the usual one.
    fn choose(engine: &mut Engine, alternatives: u16) -> u16;

    /// Chooses one of the threads that wait at a futex, by its position among them; they are `waiting`.
    fn choose_waiter(engine: &mut Engine, address: usize, mask: u32, waiting: u16) -> u16;

    /// The current thread, number `me` of a scenario with `threads` threads, begins an operation, its `first` or
    /// another. Returns the event, if the beginning is one.
    fn begin_operation(engine: &mut Engine, me: usize, threads: usize, first: bool) -> Option<u32>;

    /// The current thread, number `me` of a scenario with `threads` threads, has completed its operation number
    /// `completed`. Returns the event, if the end is one.
    fn end_operation(engine: &mut Engine, me: usize, threads: usize, completed: u32) -> Option<u32>;

    /// Signals a waker: sets its word to 0, so that the awaiting thread goes on. False if the caller must wake the
    /// thread itself.
    ///
    /// # Safety
    /// The word must be valid for writes.
    unsafe fn signal(engine: &mut Engine, waker: *mut u32) -> bool;

    /// Awaits a signal: waits until the word of a waker is 0, and sets it to 1. False if the caller must wait itself.
    ///
    /// # Safety
    /// The word must be valid for writes.
    unsafe fn await_signal(engine: &mut Engine, waker: *mut u32) -> bool;

    /// Whether operations are ordered by happens-before only, not by real time.
    fn has_no_real_time(engine: &Engine) -> bool;

    /// The entry of a thread in the vector clock of the current one. None if no clocks are kept.
    fn seen_of(engine: &Engine, thread: ThreadId) -> Option<u32>;

    /// Begins an execution of `body`: makes its first thread, or restores a checkpoint.
    fn begin(engine: &mut Engine, body: *mut dyn FnMut());

    /// The next thread. None if the execution is over; then the outcome is set.
    fn next_thread(engine: &mut Engine) -> Option<ThreadId>;

    /// Validates an execution that passed: may change its outcome.
    fn validate(engine: &mut Engine);

    /// The choices that make the execution again.
    fn schedule(engine: &Engine) -> Schedule;

    /// The relations of the latest event of the current thread to others.
    fn links(engine: &Engine, action: &Action) -> Links;

    /// The position of each event in a linear extension that sequential consistency allows. None if there is none.
    fn linear_extension(engine: &Engine) -> Option<Vec<u32>>;

    /// The execution reaches its limit, and becomes fair.
    fn reach_limit(engine: &mut Engine);

    /// Whether the semantics must know of freed memory.
    fn tracks_frees(engine: &Engine) -> bool;

    /// The current thread frees memory.
    fn free(engine: &mut Engine, memory: &Range<usize>);

    /// Discards checkpoints, because threads turned out to share memory whose accesses were not recorded.
    fn forget_checkpoints(engine: &mut Engine);

    /// Ends the execution, which must be repeated, so that it is repeated next. Returns if only whole executions can be repeated.
    fn repeat_at_once(engine: &mut Engine);
}

/// Calls an operation of the exploration's semantics.
macro_rules! dispatch {
    ($engine:expr, $operation:ident($($argument:expr),* $(,)?)) => {
        if (*$engine).exploration.checker.is_none() {
            <$crate::semantics::interleaving::Interleaving as $crate::semantics::Semantics>::$operation(
                $engine $(, $argument)*
            )
        } else {
            <$crate::semantics::graph_driven::GraphDriven as $crate::semantics::Semantics>::$operation(
                $engine $(, $argument)*
            )
        }
    };
}
pub(crate) use dispatch;

/// Runs the engine's part of an operation: what it allocates is the engine's.
///
/// # Safety
/// `engine` must be the running engine, and the caller a virtual thread.
#[inline(always)]
pub(crate) unsafe fn enter<T>(engine: *mut Engine, work: impl FnOnce(&mut Engine) -> T) -> T {
    // SAFETY: the caller's; the reference ends with the call.
    let result = work(unsafe { begin_entry(engine) });
    end_entry();
    result
}

/// Begins the engine's part of an operation. The compiler does not inline long closures; what calls this and [`end_entry`] instead of
/// [`enter`] is compiled for each kind of access by itself.
///
/// # Safety
/// As for [`enter`]; the reference must not be used after [`end_entry`].
#[inline(always)]
pub(crate) unsafe fn begin_entry<'e>(engine: *mut Engine) -> &'e mut Engine {
    GLOBAL.in_engine.set(true);
    GLOBAL.last_announced.set(0);
    GLOBAL.volatile.set(0);
    // SAFETY: the caller's.
    unsafe { &mut *engine }
}

/// Ends the engine's part of an operation.
#[inline(always)]
pub(crate) fn end_entry() {
    GLOBAL.in_engine.set(false);
}

/// Operations that the machine calls.
impl Engine {
    pub(crate) fn begin_execution(&mut self, body: *mut dyn FnMut()) {
        dispatch!(self, begin(body))
    }

    pub(crate) fn begin_thread(&mut self) {
        dispatch!(self, begin_thread())
    }

    pub(crate) fn end_thread(&mut self) {
        dispatch!(self, end_thread())
    }

    /// The next thread: the one place where it is chosen. None if the execution is over; then the outcome is set.
    #[inline]
    pub(crate) fn next_thread(&mut self) -> Option<ThreadId> {
        dispatch!(self, next_thread())
    }

    pub(crate) fn choose(&mut self, alternatives: u16) -> u16 {
        dispatch!(self, choose(alternatives))
    }

    pub(crate) fn choose_waiter(&mut self, address: usize, mask: u32, waiting: u16) -> u16 {
        dispatch!(self, choose_waiter(address, mask, waiting))
    }

    pub(crate) fn validate(&mut self) {
        dispatch!(self, validate())
    }

    /// The choices that make the execution again.
    pub(crate) fn choices(&self) -> Schedule {
        Schedule {
            fair_since: self.fair_since(),
            random: self.random_of_execution(),
            ..dispatch!(self, schedule())
        }
    }

    pub(crate) fn links(&self, action: &Action) -> Links {
        dispatch!(self, links(action))
    }

    pub(crate) fn linear_extension(&self) -> Option<Vec<u32>> {
        dispatch!(self, linear_extension())
    }

    pub(crate) fn goes_on_fairly(&mut self) {
        dispatch!(self, reach_limit())
    }

    /// Whether frees must be reported to the engine.
    #[inline(always)]
    pub(crate) fn tracks_frees(&self) -> bool {
        self.execution.memory.is_some() || self.exploration.trace.is_some() || dispatch!(self, tracks_frees())
    }

    pub(crate) fn free(&mut self, memory: &Range<usize>) {
        dispatch!(self, free(memory))
    }

    pub(crate) fn forget_checkpoints(&mut self) {
        dispatch!(self, forget_checkpoints())
    }

    pub(crate) fn repeat_at_once(&mut self) {
        dispatch!(self, repeat_at_once())
    }
}
