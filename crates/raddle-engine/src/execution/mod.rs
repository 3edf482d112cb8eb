//! The machine that runs one execution at a time: virtual threads, the scheduler, and control flow between them.
//!
//! Every virtual thread is a coroutine (or, for debuggers, an OS thread). Before an event the thread reaches a
//! scheduling point, at which the [semantics](crate::semantics) choose the next thread. If that is the same thread, the
//! call returns. Otherwise control passes to the chosen thread directly, with its own thread-locals. The explorer
//! regains control when the execution ends, or when a thread asks the explorer to do some work.
//!
//! ```text
//!   explorer's stack:  execute ─ drive ──┐                           ┌─ end
//!   thread 0's stack:                    └─ … point ──┐   ┌─ … ends ─┘
//!   thread 1's stack:                                 └─ … ends
//! ```
//!
//! Code here runs on the explorer's stack, in an operation on a virtual thread's stack, and (a few marked lines) in a
//! signal handler.
//!
//! **Invariant:** only one of them runs at any time. References to the engine are derived anew at each entry from the
//! raw pointer in [`GLOBAL`], and every function that passes control on takes the engine as a pointer, because other
//! threads change the engine before control returns.

mod access;
pub(crate) mod blocking;
mod checkpoint;
mod choice_log;
pub mod clock;
mod control;
mod debugger;
mod exploration;
mod fair;
pub mod futex;
pub(crate) mod leaks;
pub(crate) mod order_hash;
mod plain_writes;
pub(crate) mod prefixes;
mod race_detector;
mod race_sampling;
pub(crate) mod recognition;
mod recording;
mod scheduler;
mod simulation;
pub(crate) mod sites;
mod state;
mod vector_clocks;
mod verdict;
mod weak_memory;

pub use self::access::Suppress;
pub(crate) use self::checkpoint::MachineSnapshot;
pub(crate) use self::choice_log::{ChildResult, ChoiceLog};
use self::clock::Clock;
pub(crate) use self::control::trapped;
use self::control::{coroutine_body, os_thread_body};
pub(crate) use self::debugger::Debugger;
pub(crate) use self::exploration::Exploration;
pub use self::exploration::{Also, Backend, Limits};
pub(crate) use self::race_detector::RaceDetector;
pub(crate) use self::state::Execution;
pub use self::verdict::{EndedExecution, Judge, as_it_ended};

use std::ffi::c_void;
use std::mem;

use crate::isolate::heap;
use crate::model_checker::ModelChecker;
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::coroutine;
use crate::platform::global::{self, GLOBAL, MAX_KEYS, NO_THREAD};
use crate::platform::os_thread::OsThread;
use crate::platform::sys;
use crate::rng::Rng;
use crate::schedule::Schedule;
use crate::site::{Classify, Code, Site};
use crate::strategy::Strategy;
use crate::thread::{self, KeyDestructor, Start, ThreadState, ThreadStatus, Threads, VThread};

/// The engine of the running exploration; null if there is none.
#[inline(always)]
pub(crate) fn engine() -> *mut Engine {
    GLOBAL.engine.get().cast()
}

/// Sets the engine of the process. The engine must outlive its use, up to the next call.
pub(crate) fn set_engine(engine: *mut Engine) {
    GLOBAL.engine.set(engine.cast());
    let current = if engine.is_null() {
        &raw const NO_THREAD
    } else {
        // SAFETY: the address is not read here.
        unsafe { &raw const (*engine).execution.current }
    };
    GLOBAL.current.set(current);
}

/// The engine, if the caller is a virtual thread that runs code under test.
#[inline(always)]
pub fn engine_of_virtual_thread() -> Option<*mut Engine> {
    global::is_virtual_thread().then(engine)
}

/// An exploration and its current execution.
pub struct Engine {
    /// The virtual threads, by number. The first [`Execution::alive`] belong to the current execution; the rest wait
    /// for reuse.
    pub(crate) threads: Threads,
    pub(crate) exploration: Exploration,
    pub(crate) execution: Execution,
    /// The state that every execution begins as a copy of.
    initial: Execution,
    /// The state that every thread begins as a copy of.
    initial_thread: ThreadState,
}

