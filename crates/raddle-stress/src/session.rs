//! The loop of the threads: many executions in one placement.
//!
//! A batch has up to 40 strides of up to 256 instances. In a batch
//!
//! 1. each thread makes the instances of its slice;
//! 2. each thread calls its actor on all instances, in the same order; after each stride it waits for the others, so that they stay
//!    close;
//! 3. each thread calls the arbiter on its slice, counts the outcomes there in a histogram of its own, and drops the instances.
//!
//! Nobody reads a clock inside: the thread that started the session sleeps and then sets a flag. Thread 0 looks at the flag after each
//! stride and says where the batch ends. Sessions begin with a single instance and double the batch while that is cheap, so that
//! slow actors and large states get small batches.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::actor::{Act, Make};
use crate::arena::Arena;
use crate::delay::Delays;
use crate::histogram::Histogram;
use crate::quiet::panic_message;
use crate::rendezvous::{Abandoned, Padded, Rendezvous, Spin};
use crate::rng::Rng;
use crate::system;

/// The functions of a program and what is the same for all its sessions.
pub(crate) struct Program<S, T> {
    pub(crate) make: Box<dyn Make<S>>,
    pub(crate) actors: Vec<Box<dyn Act<S, T>>>,
    pub(crate) arbiter: Option<Box<dyn Act<S, T>>>,
    pub(crate) stride: usize,
    pub(crate) strides: usize,
    pub(crate) delays: bool,
    /// The most executions of a session.
    pub(crate) executions: u64,
    pub(crate) seed: u64,
}

impl<S, T> Program<S, T> {
    /// Results of an outcome.
    pub(crate) fn width(&self) -> usize {
        self.actors.len() + usize::from(self.arbiter.is_some())
    }
}

/// What the threads of a session share.
pub(crate) struct Session<S, T> {
    pub(crate) program: Arc<Program<S, T>>,
    arena: Arena<S, T>,
    rendezvous: Rendezvous,
    /// Set by the thread that started the session.
    pub(crate) stop: Padded<AtomicBool>,
    control: Padded<Control>,
    pub(crate) workers: Vec<Padded<Worker<T>>>,
    /// The panic of what is no actor: the harness cannot go on.
    pub(crate) broken: Mutex<Option<Box<dyn Any + Send>>>,
    /// By actor, and for the arbiter: the instances of the batch on which it panicked, with the messages.
    panics: Vec<Mutex<HashMap<usize, String>>>,
    budget: Duration,
}

/// The decisions of thread 0, which the others read after the next rendezvous.
struct Control {
    /// Instances of the next batch.
    instances: AtomicUsize,
    /// The instance before which the last batch ends.
    cut: AtomicUsize,
}

/// The state of a thread that others see.
pub(crate) struct Worker<T> {
    /// Counts what the thread has done; a thread that is stuck does not advance.
    pub(crate) progress: AtomicU64,
    phase: AtomicU8,
    pub(crate) thread: AtomicI32,
    pub(crate) histogram: Mutex<Histogram<T>>,
}

const ACTS: u8 = 0;
const WAITS: u8 = 1;

/// Memory that the instances of a batch may occupy.
const FOOTPRINT: usize = 64 << 20;

