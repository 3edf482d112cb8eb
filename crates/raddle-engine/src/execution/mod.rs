//! The machine that runs one execution.
//!
//! Every virtual thread is a coroutine (or, for debuggers, an OS thread). Before a step that others can notice, the thread calls
//! [`Engine::point`], which asks the strategy who goes on. If it is the same thread, the call simply returns. Otherwise control
//! passes to the chosen one directly, with its own thread-locals. The explorer gets it back when the execution is over, or when
//! a thread asks it for something.
//!
//! ```text
//!   explorer's stack:  execute ─ drive ──┐                           ┌─ end
//!   thread 0's stack:                    └─ … point ──┐   ┌─ … ends ─┘
//!   thread 1's stack:                                 └─ … ends
//! ```
//!
//! Code here runs in three places: on the explorer's stack, in a hook on a virtual thread's stack, and (a few lines, marked
//! so) in a signal handler. It is single-threaded throughout: only one of them runs at any time. References to the engine are
//! made anew at each entry from the raw pointer in [`GLOBAL`], and every function that passes control on gets the engine as a
//! pointer, so that nothing is assumed to stay as it was.

mod access;
mod along_graph;
mod blocking;
mod checkpoint;
mod choice_log;
pub mod clock;
mod control;
mod edges;
mod fair;
pub mod futex;
mod leaks;
pub(crate) mod sites;
mod verdict;
mod weak_memory;

pub(crate) use self::access::RaceDetector;
pub use self::access::Suppress;
pub(crate) use self::along_graph::SyntheticLocation;
pub(crate) use self::choice_log::{ChildResult, ChoiceLog};
use self::clock::Clock;
pub(crate) use self::control::trapped;
use self::control::{Flow, coroutine_body, os_thread_body};
use self::fair::Fair;
use self::futex::Futexes;
pub use self::verdict::{EndedExecution, Judge, as_it_ended};

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::mem;

use crate::happens_before::sync::Message;
use crate::isolate::borrowed::Borrowed;
use crate::isolate::environment::Environment;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::left_out::LeftOut;
use crate::model_checker::ModelChecker;
use crate::op::{Caller, Pending, ThreadId};
use crate::outcome::Outcome;
use crate::platform::coroutine::{self, Context};
use crate::platform::global::{self, GLOBAL, MAX_KEYS, NO_THREAD};
use crate::platform::os_thread::{OsThread, Turn};
use crate::platform::sys;
use crate::platform::unwind;
use crate::rng::Rng;
use crate::schedule::{ALL_POINTS, Schedule};
use crate::site::{Classify, Code, Site};
use crate::spinloop::liveness::Liveness;
use crate::strategy::{Point, Strategy};
use crate::thread::{self, KeyDestructor, Start, State, Threads, VThread};
use crate::trace::{Action, Namer, SwitchReason, Trace};
use crate::weak_memory::Memory;

/// What virtual threads are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Coroutines with borrowed thread-locals.
    Coroutines,
    /// An OS thread each.
    OsThreads,
}

/// What may happen to a program, and is explored only where it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Also {
    /// `park` and `Condvar::wait` end although nobody ended them: once for each thread.
    pub spurious_wake_ups: bool,
    /// `compare_exchange_weak` fails although the place held what was expected: once for each thread.
    pub spurious_failures: bool,
    /// Timeouts, however long, end while other threads could go on.
    pub timeouts: bool,
    /// Each execution has random bytes of its own.
    pub random_bytes: bool,
}

/// Limits and ways of running that stay the same for all executions of an exploration.
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
    /// Whether a thread that seems to spin goes on alone until that is proven.
    pub prove_spins: bool,
    /// Whether the exhaustive search takes the memory model to the letter, also where no compiler does.
    pub to_the_letter: bool,
    /// Whether memory that was not freed is one.
    pub check_leaks: bool,
    /// What happens to freed memory.
    pub allocation: heap::Policy,
    /// What else may happen.
    pub also: Also,
    /// Whether the strategy claims to make all interleavings: then threads may change where a handle of an `Arc` is made, and a thread
    /// that goes round is left out only if each round is proven to be like the one before.
    pub claims_all: bool,
    /// Whether threads note where they pause and stop, although no trace is recorded.
    pub notes_stacks: bool,
    /// The longest that an execution may take, in ticks of the watchdog.
    pub max_ticks: u32,
}