impl Engine {
    pub(crate) fn new(
        limits: Limits,
        classifier: Classify,
        strategy: Box<dyn Strategy>,
        seed: u64,
        checker: Option<Box<ModelChecker>>,
    ) -> Engine {
        let mut threads = thread::take_spare();
        for thread in &mut threads {
            thread.slot.resize(limits.stack_size);
        }
        let initial = Execution::new(limits.max_steps, Clock::new(limits.also.timeouts, checker.is_some()));
        let exploration = Exploration::new(limits, classifier, strategy, seed, checker);
        let initial_thread = ThreadState::default();
        Engine { threads, exploration, execution: initial.clone(), initial, initial_thread }
    }

    /// Runs `body` and all threads it spawns to the end, asks the judge for the outcome, and rolls the process back.
    ///
    /// # Safety
    /// `this` must be the engine in [`GLOBAL`], and the caller must hold no reference into it.
    pub(crate) unsafe fn execute(
        this: *mut Engine,
        body: *mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Outcome {
        // SAFETY: the caller's; each reference ends with its statement.
        unsafe {
            (*this).exploration.environment.enter();
            (*this).begin();
            (*this).begin_execution(body);
            Engine::drive(this);
            GLOBAL.in_engine.set(true);
            (*this).save_crash_stack();
            (*this).record_crash();
            (*this).check_leaked_memory();
            (*this).validate();
            (*this).execution.outcome_class.set(None);
            let outcome = (*this).left_by_debugger().unwrap_or_else(|| judge(&(*this).ended()));
            (*this).execution.outcome = Some(outcome);
            (*this).tell_debugger_of_end();
            (*this).end()
        }
    }

    /// The current thread: it runs, or is about to run.
    #[inline]
    pub fn current(&mut self) -> &mut VThread {
        &mut self.threads[self.execution.current as usize]
    }

    /// The destructor of a thread-specific key.
    fn key_destructor(&self, key: u32) -> Option<KeyDestructor> {
        match (key as usize).checked_sub(MAX_KEYS) {
            Some(index) => self.execution.keys.get(index).copied().flatten(),
            None => GLOBAL.key_destructors[key as usize].get(),
        }
    }

    /// Removes a thread-specific value of the current thread that has a destructor.
    fn next_specific(&mut self) -> Option<(KeyDestructor, *mut c_void)> {
        while let Some((key, value)) = self.current().specific.pop() {
            if let Some(destructor) = self.key_destructor(key).filter(|_| !value.is_null()) {
                return Some((destructor, value));
            }
        }
        None
    }

    #[inline]
    fn thread(&mut self, id: usize) -> &mut VThread {
        &mut self.threads[id]
    }

    /// Events of the execution so far.
    pub fn steps(&self) -> u64 {
        self.execution.steps
    }

    /// Number of the current thread.
    #[inline]
    pub fn current_id(&self) -> ThreadId {
        self.execution.current
    }

    /// Whether an access at the site is no scheduling point.
    #[inline(always)]
    pub(crate) fn is_trusted(&self, site: Site) -> bool {
        site.is_trusted() && !(site == Site::RefCountUp && self.exploration.limits.claims_all)
    }

    /// Makes a runnable thread.
    pub(crate) fn make_thread(&mut self, start: Start) -> ThreadId {
        self.make_thread_with_number(self.execution.alive, start)
    }

    /// Makes a runnable thread with the given number. Threads with lower numbers may be made later.
    pub(crate) fn make_thread_with_number(&mut self, id: usize, start: Start) -> ThreadId {
        while id >= self.threads.len() {
            assert!(
                id < usize::from(ThreadId::MAX),
                "raddle: an execution made more than {} threads",
                ThreadId::MAX
            );
            self.threads.push(Box::new(VThread::new(self.threads.len(), self.exploration.limits.stack_size)));
        }
        for missing in self.execution.alive..id {
            self.threads[missing].leave_out();
        }
        self.execution.alive = self.execution.alive.max(id + 1);
        let thread = &mut self.threads[id];
        thread.renew(start, self.exploration.random_seed, &self.initial_thread);
        match self.exploration.limits.backend {
            Backend::Coroutines => {
                thread.stack = thread.slot;
                // A recorded execution shows objects, which must not depend on what locals held before they were initialised.
                if self.exploration.clears_stacks || self.exploration.trace.is_some() {
                    thread.stack.clear_top();
                }
                thread.context = coroutine::prepare(&thread.stack, coroutine_body);
            }
            Backend::OsThreads => {
                let os_thread = OsThread::start(thread.slot.size(), os_thread_body);
                thread.stack = os_thread.stack;
                thread.os_thread = Some(os_thread);
            }
        }
        self.make_runnable(id as ThreadId);
        id as ThreadId
    }

    /// The monotonic time that the current thread sees.
    pub(crate) fn time(&self) -> u64 {
        self.execution.clock.monotonic(self.execution.current)
    }

    /// Whether the address holds a reference count of `std::thread`: of a thread's result, data or scope.
    #[cold]
    pub(crate) fn counts_handles(&self, address: usize) -> bool {
        self.exploration.handle_counts.binary_search(&address).is_ok()
    }

    pub(crate) fn add_handle_count(&mut self, address: usize) {
        if let Err(at) = self.exploration.handle_counts.binary_search(&address) {
            self.exploration.handle_counts.insert(at, address);
        }
        let latest = &mut self.current().made_counts;
        latest.rotate_left(1);
        latest[latest.len() - 1] = address;
    }

    /// Classifies the code at a return address, by debug information.
    pub(crate) fn classify(&mut self, return_address: usize) -> Code {
        self.on_explorer(|engine| (engine.exploration.classifier)(return_address))
    }

    /// Begins an execution, without threads.
    fn begin(&mut self) {
        let follows = mem::replace(&mut self.exploration.follows_next, true);
        self.follow_accesses(follows || self.exploration.trace.is_some());
        self.begin_clocks();
        self.execution.begin(&self.initial);
        if let Some(since) = self.exploration.scripted_limit {
            // The first event beyond the limit is the first fair one.
            self.execution.step_limit = since.saturating_sub(1);
        }
        self.forget_accesses();
        self.exploration.watchdog.begin();
        heap::begin(self.exploration.limits.allocation);
    }

    fn ended(&self) -> EndedExecution<'_> {
        EndedExecution {
            outcome: self.execution.outcome.as_ref().expect("an execution ends with an outcome"),
            steps: self.execution.steps,
            switches: self.execution.switches,
            threads: self.execution.alive,
            waited: self.execution.waited,
            engine: self,
        }
    }

