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

use std::ffi::c_void;
use std::mem;

use crate::coroutine::{self, Context};
use crate::event::{Effect, Pending};
use crate::fork::PointLog;
use crate::futex::Futexes;
use crate::global::{GLOBAL, MAX_KEYS};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::os_thread::{OsThread, Turn};
use crate::rng::Rng;
use crate::site::{Classify, Site};
use crate::spin::Read;
use crate::strategy::{Point, Strategy};
use crate::sys;
use crate::thread::{KeyDestructor, Start, State, ThreadId, Threads, VThread, Wake};
use crate::time::Clock;
use crate::trace::{self, Action, Namer, SwitchReason, Trace};

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The closure returned and all threads ended.
    Passed,
    /// A panic left the closure, or ended a thread that nobody joined.
    Panic {
        /// The thread.
        thread: ThreadId,
    },
    /// No thread can run.
    Deadlock,
    /// The threads that are left only spin, and nothing can change that.
    Livelock,
    /// More steps than allowed.
    StepLimit,
    /// More time than allowed.
    TimeLimit,
    /// The closure returned, but threads are left that can never run again.
    ThreadLeak,
    /// A signal.
    Crash {
        /// The thread that ran.
        thread: ThreadId,
        /// The signal's number.
        signal: i32,
        /// The address it was about, for memory faults.
        address: usize,
    },
    /// A thread's stack was too small.
    StackOverflow {
        /// The thread.
        thread: ThreadId,
    },
    /// The code under test ended the process.
    Exit {
        /// The exit code.
        code: i32,
    },
    /// The strategy asked for a thread that cannot run: the execution is not the one it was made for.
    Diverged {
        /// Number of the choice, from 0.
        choice: usize,
    },
}

/// What virtual threads are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Coroutines with borrowed thread-locals.
    Coroutines,
    /// An OS thread each.
    OsThreads,
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
    /// Whether memory that existed before the exploration is rolled back.
    pub roll_back_pages: bool,
    /// Whether threads that can never run again after the closure's end are a failure.
    pub report_leaks: bool,
    /// The longest that an execution may take, in ticks of the watchdog.
    pub max_ticks: u32,
}

/// Events that a thread may make in a row while others could go on. Real schedulers are fair; without this, a strategy of
/// priorities would let a thread wait for another in a loop for ever.
const MOST_IN_A_ROW: u32 = 1000;

/// The machine. There is one per exploration.
pub struct Engine {
    /// The threads, by number. The first `alive` belong to the current execution; the rest are kept for later ones.
    pub(crate) threads: Threads,
    /// How many threads the current execution has made.
    pub alive: usize,
    /// The threads that can run, in ascending order.
    runnable: Vec<ThreadId>,
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
    /// Events so far.
    pub steps: u64,
    /// Changes of thread so far.
    pub switches: u64,
    /// Events of the current thread since it began to run, at which others could have.
    in_a_row: u32,
    /// The memory at the end of the last round in which all threads that were left span.
    memory_of_round: Option<u64>,
    /// What the closure under test may borrow.
    pub(crate) borrowed: Borrowed,
    /// Set when the execution is over.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) futexes: Futexes,
    pub(crate) clock: Clock,
    /// Destructors of the thread-specific keys that the execution made; their numbers follow those of the process.
    pub(crate) keys: Vec<Option<KeyDestructor>>,
    /// Memory that the execution mapped: address and length.
    pub(crate) mappings: Vec<(usize, usize)>,
    /// What the code under test gets when it asks for random bytes.
    pub(crate) random: Rng,
    /// The points at which the strategy chose, for the process that waits for this one.
    pub(crate) points: Option<PointLog>,
    /// What happened, if it is being recorded.
    pub trace: Option<Trace>,
    classifier: Classify,
    /// Finds names for places, while a trace is recorded.
    pub(crate) namer: Option<Namer>,
    pub(crate) pages: Option<Pages>,
    pub(crate) limits: Limits,
    pub(crate) explorer_fs: usize,
    /// The last panic of the execution: its thread and what it said.
    pub panic: Option<(ThreadId, String)>,
    /// Set by the signal handler when the execution has run for too long.
    pub(crate) expired: bool,
    /// Ticks of the watchdog since the execution began, and since the engine was made.
    pub(crate) ticks: u32,
    pub(crate) all_ticks: u64,
    seed: u64,
}

