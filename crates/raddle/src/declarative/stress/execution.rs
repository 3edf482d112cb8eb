//! A plan as a program of the stress harness, and its results as logs.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_stress::{Stress, pause_point};

use super::rest::{Rest, Ring};
use crate::declarative::history::{Log, Note};
use crate::declarative::perform::{Stage, perform};
use crate::declarative::scenario::{Invocation, Plan};
use crate::declarative::subject::{Object, Subject};
use crate::declarative::value::Answer;

/// The program of a plan. `timed` says whether notes have times.
pub(super) fn program(subject: &'static Subject, plan: &Arc<Plan>, timed: bool) -> Stress<Execution, Part> {
    let threads = plan.threads.len();
    let of_init = Arc::clone(plan);
    let mut program = Stress::new(move || Execution::new(subject, &of_init, timed));
    for thread in 0..threads {
        let plan = Arc::clone(plan);
        program = program.actor(move |execution: &Execution| execution.parallel(subject, &plan, thread));
    }
    let plan = Arc::clone(plan);
    program.arbiter(move |execution| execution.post(subject, &plan))
}

/// The log of the parts of an execution: of each thread, then of the arbiter.
pub(super) fn log(parts: &[Part]) -> Log {
    let Some((last, threads)) = parts.split_last() else { return Log::default() };
    let (mut first, mut parallel, mut end) = (Vec::new(), Vec::new(), last.lock());
    for thread in threads {
        parallel.append(&mut thread.lock().notes);
    }
    // Without a clock, calls of different threads overlap: all begin before any ends.
    parallel.sort_by_key(|(stamp, _)| *stamp);
    first.append(&mut end.before);
    let notes = first.into_iter().chain(parallel).chain(end.notes.drain(..)).map(|(_, note)| note).collect();
    Log { notes, invalid: end.invalid.take(), broken: end.broken.take(), ..Log::default() }
}

/// The notes of one thread in one execution, with their times.
type Stamped = Vec<(u64, Note)>;

/// An object after the init part.
pub(super) struct Execution {
    /// None if it could not be made.
    object: Option<Object>,
    /// The notes of the init part, and why there is no object.
    made: Part,
    rest: Arc<Rest>,
    clock: Option<AtomicU64>,
}

impl Execution {
    fn new(subject: &Subject, plan: &Plan, timed: bool) -> Execution {
        let rest = Arc::new(Rest::new(plan.threads.len()));
        let clock = timed.then(|| AtomicU64::new(1));
        let log = RefCell::new(Vec::new());
        let made = catch_unwind(AssertUnwindSafe(|| {
            let made = subject.object();
            perform(subject, &made, &plan.init, 0, &Real { clock: clock.as_ref(), log: &log, rest: None });
            made
        }));
        let mut notes = Notes { before: log.into_inner(), ..Notes::default() };
        let object = made.map_err(|payload| notes.broken = Some(said(payload))).ok();
        Execution { object, made: Part::new(notes), rest, clock }
    }

    /// The calls of one thread.
    fn parallel(&self, subject: &Subject, plan: &Plan, thread: usize) -> Part {
        let calls = &plan.threads[thread];
        let log = RefCell::new(Vec::with_capacity(2 * calls.len()));
        if let Some(object) = &self.object {
            let stage = Real { clock: self.clock.as_ref(), log: &log, rest: Some((&self.rest, thread)) };
            perform(subject, object, calls, plan.first_of(thread), &stage);
        }
        self.rest.leave(thread);
        Part::new(Notes { notes: log.into_inner(), ..Notes::default() })
    }

    /// The post part and the validation. The notes of the init part go with it.
    fn post(&self, subject: &Subject, plan: &Plan) -> Part {
        let part = self.made.clone();
        let Some(object) = &self.object else { return part };
        let log = RefCell::new(Vec::new());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let stage = Real { clock: self.clock.as_ref(), log: &log, rest: None };
            perform(subject, object, &plan.post, plan.first_of(plan.threads.len()), &stage);
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
        let mut notes = part.lock();
        match ended {
            Ok(invalid) => notes.invalid = invalid,
            Err(payload) => notes.broken = Some(said(payload)),
        }
        notes.notes = log.into_inner();
        drop(notes);
        part
    }
}

fn said(payload: Box<dyn std::any::Any + Send>) -> String {
    Answer::of(Err(payload)).text()
}

/// What one thread, or the arbiter, contributes to the log of an execution. Equal parts are counted together.
#[derive(Clone)]
pub(super) struct Part(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    /// Those of the init part; only the arbiter has them.
    before: Stamped,
    notes: Stamped,
    invalid: Option<String>,
    broken: Option<String>,
}

impl Part {
    fn new(notes: Notes) -> Part {
        Part(Arc::new(Mutex::new(notes)))
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        let (one, two) = (self.lock(), other.lock());
        let same = |one: &Stamped, two: &Stamped| {
            one.len() == two.len()
                && one.iter().zip(two).all(|(one, two)| one.0 == two.0 && same_note(&one.1, &two.1))
        };
        (&one.invalid, &one.broken) == (&two.invalid, &two.broken)
            && same(&one.before, &two.before)
            && same(&one.notes, &two.notes)
    }
}

impl Eq for Part {}

impl Hash for Part {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let notes = self.lock();
        for (stamp, note) in notes.before.iter().chain(&notes.notes) {
            stamp.hash(hasher);
            match note {
                Note::Begun(call, step) => (call, step).hash(hasher),
                Note::Ended(call, Answer::Returned(value)) => {
                    call.hash(hasher);
                    value.hash_text(hasher);
                }
                // Rare enough to share a hash.
                Note::Ended(call, _) => call.hash(hasher),
            }
        }
    }
}

/// Whether two notes say the same. A value that is not even equal to itself is the same if it is printed alike.
fn same_note(one: &Note, two: &Note) -> bool {
    match (one, two) {
        (Note::Begun(one, first), Note::Begun(two, second)) => one == two && first == second,
        (Note::Ended(one, first), Note::Ended(two, second)) => {
            one == two
                && match (first, second) {
                    (Answer::Returned(first), Answer::Returned(second)) => {
                        first.same(&**second) || first.text() == second.text()
                    }
                    (Answer::Returned(_), _) | (_, Answer::Returned(_)) => false,
                    (first, second) => first.text() == second.text(),
                }
        }
        _ => false,
    }
}

/// A real thread that makes calls.
struct Real<'a> {
    clock: Option<&'a AtomicU64>,
    log: &'a RefCell<Stamped>,
    rest: Option<(&'a Arc<Rest>, usize)>,
}

impl Stage for Real<'_> {
    type Bell = Ring;

    fn before_step(&self, _: usize, _: &Invocation) {
        pause_point();
    }

    fn note(&self, note: Note, _: &Invocation) {
        let stamp = self.clock.map_or(0, |clock| clock.fetch_add(1, SeqCst));
        self.log.borrow_mut().push((stamp, note));
    }

    fn bell(&self) -> Arc<Ring> {
        let (rest, thread) = self.rest.expect("futures are only polled in the parallel part");
        Arc::new(Ring { rest: Arc::clone(rest), thread })
    }
}