impl<S, T> Session<S, T>
where
    S: Send + Sync,
    T: Clone + Eq + Hash + Send,
{
    pub(crate) fn new(program: &Arc<Program<S, T>>, spin: Spin, budget: Duration) -> Session<S, T> {
        let (actors, width) = (program.actors.len(), program.width());
        let fit = FOOTPRINT / Arena::<S, T>::bytes_of_instance(width);
        let worker = |_| {
            Padded(Worker {
                progress: AtomicU64::new(0),
                phase: AtomicU8::new(WAITS),
                thread: AtomicI32::new(0),
                histogram: Mutex::new(Histogram::new(width)),
            })
        };
        Session {
            program: Arc::clone(program),
            arena: Arena::new((program.stride * program.strides).min(fit).max(1), width),
            rendezvous: Rendezvous::new(actors, spin),
            stop: Padded::default(),
            control: Padded(Control { instances: AtomicUsize::new(1), cut: AtomicUsize::new(usize::MAX) }),
            workers: (0..actors).map(worker).collect(),
            broken: Mutex::new(None),
            panics: (0..width).map(|_| Mutex::default()).collect(),
            budget,
        }
    }

    /// The whole work of one thread.
    pub(crate) fn work(&self, me: usize, processor: Option<usize>, stream: u64) {
        self.workers[me].0.thread.store(system::thread_id(), Relaxed);
        if let Some(processor) = processor {
            system::bind(&[processor]);
        }
        let rng = Rng::new(self.program.seed, stream);
        match catch_unwind(AssertUnwindSafe(|| self.batches(me, rng))) {
            Ok(Ok(()) | Err(Abandoned)) => {}
            Err(payload) => {
                lock(&self.broken).get_or_insert(payload);
                self.rendezvous.abandon();
            }
        }
    }

    /// Lets those threads leave that wait for others.
    pub(crate) fn abandon(&self) {
        self.rendezvous.abandon();
    }

    /// Whether the thread waits for others, or has ended.
    pub(crate) fn waits(&self, worker: usize) -> bool {
        self.workers[worker].0.phase.load(Relaxed) == WAITS
    }

    fn batches(&self, me: usize, rng: Rng) -> Result<(), Abandoned> {
        let mut round = 0;
        let mut delays = Delays::none(rng);
        let mut growth = (me == 0).then(|| Growth::new(self.budget));
        // The same for all threads.
        let mut left = self.program.executions;
        loop {
            let instances =
                self.control.0.instances.load(Relaxed).min(usize::try_from(left).unwrap_or(usize::MAX));
            let mine = self.slice(me, instances);
            self.enter(me);
            // SAFETY: each thread fills its own slice, which is empty.
            unsafe { self.program.make.fill(self.arena.states(mine.clone())) };
            self.meet(me, &mut round)?;
            if let Some(growth) = &mut growth {
                growth.begin();
            }
            let done = self.strides(me, instances, &mut delays, &mut round)?;
            self.enter(me);
            let made = mine.start..mine.end.min(done).max(mine.start);
            self.arbitrate(made.clone());
            self.count(me, made);
            for state in self.arena.states(mine) {
                // SAFETY: each thread empties its own slice, which is filled.
                unsafe { state.clear() };
            }
            if let Some(growth) = &mut growth {
                let most = self.program.stride * self.program.strides;
                self.control.0.instances.store(growth.next(instances, most), Relaxed);
            }
            self.meet(me, &mut round)?;
            left -= done as u64;
            if left == 0 || done == self.control.0.cut.load(Relaxed) {
                return Ok(());
            }
            self.forget_panics(me);
        }
    }

    fn forget_panics(&self, me: usize) {
        lock(&self.panics[me]).clear();
        if me == 0 {
            self.panics[self.workers.len()..].iter().for_each(|panics| lock(panics).clear());
        }
    }

    /// Calls the actor on the instances of a batch. Returns on how many, which is the same for all threads.
    fn strides(
        &self,
        me: usize,
        instances: usize,
        delays: &mut Delays,
        round: &mut u64,
    ) -> Result<usize, Abandoned> {
        let stride = (instances / self.program.strides).clamp(1, self.program.stride);
        let mut done = 0;
        while done < instances {
            let next = (done + stride).min(instances);
            if self.program.delays {
                delays.draw();
            }
            self.enter(me);
            self.act(me, done..next, delays);
            if me == 0 && self.stop.0.load(Relaxed) {
                self.control.0.cut.store(next, Relaxed);
            }
            self.meet(me, round)?;
            done = next;
            // Thread 0 may be ahead by now and have set a cut, but only one that lies further on.
            if self.control.0.cut.load(Relaxed) == done {
                break;
            }
        }
        Ok(done)
    }

    fn act(&self, me: usize, range: Range<usize>, delays: &mut Delays) {
        delays.begin();
        self.sweep(&*self.program.actors[me], me, range, delays);
        delays.end();
    }

    fn arbitrate(&self, range: Range<usize>) {
        if let Some(arbiter) = &self.program.arbiter {
            let mut delays = Delays::none(Rng::new(0, 0));
            self.sweep(&**arbiter, self.program.actors.len(), range, &mut delays);
        }
    }

    /// Calls a function on a range of instances, also after it has panicked on some of them.
    fn sweep(&self, act: &dyn Act<S, T>, column: usize, range: Range<usize>, delays: &mut Delays) {
        let (states, results) = (self.arena.states(range.clone()), self.arena.results(column, range.clone()));
        let at = Cell::new(0);
        while at.get() < range.len() {
            // SAFETY: the states are filled and only read; the results in this range are this thread's.
            let swept = catch_unwind(AssertUnwindSafe(|| unsafe { act.sweep(states, results, &at, delays) }));
            match swept {
                Ok(()) => return,
                Err(payload) => {
                    lock(&self.panics[column]).insert(range.start + at.get(), panic_message(&*payload));
                    at.set(at.get() + 1);
                }
            }
        }
    }

    /// Counts the outcomes of a slice and empties their cells.
    fn count(&self, me: usize, range: Range<usize>) {
        let width = self.program.width();
        let columns: Vec<_> = (0..width).map(|column| self.arena.results(column, range.clone())).collect();
        let mut histogram = lock(&self.workers[me].0.histogram);
        let mut results: Vec<&T> = Vec::with_capacity(width);
        for number in 0..range.len() {
            results.clear();
            // SAFETY: the results of the slice are this thread's now.
            results.extend(columns.iter().filter_map(|column| unsafe { column[number].get() }));
            if results.len() == width {
                histogram.count(&results);
            } else {
                let cell = |(column, cells): (usize, &&[crate::arena::Reply<T>])| {
                    // SAFETY: as above.
                    let value = unsafe { cells[number].get() };
                    value.cloned().ok_or_else(|| self.panic_of(column, range.start + number))
                };
                histogram.count_panic(columns.iter().enumerate().map(cell).collect());
            }
            for column in &columns {
                // SAFETY: as above.
                unsafe { column[number].clear() };
            }
        }
    }

    fn panic_of(&self, column: usize, instance: usize) -> String {
        lock(&self.panics[column]).get(&instance).cloned().expect("an actor without result has panicked")
    }

    /// The instances that a thread makes, counts and drops.
    fn slice(&self, me: usize, instances: usize) -> Range<usize> {
        let threads = self.workers.len();
        instances * me / threads..instances * (me + 1) / threads
    }

    fn enter(&self, me: usize) {
        self.workers[me].0.phase.store(ACTS, Relaxed);
    }

    fn meet(&self, me: usize, round: &mut u64) -> Result<(), Abandoned> {
        let worker = &self.workers[me].0;
        worker.phase.store(WAITS, Relaxed);
        worker.progress.store(*round, Relaxed);
        self.rendezvous.meet(round)
    }
}

/// How thread 0 finds the size of batches. Only batches that may grow are timed.
struct Growth {
    limit: Duration,
    begun: Instant,
    resident: u64,
    grows: bool,
}

impl Growth {
    fn new(budget: Duration) -> Growth {
        let limit = (budget / 100).clamp(Duration::from_micros(500), Duration::from_millis(20));
        Growth { limit, begun: Instant::now(), resident: system::resident_bytes(), grows: true }
    }

    fn begin(&mut self) {
        if self.grows {
            self.begun = Instant::now();
        }
    }

    /// The instances of the next batch.
    fn next(&mut self, instances: usize, most: usize) -> usize {
        if !self.grows {
            return instances;
        }
        let grown = system::resident_bytes().saturating_sub(self.resident);
        if instances >= most || self.begun.elapsed() > self.limit || grown > FOOTPRINT as u64 / 2 {
            self.grows = false;
            return instances;
        }
        (2 * instances).min(most)
    }
}

/// Locks also what a thread that panicked left behind: it is counts, which are right at every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