impl Engine {
    pub(crate) fn new(
        limits: Limits,
        classifier: Classify,
        strategy: Box<dyn Strategy>,
        seed: u64,
    ) -> Engine {
        let mut threads = GLOBAL.threads.take();
        for thread in &mut threads {
            thread.slot.resize(limits.stack_size);
        }
        Engine {
            threads,
            alive: 0,
            runnable: Vec::with_capacity(64),
            spinners: Vec::new(),
            locking: Vec::new(),
            current: 0,
            explorer: 0,
            explorers_turn: Turn::default(),
            request: None,
            schedule: Vec::with_capacity(1024),
            steps: 0,
            switches: 0,
            in_a_row: 0,
            memory_of_round: None,
            borrowed: Borrowed::default(),
            outcome: None,
            strategy,
            futexes: Futexes::default(),
            clock: Clock::default(),
            keys: Vec::new(),
            mappings: Vec::new(),
            random: Rng::new(seed),
            points: None,
            trace: None,
            classifier,
            namer: None,
            pages: None,
            limits,
            explorer_fs: sys::fs_base(),
            panic: None,
            expired: false,
            ticks: 0,
            all_ticks: 0,
            seed,
        }
    }

    /// Runs `body` and everything it starts to the end, calls `passed` if all went well, then puts the process back as it
    /// was. What `passed` allocates is the engine's and stays.
    ///
    /// # Safety
    /// `this` must be the engine in [`GLOBAL`], and the caller must hold no reference into it.
    pub(crate) unsafe fn execute(
        this: *mut Engine,
        body: *mut dyn FnMut(),
        passed: &mut dyn FnMut(),
    ) -> Outcome {
        // SAFETY: the caller's; each reference ends with its statement.
        unsafe {
            (*this).begin();
            (*this).make_thread(Start::Root(body));
            Engine::drive(this);
            GLOBAL.in_engine.set(true);
            if (*this).outcome == Some(Outcome::Passed) {
                passed();
            }
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
        if self.runnable.len() > 1 || self.steps > self.limits.max_steps || self.expired {
            self.choose_at_point(pending);
        }
    }

    /// Counts a step at which threads do not change.
    pub(crate) fn count_step(&mut self) {
        self.steps += 1;
        self.check_limits();
    }

    /// The current thread gives way: it goes on only if no other can.
    pub(crate) fn yield_now(&mut self) {
        self.count_step();
        if self.runnable.len() > 1 {
            self.current().pending = Pending::NOTHING;
            self.give_way();
        }
    }

    /// The current thread cannot go on until another (or the clock) makes it runnable.
    pub(crate) fn block(&mut self, state: State, reason: SwitchReason) {
        let me = self.current;
        self.note_pause();
        self.current().state = state;
        self.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.switch_to(next, reason);
    }

    /// A blocked thread can go on.
    pub(crate) fn unblock(&mut self, thread: ThreadId, wake: Wake) {
        let waiting = &mut self.threads[thread as usize];
        waiting.wake = wake;
        if waiting.state == State::Spinning {
            self.spinners.retain(|&spinner| spinner != thread);
        }
        self.make_runnable(thread);
    }

    /// Before the current thread locks the mutex at `place`: waits until that is unlocked and the thread is chosen.
    #[inline]
    pub(crate) fn point_of_lock(&mut self, place: *const u32) {
        let address = place.addr();
        // SAFETY: the mutex of the current thread's call; one OS thread runs all virtual threads.
        let locked = || unsafe { place.read_volatile() } != 0;
        if locked() {
            self.count_step();
            self.wait_for_lock(address);
        } else {
            self.point(Pending { address, effect: Effect::Lock });
        }
        // The C library and std's own compiled code lock without asking.
        while locked() {
            self.wait_for_lock(address);
        }
        self.current().spin.reset();
        if self.runnable.len() > 1 {
            self.hold_back_lockers(address);
        }
    }

    /// The current thread has read something without effect: it may be going in circles.
    #[inline]
    pub(crate) fn has_read(&mut self, read: Read) {
        if self.current().spin.read(read) {
            self.spin(read);
        }
    }

    /// The current thread has changed the value at `address`.
    #[inline]
    pub(crate) fn has_written(&mut self, address: usize) {
        self.current().spin.reset();
        if !self.spinners.is_empty() {
            self.release_spinners_of(address);
        }
    }

    /// Makes a thread, which can run from now on.
    pub(crate) fn make_thread(&mut self, start: Start) -> ThreadId {
        let id = self.alive;
        if id == self.threads.len() {
            assert!(
                id < usize::from(ThreadId::MAX),
                "raddle: an execution made more than {} threads",
                ThreadId::MAX
            );
            self.threads.push(Box::new(VThread::new(id, self.limits.stack_size)));
        }
        self.alive += 1;
        let thread = &mut self.threads[id];
        match self.limits.backend {
            Backend::Coroutines => {
                thread.stack = thread.slot;
                thread.context = coroutine::prepare(&thread.stack, coroutine_body);
            }
            Backend::OsThreads => {
                let os_thread = OsThread::start(thread.slot.size(), os_thread_body);
                thread.stack = os_thread.stack;
                thread.os_thread = Some(os_thread);
            }
        }
        thread.renew(start);
        self.make_runnable(id as ThreadId);
        id as ThreadId
    }

    /// Ends the execution from within: the current thread never returns.
    pub(crate) fn stop(&mut self, outcome: Outcome) -> ! {
        self.outcome = Some(outcome);
        loop {
            // SAFETY: a thread of this engine runs; the explorer never comes back to it.
            unsafe { Engine::pass(self, Flow::Thread(self.current), Flow::Explorer) };
        }
    }

    /// Finds out what the code at a return address is.
    pub(crate) fn classify(&mut self, return_address: usize) -> Site {
        self.on_explorer(|engine| (engine.classifier)(return_address))
    }

    /// Runs something on the explorer's stack and with its thread-locals: for work that needs more of either than a hook
    /// may use of a virtual thread's.
    fn on_explorer<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> T {
        let this: *mut Engine = self;
        let mut work = Some(work);
        let mut result = None;
        // SAFETY: the explorer answers before this goes on, and the engine is not used by anything else meanwhile.
        let mut request = || result = work.take().map(|work| work(unsafe { &mut *this }));
        let request: *mut (dyn FnMut() + '_) = &mut request;
        // SAFETY: only the lifetime changes; the request is taken out before control comes back.
        unsafe {
            (*this).request = Some(std::mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(request));
            Engine::pass(this, Flow::Thread((*this).current), Flow::Explorer);
        }
        result.expect("the explorer answers every request")
    }

    /// Passes control from one flow to another; returns when it comes back.
    ///
    /// # Safety
    /// `from` must be the flow that calls this, and `this` the engine in [`GLOBAL`].
    #[inline(never)]
    unsafe fn pass(this: *mut Engine, from: Flow, to: Flow) {
        // SAFETY: contexts are those of paused flows of this engine. The FS base is that of the thread that goes on; the
        // explorer sets its own.
        unsafe {
            if let Flow::Thread(id) = to {
                (*this).current = id;
            }
            if (*this).limits.backend == Backend::OsThreads {
                // Found before the turn is given away: from then on the engine is the other's.
                let own: *const Turn = (*this).turn(from);
                (*this).turn(to).give();
                return (*own).take();
            }
            let saved: *mut Context = match from {
                Flow::Explorer => &raw mut (*this).explorer,
                Flow::Thread(id) => &raw mut (*this).thread(id.into()).context,
            };
            let next: *const Context = match to {
                Flow::Explorer => &raw const (*this).explorer,
                Flow::Thread(id) => {
                    let thread = (*this).thread(id.into());
                    sys::set_fs_base(thread.lender.fs_base);
                    &raw const thread.context
                }
            };
            coroutine::switch(saved, next);
        }
    }

    fn turn(&self, flow: Flow) -> &Turn {
        match flow {
            Flow::Explorer => &self.explorers_turn,
            Flow::Thread(id) => {
                &self.threads[id as usize].os_thread.as_ref().expect("threads are OS threads").turn
            }
        }
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
        if let Some(trace) = &mut self.trace
            && self.steps < trace.skipped_steps
        {
            trace.omitted += 1;
            return;
        }
        // The end of a thread is recorded from the explorer's stack, where there is nothing to see.
        let stack =
            if matches!(action, Action::End | Action::Begin) { Vec::new() } else { trace::call_stack() };
        // Names are looked up now, while the locals that lead to the place hold what they held at the event.
        let name = action.address().and_then(|address| {
            self.on_explorer(|engine| engine.namer.as_mut().and_then(|namer| namer(&stack, address)))
        });
        let thread = self.current;
        if let Some(trace) = &mut self.trace {
            trace.record(thread, action, stack, name);
        }
    }

    fn begin(&mut self) {
        self.alive = 0;
        self.runnable.clear();
        self.spinners.clear();
        self.locking.clear();
        self.schedule.clear();
        self.steps = 0;
        self.switches = 0;
        self.in_a_row = 0;
        self.outcome = None;
        self.futexes.clear();
        self.clock.reset();
        self.keys.clear();
        self.random = Rng::new(self.seed);
        self.current = 0;
        self.panic = None;
        self.expired = false;
        self.ticks = 0;
        self.memory_of_round = None;
    }

    /// Lets the threads run, beginning with the first, until the execution is over, and answers their requests meanwhile.
    unsafe fn drive(this: *mut Engine) {
        // SAFETY: no reference into the engine lives while others have control.
        unsafe {
            let explorer_fs = (*this).explorer_fs;
            while (*this).outcome.is_none() {
                Engine::pass(this, Flow::Explorer, Flow::Thread((*this).current));
                sys::set_fs_base(explorer_fs);
                if let Some(request) = (*this).request.take() {
                    (*request)();
                }
            }
        }
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
        heap::reset();
        for (address, len) in self.mappings.drain(..) {
            // SAFETY: the execution mapped it and is over.
            unsafe { sys::raw_syscall(libc::SYS_munmap, [address as i64, len as i64, 0, 0, 0, 0]) };
        }
        self.outcome.take().expect("an execution ends with an outcome")
    }

    /// The current thread has come to its end. Says who goes on: the explorer, if that was the end of the execution.
    fn finish_current(&mut self) -> Flow {
        let id = self.current;
        self.current().clear();
        self.record(|| Action::End);
        self.runnable.retain(|&runnable| runnable != id);
        for index in 0..self.alive {
            if self.threads[index].state == State::Join(id) {
                self.unblock(index as ThreadId, Wake::Woken);
            }
        }
        if id == 0 && self.threads[0].panicked {
            self.outcome = Some(Outcome::Panic { thread: 0 });
            return Flow::Explorer;
        }
        match self.find_next() {
            Some(next) => {
                self.leave_for(next, SwitchReason::Finished);
                Flow::Thread(next)
            }
            None => Flow::Explorer,
        }
    }

    #[inline(never)]
    fn choose_at_point(&mut self, pending: Pending) {
        self.check_limits();
        self.note_pause();
        self.current().pending = pending;
        self.in_a_row += 1;
        if self.in_a_row > MOST_IN_A_ROW {
            return self.give_way();
        }
        let next = self.decide();
        self.switch_to(next, SwitchReason::Preempted);
    }

    /// Notes where the current thread pauses, for the report of who waits where.
    #[inline]
    fn note_pause(&mut self) {
        if self.trace.is_some() {
            self.current().paused_at = trace::call_stack();
        }
    }

    /// Lets another thread go on.
    fn give_way(&mut self) {
        let me = self.current;
        self.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.make_runnable(me);
        self.switch_to(next, SwitchReason::Yielded);
    }

    fn check_limits(&mut self) {
        if self.steps > self.limits.max_steps {
            self.stop(Outcome::StepLimit);
        }
        if self.expired {
            self.stop(Outcome::TimeLimit);
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
        loop {
            if !self.locking.is_empty() {
                self.release_lockers();
            }
            match self.runnable.len() {
                0 if !self.pass_time() => return None,
                0 => {}
                1 => return Some(self.runnable[0]),
                _ => {
                    let point = Point {
                        current: self.current,
                        runnable: &self.runnable,
                        threads: &self.threads,
                        choice: self.schedule.len(),
                    };
                    let next = self.strategy.choose(&point);
                    // A script may name a thread that cannot go on, or one that does not exist.
                    let known = self.threads[..self.alive].get(next as usize);
                    if known.is_none_or(|thread| thread.state != State::Runnable) {
                        self.outcome = Some(Outcome::Diverged { choice: self.schedule.len() });
                        return None;
                    }
                    if let Some(log) = &mut self.points {
                        log.note(self.current, next, &self.runnable);
                    }
                    self.schedule.push(next);
                    return Some(next);
                }
            }
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

    /// Nobody can run. Lets the clock move, then spinners go on; false (and an outcome) if neither helps.
    #[cold]
    fn pass_time(&mut self) -> bool {
        let mut clock = mem::take(&mut self.clock);
        let moved = clock.jump(|thread| {
            self.futexes.cancel(thread);
            self.unblock(thread, Wake::TimedOut);
        });
        self.clock = clock;
        if moved {
            return true;
        }
        if !self.spinners.is_empty() {
            let stuck = |&spinner: &ThreadId| self.threads[spinner as usize].spin.stuck;
            let memory = self.memory();
            if self.memory_of_round.replace(memory) == Some(memory) && self.spinners.iter().all(stuck) {
                self.outcome = Some(Outcome::Livelock);
                return false;
            }
            self.clock.drift();
            for spinner in mem::take(&mut self.spinners) {
                self.threads[spinner as usize].spin.next_round();
                self.make_runnable(spinner);
            }
            return true;
        }
        self.outcome = Some(self.outcome_at_rest());
        self.record_last_waits();
        false
    }

    /// Lets the trace end with what the threads wait for: one that was about to lock a mutex when another locked it has
    /// made no event since.
    fn record_last_waits(&mut self) {
        let Some(trace) = &mut self.trace else { return };
        for thread in &self.threads[..self.alive] {
            let State::Lock { address } = thread.state else { continue };
            let last = trace.events.iter().rev().find(|event| event.thread == thread.id);
            if !last.is_some_and(
                |event| matches!(event.action, Action::Wait { address: at, .. } if at == address),
            ) {
                // SAFETY: a mutex that a thread waits for exists.
                let expected = unsafe { *(address as *const u32) };
                let name = trace.events.iter().rev().find(|event| event.action.address() == Some(address));
                let name = name.and_then(|event| event.name.clone());
                let wait = Action::Wait { address, expected, blocks: true, timeout: None };
                trace.switch(SwitchReason::Blocked);
                trace.record(thread.id, wait, thread.paused_at.clone(), name);
            }
        }
    }

    /// The outcome when nothing will ever happen again.
    fn outcome_at_rest(&self) -> Outcome {
        let threads = &self.threads[..self.alive];
        if let Some(panicked) = threads.iter().find(|thread| thread.panicked && !thread.joined) {
            return Outcome::Panic { thread: panicked.id };
        }
        let root_returned = threads[0].state == State::Finished;
        match threads.iter().all(|thread| thread.state == State::Finished) {
            true => Outcome::Passed,
            false if root_returned && self.limits.report_leaks => Outcome::ThreadLeak,
            false if root_returned => Outcome::Passed,
            false => Outcome::Deadlock,
        }
    }

    fn wait_for_lock(&mut self, address: usize) {
        let me = self.current;
        // SAFETY: the mutex is locked, so it exists.
        let held = unsafe { *(address as *const u32) };
        self.record(|| Action::Wait { address, expected: held, blocks: true, timeout: None });
        self.locking.push(me);
        self.block(State::Lock { address }, SwitchReason::Blocked);
    }

    /// The current thread is about to lock the mutex: others that were about to, wait from now on.
    fn hold_back_lockers(&mut self, address: usize) {
        let me = self.current;
        let Engine { runnable, threads, locking, .. } = self;
        runnable.retain(|&id| {
            let thread = &mut threads[id as usize];
            let waits =
                id != me && thread.pending.effect == Effect::Lock && thread.pending.address == address;
            if waits {
                thread.state = State::Lock { address };
                locking.push(id);
            }
            !waits
        });
    }

    /// Lets those go on whose mutex is unlocked. It is looked at rather than noted, because std's own compiled code
    /// unlocks too, in `Condvar::wait`.
    fn release_lockers(&mut self) {
        for index in (0..self.locking.len()).rev() {
            let id = self.locking[index];
            let State::Lock { address } = self.threads[id as usize].state else { continue };
            // SAFETY: a thread is about to lock the mutex, so it exists.
            if unsafe { (address as *const u32).read_volatile() } == 0 {
                self.locking.swap_remove(index);
                // What it does next is lock.
                self.threads[id as usize].pending = Pending { address, effect: Effect::Lock };
                self.make_runnable(id);
            }
        }
    }

    /// A hash of all memory that an execution can change besides the stacks of its threads.
    fn memory(&self) -> u64 {
        let mut hash = trace::hash_memory(0, heap::used());
        hash = trace::hash_memory(hash, self.borrowed.memory());
        for page in self.pages.iter().flat_map(Pages::written) {
            hash = trace::hash_memory(hash, page);
        }
        hash
    }

    #[cold]
    fn spin(&mut self, read: Read) {
        if self.memory_of_round.is_some() {
            let top = self.current().stack.top();
            let state = crate::trace::machine_state(read.pc, top);
            self.current().spin.round_ended(state);
        }
        let me = self.current;
        self.spinners.push(me);
        self.block(State::Spinning, SwitchReason::Spinning);
    }

    #[cold]
    fn release_spinners_of(&mut self, address: usize) {
        for index in (0..self.spinners.len()).rev() {
            let spinner = self.spinners[index];
            if self.threads[spinner as usize].spin.watched().any(|read| read.address == address) {
                self.threads[spinner as usize].spin.reset();
                self.unblock(spinner, Wake::Woken);
            }
        }
    }
}

/// Who has control.
#[derive(Clone, Copy)]
enum Flow {
    /// The code that called the engine.
    Explorer,
    /// A virtual thread.
    Thread(ThreadId),
}

/// The body of every coroutine.
unsafe extern "C" fn coroutine_body() -> ! {
    // SAFETY: the engine outlives its threads; the flow that control is passed to never passes it back.
    unsafe {
        run_thread();
        let engine = GLOBAL.engine.get();
        let me = (*engine).current;
        let next = (*engine).finish_current();
        loop {
            Engine::pass(engine, Flow::Thread(me), next);
        }
    }
}

/// The body of every OS thread.
unsafe fn os_thread_body() {
    // SAFETY: the engine outlives its threads; it is not used after the turn has been given away.
    unsafe {
        run_thread();
        let engine = GLOBAL.engine.get();
        if let Some(os_thread) = &(*engine).current().os_thread {
            os_thread.will_end();
        }
        let next = (*engine).finish_current();
        if let Flow::Thread(id) = next {
            (*engine).current = id;
        }
        (*engine).turn(next).give();
    }
}

/// Where a coroutine goes on that a signal has ended: back to the explorer, for ever.
pub(crate) unsafe extern "C" fn trapped() -> ! {
    let engine = GLOBAL.engine.get();
    loop {
        // SAFETY: the current thread runs this, on its own stack; the outcome is set.
        unsafe { Engine::pass(engine, Flow::Thread((*engine).current), Flow::Explorer) };
    }
}

/// What every thread does: its code, then the destructors of its thread-locals.
unsafe fn run_thread() {
    let engine = || GLOBAL.engine.get();
    // SAFETY: the engine outlives its threads, and no reference to it is held while the code under test runs.
    unsafe {
        let id = usize::from((*engine()).current);
        let start = (*engine()).thread(id).start.take().expect("a thread begins once");
        (*engine()).record(|| Action::Begin);
        GLOBAL.in_engine.set(false);
        match start {
            Start::Root(body) => (*body)(),
            Start::Routine(routine, argument) => {
                let result = routine(argument);
                (*engine()).thread(id).result = result;
            }
        }
        while let Some((destructor, object)) = {
            GLOBAL.in_engine.set(true);
            let next = (*engine()).thread(id).destructors.pop();
            GLOBAL.in_engine.set(false);
            next
        } {
            destructor(object);
        }
        GLOBAL.in_engine.set(true);
        while let Some((destructor, value)) = (*engine()).next_specific() {
            GLOBAL.in_engine.set(false);
            destructor(value);
            GLOBAL.in_engine.set(true);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        GLOBAL.threads.set(mem::take(&mut self.threads));
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