    /// Sets the number of the next execution, which decides whether the race detector follows it, and which random bytes it has if
    /// they differ between executions.
    pub(crate) fn number(&mut self, execution: u64) {
        self.exploration.number = execution as u16;
        self.exploration.follows_next = self.exploration.follows(execution);
        self.exploration.shares_prefix_next = true;
        if self.exploration.limits.also.random_bytes {
            self.exploration.random_seed = Rng::of_execution(self.exploration.seed, execution).next();
        }
    }

    /// Makes the next execution follow a schedule: sets the event from which it is fair, and the seed of its random
    /// bytes. Returns the seed of the search.
    pub(crate) fn follow(&mut self, schedule: &Schedule) -> u64 {
        self.exploration.scripted_limit = Some(schedule.fair_since.unwrap_or(u64::MAX));
        self.exploration.shares_prefix_next = false;
        mem::replace(&mut self.exploration.random_seed, schedule.random.unwrap_or(self.exploration.seed))
    }

    /// Makes the next execution one of the search again.
    pub(crate) fn follow_no_more(&mut self, random_seed: u64) {
        self.exploration.scripted_limit = None;
        self.exploration.random_seed = random_seed;
    }

    /// The seed of the execution's random bytes, if it differs from the search's.
    pub(crate) fn random_of_execution(&self) -> Option<u64> {
        (self.exploration.random_seed != self.exploration.seed).then_some(self.exploration.random_seed)
    }

    /// Abandons the remaining threads and rolls memory and environment back.
    fn end(&mut self) -> Outcome {
        for thread in &mut self.threads[..self.execution.alive] {
            if thread.status != ThreadStatus::Finished {
                let status = thread.status;
                thread.clear();
                // The report says which thread waited for what.
                thread.status = status;
            }
            if let Some(os_thread) = thread.os_thread.take() {
                os_thread.abandon();
            }
        }
        if let Some(pages) = &self.exploration.pages {
            pages.roll_back();
        }
        self.exploration.borrowed.roll_back();
        self.exploration.environment.leave();
        heap::reset(self.execution.alive);
        for (address, len) in self.execution.mappings.drain(..) {
            // SAFETY: the execution mapped it and is over.
            unsafe { sys::raw_syscall(libc::SYS_munmap, [address as i64, len as i64, 0, 0, 0, 0]) };
        }
        self.execution.outcome.take().expect("an execution ends with an outcome")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.exploration.environment.end();
        thread::keep_spare(mem::take(&mut self.threads));
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("steps", &self.execution.steps)
            .field("outcome", &self.execution.outcome)
            .finish_non_exhaustive()
    }
}