/// Events that a thread may make in a row while others could go on. Real schedulers are fair; without this, a strategy of
/// priorities would let a thread wait for another in a loop for ever.
const MOST_IN_A_ROW: u32 = 1000;

/// The engine of the exploration that runs; null while none does.
#[inline(always)]
pub(crate) fn engine() -> *mut Engine {
    GLOBAL.engine.get().cast()
}

/// Sets the engine of the process. It must live until another one is set.
pub(crate) fn set_engine(engine: *mut Engine) {
    GLOBAL.engine.set(engine.cast());
    // SAFETY: the address is not read here.
    let current =
        if engine.is_null() { &raw const NO_THREAD } else { unsafe { &raw const (*engine).current } };
    GLOBAL.current.set(current);
}

/// The engine, if the caller is a virtual thread that runs code under test.
#[inline(always)]
pub fn engine_of_virtual_thread() -> Option<*mut Engine> {
    global::is_virtual_thread().then(engine)
}

/// The machine. There is one per exploration.
pub struct Engine {
    /// The threads, by number. The first `alive` belong to the current execution; the rest are kept for later ones.
    pub(crate) threads: Threads,
    /// How many threads the current execution has made.
    pub alive: usize,
    /// The threads that can run, in ascending order.
    runnable: Vec<ThreadId>,
    /// Whether the current thread gives way: it goes on later if others can.
    giving_way: bool,
    /// The threads that could go on at a point where some ask to go later, and those of them that do not.
    willing: Vec<ThreadId>,
    eager: Vec<ThreadId>,
    /// The threads that spin.
    spinners: Vec<ThreadId>,
    /// The threads that wait for a mutex.
    locking: Vec<ThreadId>,
    current: ThreadId,
    /// The explorer, while a thread runs.
    explorer: Context,
    explorers_turn: Turn,
    /// What the current thread wants the explorer to do.
    request: Option<*mut dyn FnMut()>,
    /// Choices made so far: the thread taken at each point where more than one could go on.
    pub schedule: Vec<ThreadId>,
    /// How far back in modification order accesses went that had a choice.
    pub mo_offsets: Vec<u16>,
    /// Events so far.
    pub steps: u64,
    /// How many of them another execution had made, where this one began.
    pub(crate) begun_at: u64,
    /// Changes of thread so far.
    pub switches: u64,
    /// Events of the current thread since it began to run, at which others could have.
    in_a_row: u32,
    /// After how many events the execution goes on fairly.
    step_limit: u64,
    /// The same, said by a schedule that is followed.
    scripted_limit: Option<u64>,
    /// Whose turn it is, if the execution goes on fairly.
    fair: Option<Box<Fair>>,
    /// What the search has left out so far.
    pub(crate) left_out: LeftOut,
    /// Where the standard library counts handles of threads, in any execution so far.
    handle_counts: BTreeSet<usize>,
    /// From which seed the code under test gets random bytes in the current execution.
    random_seed: u64,
    /// The memory at the end of the last round in which all threads that were left span.
    memory_of_round: Option<u64>,
    /// The first thread of the execution that could not go on by itself.
    pub(crate) waited: Option<ThreadId>,
    /// What the closure under test may borrow.
    pub(crate) borrowed: Borrowed,
    /// Set when the execution is over.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) strategy: Box<dyn Strategy>,
    /// Whether the current thread goes on in another execution than it paused in.
    taken_up: bool,
    /// The exhaustive search, which then says who goes on and what reads see.
    pub(crate) exhaustive: Option<Box<ModelChecker>>,
    /// Which values the code will still read.
    liveness: Liveness,
    /// What accesses see and what orders them, if that is more than what memory holds.
    pub(crate) memory: Option<Box<Memory>>,
    /// The accesses so far, if data races are looked for.
    pub(crate) detector: Option<Box<RaceDetector>>,
    /// Says which races are not reported.
    pub(crate) suppress: Option<Suppress>,
    /// What the threads that left a scope have handed on to its end, unless the search is exhaustive.
    scopes: Vec<(usize, Message)>,
    pub(crate) futexes: Futexes,
    pub(crate) clock: Clock,
    /// Destructors of the thread-specific keys that the execution made; their numbers follow those of the process.
    pub(crate) keys: Vec<Option<KeyDestructor>>,
    /// Memory that the execution mapped: address and length.
    pub(crate) mappings: Vec<(usize, usize)>,
    /// The points at which the strategy chose, for the process that waits for this one.
    pub(crate) points: Option<ChoiceLog>,
    /// What happened, if it is being recorded.
    pub trace: Option<Trace>,
    classifier: Classify,
    /// Finds names for places, while a trace is recorded.
    pub(crate) namer: Option<Namer>,
    pub(crate) pages: Option<Pages>,
    pub(crate) limits: Limits,
    pub(crate) explorer_fs: usize,
    /// How threads borrow the thread-locals of others.
    fs_base: sys::FsBase,
    /// The last panic of the execution: its thread and what it said.
    pub panic: Option<(ThreadId, String)>,
    /// Where a signal ended the execution.
    pub(crate) crashed_at: Option<Caller>,
    /// Where the thread stood that ended the execution, or panicked last, if that is noted.
    pub(crate) stopped_at: Vec<unwind::CallFrame>,
    /// The threads that are left, if that is the failure.
    pub(crate) leaked: std::cell::RefCell<Vec<ThreadId>>,
    /// What the code under test takes for the environment.
    pub(crate) environment: Environment,
    /// How far below the FS base of a thread std keeps the thread's handle, if that is known.
    handle_at: Option<usize>,
    /// Set by the signal handler when the execution has run for too long.
    pub(crate) expired: bool,
    /// Ticks of the watchdog since the execution began, and since the engine was made.
    pub(crate) ticks: u32,
    pub(crate) all_ticks: u64,
    /// Of which kind the latest execution is, if the judge said so.
    pub(crate) kind: Cell<Option<usize>>,
    seed: u64,
}

