//! Executions of a plan on real threads: without control, but with real timing and real memory.
//!
//! A worker for each thread of the plan makes its calls on one object after the other; a barrier before each lets them begin
//! together. Logs are collected in batches and verified by the thread that asked.
//!
//! Half of the executions use a clock that all threads share and that records the real-time order of calls. The clock also orders
//! memory accesses between calls, so the other half goes without a clock, and is verified by the order within threads only.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::Wake;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use raddle_engine::exploration::Effort;
use raddle_report::failure::Kind;

use super::encode::Order;
use super::history::{Log, Note};
use super::perform::{Bell, Stage, perform};
use super::quiet::quietly;
use super::scenario::{Invocation, Plan};
use super::subject::{Object, Subject};
use super::value::Answer;
use super::verify::{Verdict, Verification};

/// The result of stressing a plan.
#[derive(Debug, Default)]
pub(crate) struct Stressed {
    pub(crate) executions: u64,
    pub(crate) failure: Option<StressFailure>,
    /// Whether threads are left that never end, and that use the subject.
    pub(crate) stuck: bool,
}

/// An execution on real threads that failed.
#[derive(Clone, Debug)]
pub(crate) struct StressFailure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) results: Vec<Option<String>>,
    pub(crate) reasons: Vec<String>,
    pub(crate) execution: u64,
}

/// The number of executions between two verifications.
const BATCH: usize = 64;

/// Whether the plan can be stressed. Nothing shows whether a real thread that blocks does so rightly.
pub(crate) fn is_possible(subject: &Subject, plan: &Plan) -> bool {
    plan.calls().all(|call| {
        let operation = &subject.operations[call.operation];
        operation.is_future() || !operation.blocking
    })
}

/// Executes the plan on real threads until an execution fails or the effort is spent. A batch that takes longer than `patience` is
/// stuck.
pub(crate) fn stress(
    subject: &Subject,
    plan: &Plan,
    verification: &mut Verification<'_>,
    effort: Effort,
    patience: Duration,
) -> Stressed {
    verification.begin_plan();
    let begin = Instant::now();
    // SAFETY: workers that end are joined before this returns; if some do not, the caller is told, and keeps the subject.
    let subject: &'static Subject = unsafe { &*std::ptr::from_ref(subject) };
    let workers = Workers::start(subject, &Arc::new(plan.clone()));
    let mut stressed = Stressed::default();
    let mut untimed = false;
    while stressed.executions < effort.executions && effort.time.is_none_or(|time| begin.elapsed() < time) {
        let timed = !untimed || !verification.knows_program_order();
        untimed = timed;
        let Some(logs) = workers.batch(timed, patience) else {
            stressed.failure = Some(StressFailure {
                kind: Kind::TimeLimit,
                message: format!(
                    "operations did not return within {:?} on real threads: they wait for each other, or loop for ever",
                    patience
                ),
                results: Vec::new(),
                reasons: Vec::new(),
                execution: stressed.executions,
            });
            stressed.stuck = true;
            std::mem::forget(workers);
            return stressed;
        };
        let order = if timed { Order::RealTime } else { Order::Program };
        for log in logs {
            let execution = stressed.executions;
            stressed.executions += 1;
            if let Some(failure) = quietly(|| judge(subject, plan, verification, &log, order, execution)) {
                stressed.failure = Some(failure);
                workers.join();
                return stressed;
            }
        }
    }
    workers.join();
    stressed
}

fn judge(
    subject: &Subject,
    plan: &Plan,
    verification: &mut Verification<'_>,
    log: &Log,
    order: Order,
    execution: u64,
) -> Option<StressFailure> {
    let fail = |kind: Kind, message: String, reasons: Vec<String>| {
        Some(StressFailure { kind, message, reasons, results: log.results(plan.len()), execution })
    };
    if let Some(said) = &log.broken {
        return fail(Kind::Panic, said.clone(), Vec::new());
    }
    if let Some(said) = &log.invalid {
        return fail(Kind::Validation, said.clone(), Vec::new());
    }
    match verification.verify(plan, log, order) {
        Verdict::Right => None,
        verdict => {
            let (kind, message) = verdict.in_words(subject, plan, log);
            fail(kind, message, verification.explain(plan, log, order))
        }
    }
}

/// The notes of one thread in one execution, with their times.
type Stamped = Vec<(u64, Note)>;

/// The threads of a plan.
struct Workers {
    jobs: Vec<Sender<Arc<Batch>>>,
    done: Receiver<Vec<Stamped>>,
    threads: Vec<JoinHandle<()>>,
}

