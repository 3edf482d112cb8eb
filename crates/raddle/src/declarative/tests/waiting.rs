//! Verdicts on calls that wait, against the definition: a call takes effect within the step in which it returns, a call that was
//! cancelled has no effect, and a call that waits at the end must be one that the specification lets wait.

use proptest::prelude::*;
use raddle_check::Contract;

use crate::declarative::encode::Order;
use crate::declarative::history::{Log, Note, Step};
use crate::declarative::scenario::{Invocation, Plan};
use crate::declarative::spec::{Spec, Specification};
use crate::declarative::subject::Subject;
use crate::declarative::value::Answer;
use crate::declarative::verify::{Verdict, Verification};
use crate::declarative::{Operation, Test};
use crate::generate;

const PUT: usize = 0;
const TAKE: usize = 1;

/// A buffer of one slot, by its names and types only: these tests make up what it does.
struct Buffer;

/// Put waits while the slot is full, take while it is empty.
fn buffer(futures: bool) -> (Subject, Box<dyn Specification>) {
    let values = || (generate::int(0..=9),);
    let test = Test::new(|| Buffer);
    let test = match futures {
        true => test
            .with(Operation::future_with_args("put", values(), async |_: &Buffer, _: u32| ()).cancellable())
            .with(Operation::future("take", async |_: &Buffer| 0u32).cancellable()),
        false => test
            .with(Operation::with_args("put", values(), |_: &Buffer, _: u32| ()).blocking())
            .with(Operation::new("take", |_: &Buffer| 0u32).blocking()),
    };
    let subject = test.into_subject();
    let spec = Spec::new(|| None::<u32>)
        .blocking("put", |slot: &mut Option<u32>, value: u32| slot.is_none().then(|| *slot = Some(value)))
        .blocking("take", |slot: &mut Option<u32>| slot.take())
        .fit(&subject)
        .expect("the names and types are equal");
    (subject, spec)
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Put(u32),
    Take,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It returns; a take returns this.
    Returns(u32),
    Waits,
    /// A future is dropped while it is suspended.
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    call: Call,
    end: End,
    /// How often a future is suspended before it returns.
    suspended: usize,
}

impl Told {
    fn invocation(self, subject: &Subject, thread: usize) -> Invocation {
        match self.call {
            Call::Put(value) => Invocation::drawn(subject, PUT, &[value.into()], thread),
            Call::Take => Invocation::drawn(subject, TAKE, &[], thread),
        }
    }

    fn answer(self) -> Answer {
        match (self.call, self.end) {
            (_, End::Cancelled) => Answer::Cancelled,
            (Call::Put(_), _) => Answer::Returned(Box::new(())),
            (Call::Take, End::Returns(value)) => Answer::Returned(Box::new(value)),
            (Call::Take, End::Waits) => unreachable!("a call that waits has no answer"),
        }
    }

    /// The notes of the call, first to last.
    fn notes(self, number: usize, futures: bool) -> Vec<Note> {
        if !futures {
            let begin = Note::Begun(number, Step::Request);
            return match self.end {
                End::Returns(_) => vec![begin, Note::Ended(number, self.answer())],
                End::Waits | End::Cancelled => vec![begin],
            };
        }
        let polls = match self.end {
            End::Returns(_) => self.suspended,
            End::Waits | End::Cancelled => self.suspended + 1,
        };
        let step = |poll: usize| if poll == 0 { Step::Request } else { Step::FollowUp };
        let mut notes = Vec::new();
        for poll in 0..polls {
            notes.extend([Note::Begun(number, step(poll)), Note::Ended(number, Answer::Suspended)]);
        }
        match self.end {
            End::Returns(_) => {
                notes.extend([Note::Begun(number, step(polls)), Note::Ended(number, self.answer())]);
            }
            End::Cancelled => {
                notes.extend([Note::Begun(number, Step::Cancel), Note::Ended(number, self.answer())]);
            }
            End::Waits => {}
        }
        notes
    }

    /// The slot after the call, if the specification lets it return this.
    fn effect(self, slot: Option<u32>) -> Option<Option<u32>> {
        match (self.call, self.end) {
            (Call::Put(value), _) => slot.is_none().then_some(Some(value)),
            (Call::Take, End::Returns(value)) => (slot == Some(value)).then_some(None),
            (Call::Take, _) => None,
        }
    }

    /// Whether the specification lets the call wait.
    fn may_wait(self, slot: Option<u32>) -> bool {
        match self.call {
            Call::Put(_) => slot.is_some(),
            Call::Take => slot.is_none(),
        }
    }
}

fn told() -> impl Strategy<Value = Told> {
    let call = prop_oneof![(1..3u32).prop_map(Call::Put), Just(Call::Take)];
    let end = prop_oneof![
        4 => (1..3u32).prop_map(End::Returns),
        2 => Just(End::Waits),
        1 => Just(End::Cancelled),
    ];
    (call, end, 0..2usize).prop_map(|(call, end, suspended)| Told { call, end, suspended })
}