impl Engine {
    pub(crate) fn new(
        limits: Limits,
        classifier: Classify,
        strategy: Box<dyn Strategy>,
        seed: u64,
    ) -> Engine {
        let mut threads = thread::take_spare();
        for thread in &mut threads {
            thread.slot.resize(limits.stack_size);
        }
        Engine {
            threads,
            alive: 0,
            runnable: Vec::with_capacity(64),
            giving_way: false,
            willing: Vec::new(),
            eager: Vec::new(),
            spinners: Vec::new(),
            locking: Vec::new(),
            current: 0,
            explorer: 0,
            explorers_turn: Turn::default(),
            request: None,
            schedule: Vec::with_capacity(1024),
            mo_offsets: Vec::new(),
            steps: 0,
            begun_at: 0,
            switches: 0,
            in_a_row: 0,
            step_limit: limits.max_steps,
            scripted_limit: None,
            fair: None,
            left_out: LeftOut::default(),
            handle_counts: BTreeSet::new(),
            random_seed: seed,
            memory_of_round: None,
            waited: None,
            borrowed: Borrowed::default(),
            outcome: None,
            strategy,
            taken_up: false,
            exhaustive: None,
            liveness: Liveness::default(),
            memory: None,
            detector: None,
            suppress: None,
            scopes: Vec::new(),
            futexes: Futexes::default(),
            clock: Clock::new(limits.also.timeouts),
            keys: Vec::new(),
            mappings: Vec::new(),
            points: None,
            trace: None,
            classifier,
            namer: None,
            pages: None,
            limits,
            explorer_fs: sys::fs_base(),
            fs_base: sys::FsBase::of_kernel(),
            panic: None,
            crashed_at: None,
            stopped_at: Vec::new(),
            leaked: std::cell::RefCell::default(),
            environment: Environment::of_process(),
            handle_at: leaks::where_handles_are(),
            expired: false,
            ticks: 0,
            all_ticks: 0,
            kind: Cell::new(None),
            seed,
        }
    }

