//! One execution of a plan on the engine's virtual threads.

use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::Wake;
use std::thread::{self, Thread};

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface::{self, Member};
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::trace::Action;

use super::history::{Log, MOST_THREADS, Note, Step};
use super::perform::{Bell, Stage, perform};
use super::scenario::{Invocation, Plan};
use super::subject::{Object, Subject};

/// Everything that an execution of the plan does, on the thread that the engine starts it with. The log is left where
/// `place` says, in the execution's own memory.
pub(crate) fn execute(subject: &Subject, plan: &Plan, place: &Cell<*mut Log>) {
    // Each call begins and ends; futures may do so several times.
    let steps = if plan.calls().any(|call| subject.operations[call.operation].is_future()) { 8 } else { 2 };
    // SAFETY: the engine runs and this is a virtual thread.
    let without_time =
        engine_of_virtual_thread().is_some_and(|engine| unsafe { interface::is_without_time(engine) });
    let threads = if without_time { plan.threads.len() + 1 } else { 0 };
    let log = Box::leak(Box::new(Shared(UnsafeCell::new(Log::with_capacity(steps * plan.len(), threads)))));
    place.set(log.0.get());
    // As for any closure under test, a panic that nobody expects ends the thread.
    let _ = catch_unwind(AssertUnwindSafe(|| run(subject, plan, log)));
}

// Not inlined, as `perform`.
#[inline(never)]
fn run(subject: &Subject, plan: &Plan, log: &Shared) {
    let object = subject.object();
    subject.showing(&object, || run_on(&object, subject, plan, log));
    drop(object);
}

#[inline(never)]
fn run_on(object: &Object, subject: &Subject, plan: &Plan, log: &Shared) {
    perform(subject, object, &plan.init, 0, &Virtual::alone(subject, log));
    log.with(|log| log.last_completion = events());
    let threads: Vec<thread::JoinHandle<()>> = (0..plan.threads.len())
        .map(|thread| {
            let work = move || {
                let member = Member { number: thread, of: plan.threads.len() };
                let stage = Virtual::among_others(subject, log, member);
                perform(subject, object, &plan.threads[thread], plan.first_of(thread), &stage);
            };
            // SAFETY: what it borrows lives until it has been joined, or for as long as the execution.
            unsafe { thread::Builder::new().spawn_unchecked(work) }
                .expect("the engine has room for more threads")
        })
        .collect();
    for thread in threads {
        thread.join().expect("panics of operations are results");
    }
    let first = plan.first_of(plan.threads.len());
    perform(subject, object, &plan.post, first, &Virtual::alone(subject, log));
    finish(subject, object, log);
}

#[inline(never)]
fn finish(subject: &Subject, object: &Object, log: &Shared) {
    if let Some(validate) = &subject.validate
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| validate(object)))
    {
        let said = super::value::Answer::of(Err(payload)).text();
        log.with(|log| log.invalid = Some(said));
        return;
    }
    if let Some(teardown) = &subject.teardown {
        teardown(object);
    }
}

/// Notes what the current thread, which has this number in the log, has seen of the others, if the log asks for it.
fn note_clock(log: &mut Log, thread: usize) {
    let Some(engine) = engine_of_virtual_thread() else { return };
    let Some(number) = log.threads.get_mut(thread) else { return };
    // Scenarios of more threads are rare; for those, only the order within threads is known.
    let mut seen = [0; MOST_THREADS];
    // SAFETY: the engine runs and this is a virtual thread.
    *number = unsafe { (*engine).current_id() };
    let Some(seen) = seen.get_mut(..log.threads.len()) else { return };
    // SAFETY: as above.
    unsafe { interface::seen_of_threads(engine, &log.threads, seen) };
    log.clocks.extend_from_slice(seen);
    log.makers.push(thread);
}

/// How many events the execution has made.
fn events() -> u64 {
    // SAFETY: the engine runs and this is a virtual thread.
    engine_of_virtual_thread().map_or(0, |engine| unsafe { (*engine).steps() })
}

/// The log of an execution whose threads take turns.
struct Shared(UnsafeCell<Log>);

// SAFETY: virtual threads take turns, and change only at events, of which there are none within `with`.
unsafe impl Sync for Shared {}