/// Executions that are made together.
struct Batch {
    objects: Vec<OnceLock<Object>>,
    starts: Vec<AtomicUsize>,
    rests: Vec<Arc<Rest>>,
    clock: AtomicU64,
    timed: bool,
    /// The notes of the worker that makes the objects and calls the init and the post part, by execution.
    ends: OnceLock<Vec<End>>,
}

#[derive(Default)]
struct End {
    before: RefCell<Stamped>,
    after: RefCell<Stamped>,
    invalid: Option<String>,
    broken: Option<String>,
}

// SAFETY: written by one worker, and read by the thread that collects after that worker has said that it is done.
unsafe impl Sync for End {}

impl Workers {
    fn start(subject: &'static Subject, plan: &Arc<Plan>) -> Workers {
        let (say, done) = channel();
        let (mut jobs, mut threads) = (Vec::new(), Vec::new());
        for number in 0..plan.threads.len() {
            let (give, get) = channel::<Arc<Batch>>();
            let (plan, say) = (Arc::clone(plan), say.clone());
            jobs.push(give);
            threads.push(thread::spawn(move || {
                for batch in get {
                    let logs = quietly(|| work(subject, &plan, number, &batch));
                    if say.send(logs).is_err() {
                        return;
                    }
                }
            }));
        }
        Workers { jobs, done, threads }
    }

