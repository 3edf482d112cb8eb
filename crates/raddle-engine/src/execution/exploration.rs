//! The state of an exploration: its configuration, the parts of the machine that executions reuse, and facts about the
//! program that hold for all executions.

use super::access::Suppress;
use super::choice_log::ChoiceLog;
use super::debugger::Debugger;
use super::leaks;
use super::prefixes::Prefixes;
use super::race_detector::RaceDetector;
use super::race_sampling::Resting;
use super::recognition::Recognition;
use crate::isolate::borrowed::Borrowed;
use crate::isolate::environment::Environment;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::left_out::LeftOut;
use crate::model_checker::ModelChecker;
use crate::platform::coroutine::Context;
use crate::platform::os_thread::Turn;
use crate::platform::sys;
use crate::site::Classify;
use crate::spinloop::liveness::Liveness;
use crate::strategy::Strategy;
use crate::trace::{Namer, Observer, Trace};

/// The implementation of virtual threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Coroutines with borrowed thread-locals.
    Coroutines,
    /// An OS thread each.
    OsThreads,
}

/// Optional behaviour that an exploration covers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Also {
    /// Spurious wake-ups of `park` and `Condvar::wait`: one per thread.
    pub spurious_wake_ups: bool,
    /// Spurious failures of `compare_exchange_weak`: one per thread.
    pub spurious_failures: bool,
    /// Timeouts of any length that expire while other threads could go on.
    pub timeouts: bool,
    /// Each execution has random bytes of its own.
    pub random_bytes: bool,
    /// A wake-up of one thread wakes any of those that wait, not only the one that has waited longest.
    pub wake_orders: bool,
}

/// The limits and options of every execution of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events per execution.
    pub max_steps: u64,
    /// What virtual threads run on.
    pub backend: Backend,
    /// Bytes of stack per virtual thread.
    pub stack_size: usize,
    /// Whether threads that can never run again after the closure's end are a failure.
    pub report_leaks: bool,
    /// Whether a thread that seems to spin runs on until its spinning is proven.
    pub prove_spins: bool,
    /// Whether a compare-exchange that fails has the failure order of the program in an exhaustive search, also where every compiler
    /// makes it sequentially consistent.
    pub strict_cas_failure_order: bool,
    /// Whether an exhaustive search explores executions in which other threads do nothing during a long sleep.
    pub sleeps_order_nothing: bool,
    /// Whether memory that is unreachable and not freed at the end of an execution is a failure.
    pub check_leaks: bool,
    /// What happens to freed memory.
    pub allocation: heap::Policy,
    /// Optional behaviour that is explored.
    pub also: Also,
    /// Whether the strategy claims to make all interleavings. Then the increment of an `Arc`'s count is a scheduling
    /// point, and a spinning thread is suspended only if each iteration is proven equal to the one before.
    pub claims_all: bool,
    /// Whether threads save their call stacks when they pause or stop, although no trace is recorded.
    pub notes_stacks: bool,
    /// Time limit of an execution, in ticks of the watchdog.
    pub max_ticks: u32,
}