    /// Runs `body` and everything it starts to the end, asks the judge, then puts the process back as it was.
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
            (*this).environment.enter();
            (*this).set_out(body);
            Engine::drive(this);
            GLOBAL.in_engine.set(true);
            (*this).note_crash();
            (*this).record_crash();
            (*this).look_for_leaks();
            (*this).validate_completed_graph();
            (*this).kind.set(None);
            let outcome = judge(&(*this).ended());
            (*this).outcome = Some(outcome);
            (*this).end()
        }
    }

    /// The thread that runs or is about to.
    #[inline]
    pub fn current(&mut self) -> &mut VThread {
        &mut self.threads[self.current as usize]
    }

    /// What is to be called with the value of a key when a thread ends.
    fn key_destructor(&self, key: u32) -> Option<KeyDestructor> {
        match (key as usize).checked_sub(MAX_KEYS) {
            Some(index) => self.keys.get(index).copied().flatten(),
            None => GLOBAL.key_destructors[key as usize].get(),
        }
    }

    /// Takes out a thread-specific value of the current thread that has a destructor.
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

    /// Number of the thread that runs.
    #[inline]
    pub fn current_id(&self) -> ThreadId {
        self.current
    }

    /// Before a step that others can notice: lets the strategy choose who goes on. Returns when the current thread may
    /// take its step.
    #[inline]
    pub(crate) fn point(&mut self, pending: Pending) {
        self.steps += 1;
        if self.runnable.len() > 1
            || !self.locking.is_empty()
            || self.clock.may_wake_somebody()
            || self.steps > self.step_limit
            || self.expired
        {
            self.choose_at_point(pending);
        }
    }

    /// Whether an access there is no point at which threads may change.
    #[inline(always)]
    pub(crate) fn is_trusted(&self, site: Site) -> bool {
        site.is_trusted() && !(site == Site::RefCountUp && self.limits.claims_all)
    }

    /// Counts a step at which threads do not change.
    pub(crate) fn count_step(&mut self) {
        self.steps += 1;
        self.check_limits();
    }

    /// Makes a thread, which can run from now on.
    pub(crate) fn make_thread(&mut self, start: Start) -> ThreadId {
        self.make_thread_with_number(self.alive, start)
    }

    /// Makes a thread with a number of its own; threads with lower numbers may be made later.
    pub(crate) fn make_thread_with_number(&mut self, id: usize, start: Start) -> ThreadId {
        while id >= self.threads.len() {
            assert!(
                id < usize::from(ThreadId::MAX),
                "raddle: an execution made more than {} threads",
                ThreadId::MAX
            );
            self.threads.push(Box::new(VThread::new(self.threads.len(), self.limits.stack_size)));
        }
        for missing in self.alive..id {
            self.threads[missing].leave_out();
        }
        self.alive = self.alive.max(id + 1);
        let thread = &mut self.threads[id];
        match self.limits.backend {
            Backend::Coroutines => {
                thread.stack = thread.slot;
                if self.limits.report_leaks {
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
        thread.renew(start, self.random_seed);
        self.make_runnable(id as ThreadId);
        id as ThreadId
    }

    /// What the monotonic clock shows the current thread.
    pub(crate) fn time(&self) -> u64 {
        self.clock.monotonic(self.current)
    }

    /// Whether the standard library counts handles of a thread there.
    #[cold]
    pub(crate) fn counts_handles(&self, address: usize) -> bool {
        self.handle_counts.contains(&address)
    }

    pub(crate) fn note_handle_count(&mut self, address: usize) {
        self.handle_counts.insert(address);
        let latest = &mut self.current().made_counts;
        latest.rotate_left(1);
        latest[latest.len() - 1] = address;
    }

    /// Finds out what the code at a return address is.
    pub(crate) fn classify(&mut self, return_address: usize) -> Code {
        self.on_explorer(|engine| (engine.classifier)(return_address))
    }

    /// Records an event of the current thread, if a trace is wanted.
    #[inline]
    pub(crate) fn record(&mut self, action: impl FnOnce() -> Action) {
        if self.trace.is_some() {
            self.record_now(action());
        }
    }

    #[cold]
    fn record_now(&mut self, action: Action) {
        let Some(trace) = &mut self.trace else { return };
        let is_skipped = self.steps < trace.skipped_steps;
        if is_skipped {
            trace.omitted += 1;
            if !trace.is_watched(&action) {
                return;
            }
        }
        // The end of a thread is recorded from the explorer's stack, where there is nothing to see.
        let stack =
            if matches!(action, Action::End | Action::Begin) { Vec::new() } else { unwind::call_stack() };
        // Names are looked up now, while the locals that lead to the place hold what they held at the event.
        let name = action.address().and_then(|address| {
            self.on_explorer(|engine| engine.namer.as_mut().and_then(|namer| namer(&stack, address)))
        });
        let thread = self.current;
        let links = self.links(&action);
        if let Some(trace) = &mut self.trace {
            trace.record(thread, action, stack, name, links, is_skipped);
        }
    }

    fn begin(&mut self) {
        self.alive = 0;
        self.runnable.clear();
        self.giving_way = false;
        self.spinners.clear();
        self.locking.clear();
        self.schedule.clear();
        self.mo_offsets.clear();
        if let Some(memory) = &mut self.memory {
            memory.begin();
        }
        self.forget_accesses();
        self.steps = 0;
        self.begun_at = 0;
        self.switches = 0;
        self.in_a_row = 0;
        // It goes on fairly from the event on that is beyond the limit.
        self.step_limit = self.scripted_limit.map_or(self.limits.max_steps, |since| since.saturating_sub(1));
        self.fair = None;
        self.outcome = None;
        self.scopes.clear();
        self.futexes.clear();
        self.clock.reset(self.exhaustive.is_some());
        self.keys.clear();
        self.current = 0;
        self.panic = None;
        self.crashed_at = None;
        self.stopped_at.clear();
        self.leaked.get_mut().clear();
        self.expired = false;
        self.ticks = 0;
        self.memory_of_round = None;
        self.waited = None;
        heap::begin(self.limits.allocation);
    }

    fn ended(&self) -> EndedExecution<'_> {
        EndedExecution {
            outcome: self.outcome.as_ref().expect("an execution ends with an outcome"),
            steps: self.steps,
            switches: self.switches,
            threads: self.alive,
            waited: self.waited,
            engine: self,
        }
    }

    /// The choices that make the execution again.
    pub(crate) fn choices(&self) -> Schedule {
        match &self.exhaustive {
            Some(graphs) => Schedule {
                fair_since: self.fair_since(),
                random: self.random_of_execution(),
                ..graphs.schedule()
            },
            None => Schedule {
                threads: self
                    .limits
                    .claims_all
                    .then_some(ALL_POINTS)
                    .into_iter()
                    .chain(self.schedule.iter().copied())
                    .collect(),
                mo_offsets: self.mo_offsets.clone(),
                fair_since: self.fair_since(),
                random: self.random_of_execution(),
                ..Schedule::default()
            },
        }
    }

    /// Begins the execution of this number: it may have random bytes of its own.
    pub(crate) fn number(&mut self, execution: u64) {
        if self.limits.also.random_bytes {
            self.random_seed = Rng::of_execution(self.seed, execution).next();
        }
    }

    /// Sets the event since which the next execution goes on fairly, and the seed of its random bytes, as those of the schedule.
    /// Returns the seed as it was.
    pub(crate) fn follow(&mut self, schedule: &Schedule) -> u64 {
        self.scripted_limit = Some(schedule.fair_since.unwrap_or(u64::MAX));
        mem::replace(&mut self.random_seed, schedule.random.unwrap_or(self.seed))
    }

    /// The next execution is one of the search again.
    pub(crate) fn follow_no_more(&mut self, random_seed: u64) {
        self.scripted_limit = None;
        self.random_seed = random_seed;
    }

    /// The seed of the execution's random bytes, if it is not that of the search.
    fn random_of_execution(&self) -> Option<u64> {
        (self.random_seed != self.seed).then_some(self.random_seed)
    }

    /// Abandons what is left and rolls everything back.
    fn end(&mut self) -> Outcome {
        for thread in &mut self.threads[..self.alive] {
            if thread.state != State::Finished {
                let state = thread.state;
                thread.clear();
                // Kept for the report of who waited for what.
                thread.state = state;
            }
            if let Some(os_thread) = thread.os_thread.take() {
                os_thread.abandon();
            }
        }
        if let Some(pages) = &self.pages {
            pages.roll_back();
        }
        self.borrowed.roll_back();
        self.environment.leave();
        heap::reset(self.alive);
        for (address, len) in self.mappings.drain(..) {
            // SAFETY: the execution mapped it and is over.
            unsafe { sys::raw_syscall(libc::SYS_munmap, [address as i64, len as i64, 0, 0, 0, 0]) };
        }
        self.outcome.take().expect("an execution ends with an outcome")
    }

    #[inline(never)]
    fn choose_at_point(&mut self, pending: Pending) {
        self.check_limits();
        self.note_pause();
        self.current().pending = pending;
        if !self.locking.is_empty() {
            self.release_lockers();
        }
        self.in_a_row += u32::from(self.runnable.len() > 1);
        if self.in_a_row > MOST_IN_A_ROW && !self.follows_graph() && self.fair.is_none() {
            return self.stand_back();
        }
        let next = self.decide();
        self.switch_to(next, SwitchReason::Preempted);
    }

    /// Notes where the current thread pauses, for the report of who waits where.
    #[inline]
    fn note_pause(&mut self) {
        if self.trace.is_some() || self.limits.notes_stacks {
            self.current().paused_at = unwind::call_stack();
        }
    }

    fn check_limits(&mut self) {
        if self.steps > self.step_limit || self.expired {
            self.reach_limit();
        }
    }

    /// Who goes on, from the stack of a virtual thread.
    #[inline]
    fn decide(&mut self) -> ThreadId {
        match self.find_next() {
            Some(next) => next,
            None => {
                let outcome = self.outcome.take().expect("without a next thread there is an outcome");
                self.stop(outcome)
            }
        }
    }

    /// The one place where the next thread is chosen. None if the execution is over; then the outcome is set.
    fn find_next(&mut self) -> Option<ThreadId> {
        if self.exhaustive.is_some() {
            return self.next_along_graph();
        }
        if self.fair.is_some() {
            return self.next_fairly();
        }
        loop {
            if !self.locking.is_empty() {
                self.release_lockers();
            }
            if self.runnable.is_empty() {
                if !self.pass_time() {
                    return None;
                }
                continue;
            }
            let some_ask = self.giving_way || self.clock.may_wake_somebody();
            if some_ask {
                self.ask_who_goes_later();
            }
            let (runnable, eager) =
                if some_ask { (&self.willing, &self.eager) } else { (&self.runnable, &self.runnable) };
            if let [only] = runnable[..] {
                return Some(only);
            }
            let choice = self.schedule.len();
            let point = Point { current: self.current, runnable, eager, threads: &self.threads, choice };
            let next = self.strategy.choose(&point);
            // A script may name a thread that cannot go on, or one that does not exist.
            if !runnable.contains(&next) {
                self.outcome = Some(Outcome::Diverged { choice });
                return None;
            }
            if let Some(log) = &mut self.points {
                log.note(self.current, next, runnable, eager);
            }
            self.schedule.push(next);
            if self.threads[next as usize].state != State::Runnable {
                self.end_sleep(next);
            }
            return Some(next);
        }
    }

    #[inline]
    fn switch_to(&mut self, next: ThreadId, reason: SwitchReason) {
        if next != self.current {
            self.leave_for(next, reason);
            // SAFETY: the current thread calls this.
            unsafe { Engine::pass(self, Flow::Thread(self.current), Flow::Thread(next)) };
        }
    }

    #[inline]
    fn leave_for(&mut self, next: ThreadId, reason: SwitchReason) {
        if next != self.current {
            self.switches += 1;
            self.in_a_row = 0;
            if let Some(trace) = &mut self.trace {
                trace.switch(reason);
            }
        }
    }

    fn make_runnable(&mut self, thread: ThreadId) {
        self.threads[thread as usize].state = State::Runnable;
        if let Err(place) = self.runnable.binary_search(&thread) {
            self.runnable.insert(place, thread);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.environment.end();
        thread::keep_spare(mem::take(&mut self.threads));
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("steps", &self.steps)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