/// Two or three threads with what they call, and which thread makes the next note.
fn histories() -> impl Strategy<Value = (Vec<Vec<Told>>, Vec<usize>)> {
    let threads = prop::collection::vec(prop::collection::vec(told(), 1..=3), 2..=3);
    (threads, prop::collection::vec(0..3usize, 64))
}

/// A call, its thread, and the first and last note of its last step.
struct Span {
    told: Told,
    thread: usize,
    last_step: (usize, usize),
}

/// The log in which threads take turns in this order.
fn log(threads: &[Vec<Told>], turns: &[usize], futures: bool) -> (Log, Vec<Span>) {
    let mut left: Vec<Vec<Note>> = Vec::new();
    let mut spans = Vec::new();
    for (thread, calls) in threads.iter().enumerate() {
        let mut notes = Vec::new();
        let mut waits = false;
        for &told in calls {
            // A thread makes no calls after one that does not end.
            if !waits {
                notes.extend(told.notes(spans.len(), futures));
                waits = told.end == End::Waits || (!futures && told.end == End::Cancelled);
                spans.push(Span { told, thread, last_step: (0, usize::MAX) });
            }
        }
        notes.reverse();
        left.push(notes);
    }
    let mut log = Log::default();
    let mut turns = turns.iter().copied();
    while left.iter().any(|notes| !notes.is_empty()) {
        let thread = turns.next().unwrap_or(0);
        let next = (0..left.len()).find_map(|offset| left[(thread + offset) % threads.len()].pop());
        let note = next.expect("a thread has notes left");
        match &note {
            Note::Begun(call, _) => spans[*call].last_step = (log.notes.len(), usize::MAX),
            Note::Ended(call, _) => spans[*call].last_step.1 = log.notes.len(),
        }
        log.notes.push(note);
    }
    (log, spans)
}

/// The verdict on calls of which these wait at the end: tries all orders of the calls that returned.
fn definition(spans: &[Span], waiting: &[usize], real_time: bool) -> Verdict {
    struct Search<'a> {
        spans: &'a [Span],
        waiting: &'a [usize],
        real_time: bool,
        /// For each order that explains the results, the calls that could go on.
        could_go_on: Vec<Vec<usize>>,
    }
    impl Search<'_> {
        fn go(&mut self, left: &[usize], slot: Option<u32>) {
            if left.is_empty() {
                let waiting = self.waiting.iter().copied();
                self.could_go_on
                    .push(waiting.filter(|&call| !self.spans[call].told.may_wait(slot)).collect());
            }
            for &next in left {
                let (begin, _) = self.spans[next].last_step;
                let comes_first = |&other: &usize| {
                    let ordered = self.real_time || self.spans[other].thread == self.spans[next].thread;
                    ordered && self.spans[other].last_step.1 < begin
                };
                if !left.iter().any(comes_first)
                    && let Some(after) = self.spans[next].told.effect(slot)
                {
                    let rest: Vec<usize> = left.iter().copied().filter(|&other| other != next).collect();
                    self.go(&rest, after);
                }
            }
        }
    }
    let returned: Vec<usize> =
        (0..spans.len()).filter(|&call| matches!(spans[call].told.end, End::Returns(_))).collect();
    let mut search = Search { spans, waiting, real_time, could_go_on: Vec::new() };
    search.go(&returned, None);
    let orders = search.could_go_on;
    if orders.is_empty() {
        return Verdict::Incorrect;
    }
    if orders.iter().any(Vec::is_empty) {
        return Verdict::Right;
    }
    let in_all = |call: &usize| orders.iter().all(|lost| lost.contains(call));
    Verdict::LostWakeUp(waiting.iter().copied().find(in_all).unwrap_or(waiting[0]))
}

fn agrees(threads: &[Vec<Told>], turns: &[usize], futures: bool) -> Result<(), TestCaseError> {
    let (subject, spec) = buffer(futures);
    let (log, spans) = log(threads, turns, futures);
    let calls = |thread: usize| spans.iter().filter(move |span| span.thread == thread);
    let plan = Plan {
        threads: (0..threads.len())
            .map(|thread| calls(thread).map(|span| span.told.invocation(&subject, thread + 1)).collect())
            .collect(),
        ..Plan::default()
    };
    let waits = |span: &Span| span.told.end == End::Waits || (!futures && span.told.end == End::Cancelled);
    let waiting: Vec<usize> = (0..spans.len()).filter(|&call| waits(&spans[call])).collect();
    let mut verification = Verification::new(&subject, &*spec, Contract::Linearizable);
    verification.begin_plan();
    for (order, real_time) in [(Order::RealTime, true), (Order::Program, false)] {
        let expected = definition(&spans, &waiting, real_time);
        let verdict = verification.verify(&plan, &log, order);
        prop_assert_eq!(verdict, expected, "{:?} {:?} {:?}", order, threads, turns);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn blocking_calls((threads, turns) in histories()) {
        agrees(&threads, &turns, false)?;
    }

    #[test]
    fn futures((threads, turns) in histories()) {
        agrees(&threads, &turns, true)?;
    }
}