/// The state of an exploration: one per search, read by each [`Execution`](super::Execution).
pub(crate) struct Exploration {
    pub(crate) limits: Limits,
    /// Seed of the random bytes that the code under test gets.
    pub(crate) seed: u64,
    /// Seed of the random bytes of the next execution.
    pub(crate) random_seed: u64,
    /// The low bits of the number of the current execution.
    pub(crate) number: u16,
    /// The event from which the next execution is fair, if it follows a schedule.
    pub(crate) scripted_limit: Option<u64>,
    pub(crate) strategy: Box<dyn Strategy>,
    /// The model checker, if executions are [graph-driven](crate::semantics).
    pub(crate) checker: Option<Box<ModelChecker>>,
    /// The liveness analysis of machine code, which proves spinloops.
    pub(crate) liveness: Liveness,
    /// The race detector, if it follows the current execution.
    pub(crate) detector: Option<Box<RaceDetector>>,
    /// The race detector, if it rests in the current execution.
    pub(super) resting: Option<Resting>,
    /// Whether the race detector follows the next execution.
    pub(crate) follows_next: bool,
    /// Whether all clocks are kept in the current execution.
    pub(super) keeps_all_clocks: bool,
    /// Whether some execution has needed more than the clocks of spawns and joins.
    pub(super) needs_all_clocks: bool,
    /// The prefixes of executions, by whether the race detector follows them, and whether they start threads eagerly.
    pub(super) prefixes: [[Prefixes; 2]; 2],
    /// Whether the next execution may begin at a prefix that it shares with earlier ones.
    pub(crate) shares_prefix_next: bool,
    /// What executions are recognised by, if they are.
    pub(crate) recognition: Option<Box<Recognition>>,
    /// The filter of suppressed races.
    pub(crate) suppress: Option<Suppress>,
    /// Behaviour that the search has left out so far.
    pub(crate) left_out: LeftOut,
    /// Addresses of reference counts of `std::thread`, in all executions so far, in ascending order.
    pub(crate) handle_counts: Vec<usize>,
    /// Whether the stacks of threads are cleared before they begin: some execution has left threads, which the leak check is
    /// about.
    pub(crate) clears_stacks: bool,
    /// Whether the last execution must be repeated, because stacks were not cleared yet.
    pub(crate) left_threads_first: bool,
    /// Offset below the FS base at which std keeps the current thread's handle, if known.
    pub(crate) handle_at: Option<usize>,
    /// Classifies code by debug information.
    pub(crate) classifier: Classify,
    /// Memory outside of executions that the closure under test may borrow.
    pub(crate) borrowed: Borrowed,
    /// The pages that are rolled back after each execution.
    pub(crate) pages: Option<Pages>,
    /// The environment variables that the code under test sees.
    pub(crate) environment: Environment,
    /// The choices of the current execution, if it runs in a child process: the parent reads them.
    pub(crate) choice_log: Option<ChoiceLog>,
    /// The events of the current execution, while it is recorded.
    pub(crate) trace: Option<Trace>,
    /// The debugger that goes through recorded executions.
    pub(crate) debugger: Option<Debugger>,
    /// Names memory locations, while a trace is recorded.
    pub(crate) namer: Option<Namer>,
    /// Looks at memory after each event, while a trace is recorded.
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) watchdog: Watchdog,
    /// The context of the explorer, while a thread runs.
    pub(crate) explorer: Context,
    pub(crate) explorers_turn: Turn,
    pub(crate) explorer_fs: usize,
    /// How the FS base is set, by which threads borrow thread-locals.
    pub(crate) fs_base: sys::FsBase,
    /// The work that the current thread asks the explorer to do.
    pub(crate) request: Option<*mut dyn FnMut()>,
}

/// The time that executions take, counted by a signal handler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watchdog {
    /// Ticks since the execution began.
    pub(crate) ticks: u32,
    /// Whether the execution has run for too long.
    pub(crate) expired: bool,
    /// Ticks of all executions.
    pub(crate) total: u64,
}

impl Exploration {
    pub(crate) fn new(
        limits: Limits,
        classifier: Classify,
        strategy: Box<dyn Strategy>,
        seed: u64,
        checker: Option<Box<ModelChecker>>,
    ) -> Exploration {
        Exploration {
            limits,
            seed,
            random_seed: seed,
            number: 0,
            scripted_limit: None,
            strategy,
            checker,
            liveness: Liveness::default(),
            detector: None,
            resting: None,
            follows_next: true,
            keeps_all_clocks: false,
            needs_all_clocks: false,
            prefixes: Default::default(),
            shares_prefix_next: false,
            recognition: None,
            suppress: None,
            left_out: LeftOut::default(),
            handle_counts: Vec::new(),
            clears_stacks: false,
            left_threads_first: false,
            handle_at: leaks::where_handles_are(),
            classifier,
            borrowed: Borrowed::default(),
            pages: None,
            environment: Environment::of_process(),
            choice_log: None,
            trace: None,
            debugger: None,
            namer: None,
            observer: None,
            watchdog: Watchdog::default(),
            explorer: 0,
            explorers_turn: Turn::default(),
            explorer_fs: sys::fs_base(),
            fs_base: sys::FsBase::of_kernel(),
            request: None,
        }
    }
}

impl Watchdog {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        (self.ticks, self.expired) = (0, false);
    }
}