impl Shared {
    fn with<R>(&self, work: impl FnOnce(&mut Log) -> R) -> R {
        // SAFETY: as for `Sync`; `work` does not call this again.
        work(unsafe { &mut *self.0.get() })
    }
}

/// A virtual thread that makes calls.
struct Virtual<'a> {
    subject: &'a Subject,
    log: &'a Shared,
    /// Which thread of the parallel part it is, if it is one.
    member: Option<Member>,
    /// How many steps it has begun and ended.
    begun: Cell<u32>,
    ended: Cell<u32>,
    /// The event with which the latest one began.
    event: Cell<Option<u32>>,
}

impl Virtual<'_> {
    fn alone<'a>(subject: &'a Subject, log: &'a Shared) -> Virtual<'a> {
        let none = Cell::new(0);
        Virtual { subject, log, member: None, begun: none.clone(), ended: none, event: Cell::new(None) }
    }

    fn among_others<'a>(subject: &'a Subject, log: &'a Shared, member: Member) -> Virtual<'a> {
        Virtual { member: Some(member), ..Virtual::alone(subject, log) }
    }

    fn tell(&self, action: impl FnOnce() -> Action) {
        if let Some(engine) = engine_of_virtual_thread() {
            // SAFETY: the engine runs and this is a virtual thread.
            unsafe { interface::note(engine, action) };
        }
    }
}

impl Stage for Virtual<'_> {
    type Bell = Unpark;

    fn before_step(&self, _call: usize, _invocation: &Invocation) {
        let first = self.begun.replace(self.begun.get() + 1) == 0;
        if let (Some(member), Some(engine)) = (self.member, engine_of_virtual_thread()) {
            // SAFETY: the engine runs and this is a virtual thread.
            self.event.set(unsafe { interface::operation_begins(engine, member, first) });
        }
    }

    fn note(&self, note: Note, invocation: &Invocation) {
        let mut event = self.event.take();
        match &note {
            Note::Begun(_, step) => self.tell(|| Action::Call { call: self.shown(invocation, *step) }),
            Note::Ended(_, answer) => {
                self.ended.set(self.ended.get() + 1);
                if let (Some(member), Some(engine)) = (self.member, engine_of_virtual_thread()) {
                    // SAFETY: the engine runs and this is a virtual thread.
                    event = unsafe { interface::operation_ends(engine, member, self.ended.get()) };
                }
                self.tell(|| Action::Return { call: invocation.text(self.subject), result: answer.text() })
            }
        }
        let completes = self.member.is_some() && matches!(note, Note::Ended(..));
        self.log.with(|log| {
            note_clock(log, self.member.map_or(0, |member| member.number + 1));
            log.notes.push(note);
            log.events.push(event);
            if completes {
                log.completed(events());
            }
        });
    }

    fn bell(&self) -> Arc<Unpark> {
        Arc::new(Unpark { thread: thread::current(), silent: AtomicU32::new(1) })
    }
}

impl Virtual<'_> {
    fn shown(&self, invocation: &Invocation, step: Step) -> String {
        let call = invocation.text(self.subject);
        match step {
            Step::Request => call,
            Step::FollowUp => format!("{call}, resumed"),
            Step::Cancel => format!("{call}, cancelled"),
        }
    }
}

/// Wakes a virtual thread by unparking it. If that never happens, the engine sees that nobody can go on.
pub(crate) struct Unpark {
    thread: Thread,
    /// 0 once it has rung.
    silent: AtomicU32,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(engine) = engine_of_virtual_thread()
            // SAFETY: the engine runs and this is a virtual thread.
            && unsafe { interface::ring(engine, self.silent.as_ptr()) }
        {
            return;
        }
        self.silent.store(0, SeqCst);
        self.thread.unpark();
    }
}

impl Bell for Unpark {
    fn wait(&self) -> bool {
        let engine = engine_of_virtual_thread();
        if let Some(engine) = engine
            // SAFETY: the engine runs and this is a virtual thread.
            && unsafe { interface::hear(engine, self.silent.as_ptr()) }
        {
            return true;
        }
        while self.silent.swap(1, SeqCst) == 1 {
            if engine.is_some() {
                GLOBAL.own_park.set(true);
            }
            thread::park();
        }
        if let Some(engine) = engine {
            // SAFETY: as above.
            unsafe { interface::heard(engine) };
        }
        true
    }
}