    /// The logs of a batch; none if its threads are stuck.
    fn batch(&self, timed: bool, patience: Duration) -> Option<Vec<Log>> {
        let threads = self.jobs.len();
        let batch = Arc::new(Batch {
            objects: (0..BATCH).map(|_| OnceLock::new()).collect(),
            starts: (0..BATCH).map(|_| AtomicUsize::new(0)).collect(),
            rests: (0..BATCH).map(|_| Arc::new(Rest::new(threads))).collect(),
            clock: AtomicU64::new(1),
            timed,
            ends: OnceLock::new(),
        });
        for job in &self.jobs {
            job.send(Arc::clone(&batch)).expect("workers end when they are told");
        }
        let mut logs: Vec<Stamped> = (0..BATCH).map(|_| Vec::new()).collect();
        for _ in 0..threads {
            match self.done.recv_timeout(patience) {
                Ok(mine) => logs.iter_mut().zip(mine).for_each(|(all, mine)| all.extend(mine)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
        let ends = batch.ends.get()?;
        let merged = logs.into_iter().zip(ends).map(|(mut parallel, end)| {
            // Without a clock, calls of different threads overlap: all begin before any ends.
            parallel.sort_by_key(|(stamp, _)| *stamp);
            let notes = end.before.take().into_iter().chain(parallel).chain(end.after.take());
            let notes = notes.map(|(_, note)| note).collect();
            Log { notes, invalid: end.invalid.clone(), broken: end.broken.clone(), ..Log::default() }
        });
        Some(merged.collect())
    }

    fn join(self) {
        drop(self.jobs);
        for thread in self.threads {
            // A worker catches all panics of the code under test.
            let _ = thread.join();
        }
    }
}

/// The work of one worker for a batch. Returns its log of each execution.
fn work(subject: &Subject, plan: &Plan, number: usize, batch: &Batch) -> Vec<Stamped> {
    let mut ends: Vec<End> = Vec::new();
    if number == 0 {
        for object in &batch.objects {
            let mut end = End::default();
            let made = catch_unwind(AssertUnwindSafe(|| {
                let made = subject.object();
                perform(subject, &made, &plan.init, 0, &Real::alone(batch, &end.before));
                made
            }));
            match made {
                Ok(made) => assert!(object.set(made).is_ok(), "one worker makes the objects"),
                Err(payload) => end.broken = Some(said(payload)),
            }
            ends.push(end);
        }
    }
    let first = plan.first_of(number);
    let mut logs = Vec::with_capacity(BATCH);
    for execution in 0..BATCH {
        let log = RefCell::new(Vec::with_capacity(2 * plan.threads[number].len()));
        meet(&batch.starts[execution], plan.threads.len());
        if let Some(object) = batch.objects[execution].get() {
            let rest = &batch.rests[execution];
            let stage = Real { batch, log: &log, rest: Some((rest, number)) };
            perform(subject, object, &plan.threads[number], first, &stage);
            rest.leave(number);
        }
        logs.push(log.into_inner());
    }
    if number == 0 {
        // The others may still be in the last execution.
        while batch.rests.iter().any(|rest| !rest.is_over())
            && batch.objects.iter().all(|o| o.get().is_some())
        {
            thread::yield_now();
        }
        let post = plan.first_of(plan.threads.len());
        for (object, end) in batch.objects.iter().zip(&mut ends) {
            let Some(object) = object.get() else { continue };
            let ended = catch_unwind(AssertUnwindSafe(|| {
                perform(subject, object, &plan.post, post, &Real::alone(batch, &end.after));
                if let Some(validate) = &subject.validate
                    && let Err(payload) = catch_unwind(AssertUnwindSafe(|| validate(object)))
                {
                    return Some(said(payload));
                }
                if let Some(teardown) = &subject.teardown {
                    teardown(object);
                }
                None
            }));
            match ended {
                Ok(invalid) => end.invalid = invalid,
                Err(payload) => end.broken = Some(said(payload)),
            }
        }
        let _ = batch.ends.set(ends);
    }
    logs
}

fn said(payload: Box<dyn std::any::Any + Send>) -> String {
    Answer::of(Err(payload)).text()
}

/// Waits until all threads have arrived.
fn meet(arrived: &AtomicUsize, all: usize) {
    arrived.fetch_add(1, SeqCst);
    let mut spins = 0u32;
    while arrived.load(SeqCst) < all {
        spins += 1;
        match spins % 128 {
            0 => thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}

/// A real thread that makes calls.
struct Real<'a> {
    batch: &'a Batch,
    log: &'a RefCell<Stamped>,
    rest: Option<(&'a Arc<Rest>, usize)>,
}

impl<'a> Real<'a> {
    fn alone(batch: &'a Batch, log: &'a RefCell<Stamped>) -> Real<'a> {
        Real { batch, log, rest: None }
    }
}

impl Stage for Real<'_> {
    type Bell = Ring;

    fn before_step(&self, _: usize, _: &Invocation) {}

    fn note(&self, note: Note, _: &Invocation) {
        let stamp = if self.batch.timed { self.batch.clock.fetch_add(1, SeqCst) } else { 0 };
        self.log.borrow_mut().push((stamp, note));
    }

    fn bell(&self) -> Arc<Ring> {
        let (rest, thread) = self.rest.expect("futures are only polled in the parallel part");
        Arc::new(Ring { rest: Arc::clone(rest), thread })
    }
}

/// Whether all threads of an execution wait or have ended, so that nothing will happen any more.
struct Rest {
    idle: AtomicUsize,
    /// How often a thread went on after it had waited.
    resumed: AtomicUsize,
    rung: Vec<AtomicBool>,
    /// Threads that have ended: whether they are rung makes no difference.
    gone: Vec<AtomicBool>,
    ended: AtomicUsize,
    /// Whether a thread has seen that nothing will happen any more.
    is_final: AtomicBool,
}

impl Rest {
    fn new(threads: usize) -> Rest {
        Rest {
            idle: AtomicUsize::new(0),
            resumed: AtomicUsize::new(0),
            rung: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            gone: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            ended: AtomicUsize::new(0),
            is_final: AtomicBool::new(false),
        }
    }

    fn leave(&self, thread: usize) {
        self.gone[thread].store(true, SeqCst);
        self.idle.fetch_add(1, SeqCst);
        self.ended.fetch_add(1, SeqCst);
    }

    fn is_over(&self) -> bool {
        self.ended.load(SeqCst) == self.rung.len()
    }

    /// Only a thread that runs can ring. If all are idle and nobody has been rung, that stays so.
    fn is_final(&self) -> bool {
        let resumed = self.resumed.load(SeqCst);
        let is_final = self.idle.load(SeqCst) == self.rung.len()
            && self.rung.iter().zip(&self.gone).all(|(rung, gone)| gone.load(SeqCst) || !rung.load(SeqCst))
            && self.resumed.load(SeqCst) == resumed;
        is_final && !self.is_final.swap(true, SeqCst) || self.is_final.load(SeqCst)
    }
}

/// Wakes a real thread.
struct Ring {
    rest: Arc<Rest>,
    thread: usize,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rest.rung[self.thread].store(true, SeqCst);
    }
}

impl Bell for Ring {
    fn wait(&self) -> bool {
        let rest = &*self.rest;
        rest.idle.fetch_add(1, SeqCst);
        loop {
            if rest.rung[self.thread].load(SeqCst) {
                rest.resumed.fetch_add(1, SeqCst);
                rest.idle.fetch_sub(1, SeqCst);
                rest.rung[self.thread].store(false, SeqCst);
                return true;
            }
            if rest.is_final() {
                return false;
            }
            thread::yield_now();
        }
    }
}
