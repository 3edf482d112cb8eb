//! The parts of declarative tests against their definitions, without any engine.

mod waiting;

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;

use proptest::prelude::*;
use raddle_check::Contract;

use super::definition::Size;
use super::encode::Order;
use super::generation::Generation;
use super::history::{Log, Note, Step};
use super::minimise::minimise;
use super::persist;
use super::report::describe;
use super::scenario::{Invocation, Plan};
use super::spec::sequential::Sequential;
use super::subject::Subject;
use super::value::Answer;
use super::verify::{Verdict, Verification};
use super::{Operation, Test};
use crate::generate;

type Queue = Mutex<VecDeque<u32>>;

const PUSH: usize = 0;
const POP: usize = 1;

fn queue() -> Subject {
    Test::new(Queue::default)
        .with(Operation::with_args("push", (generate::int(0..=9),), |queue: &Queue, value: u32| {
            queue.lock().unwrap().push_back(value);
        }))
        .operation("pop", |queue: &Queue| queue.lock().unwrap().pop_front())
        .into_subject()
}

/// What a call does, and what it is said to have returned.
#[derive(Clone, Copy, Debug)]
enum Said {
    Push(u32),
    Pop(Option<u32>),
}

impl Said {
    fn invocation(self, subject: &Subject, thread: usize) -> Invocation {
        match self {
            Said::Push(value) => Invocation::drawn(subject, PUSH, &[value.into()], thread),
            Said::Pop(_) => Invocation::drawn(subject, POP, &[], thread),
        }
    }

    fn answer(self) -> Answer {
        match self {
            Said::Push(_) => Answer::Returned(Box::new(())),
            Said::Pop(result) => Answer::Returned(Box::new(result)),
        }
    }

    fn is_right(self, queue: &mut VecDeque<u32>) -> bool {
        match self {
            Said::Push(value) => {
                queue.push_back(value);
                true
            }
            Said::Pop(result) => queue.pop_front() == result,
        }
    }
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        (1..3u32).prop_map(Said::Push),
        prop_oneof![Just(None), (1..3u32).prop_map(Some)].prop_map(Said::Pop)
    ]
}

/// Two or three threads with what they call, and whose note comes next.
fn histories() -> impl Strategy<Value = (Vec<Vec<Said>>, Vec<usize>)> {
    let threads = prop::collection::vec(prop::collection::vec(said(), 1..=3), 2..=3);
    (threads, prop::collection::vec(0..3usize, 64))
}

/// The log in which threads take turns as told; call, begin and end of each.
fn log(threads: &[Vec<Said>], turns: &[usize]) -> (Log, Vec<(Said, usize, usize, usize)>) {
    let total: usize = threads.iter().map(Vec::len).sum();
    let mut log = Log::with_capacity(total, 0);
    let mut spans: Vec<(Said, usize, usize, usize)> = Vec::new();
    let first = |thread: usize| threads[..thread].iter().map(Vec::len).sum::<usize>();
    for (thread, calls) in threads.iter().enumerate() {
        spans.extend(calls.iter().map(|&said| (said, thread, 0, 0)));
    }
    let mut at = vec![0; threads.len()];
    let mut turns = turns.iter().copied();
    while at.iter().zip(threads).any(|(&at, calls)| at < 2 * calls.len()) {
        let thread = turns.next().unwrap_or(0) % threads.len();
        let Some(thread) = (0..threads.len())
            .map(|offset| (thread + offset) % threads.len())
            .find(|&thread| at[thread] < 2 * threads[thread].len())
        else {
            break;
        };
        let call = first(thread) + at[thread] / 2;
        let now = log.notes.len();
        if at[thread].is_multiple_of(2) {
            spans[call].2 = now;
            log.notes.push(Note::Begun(call, Step::Request));
        } else {
            spans[call].3 = now;
            log.notes.push(Note::Ended(call, threads[thread][at[thread] / 2].answer()));
        }
        at[thread] += 1;
    }
    (log, spans)
}

/// Whether some order explains the results: tries all of them.
fn brute_force(spans: &[(Said, usize, usize, usize)], real_time: bool) -> bool {
    fn search(
        spans: &[(Said, usize, usize, usize)],
        real_time: bool,
        placed: &mut Vec<bool>,
        queue: &VecDeque<u32>,
    ) -> bool {
        if placed.iter().all(|&placed| placed) {
            return true;
        }
        (0..spans.len()).any(|next| {
            let must_wait = (0..spans.len()).any(|other| {
                let ordered = real_time || spans[other].1 == spans[next].1;
                !placed[other] && ordered && spans[other].3 < spans[next].2
            });
            let mut after = queue.clone();
            if placed[next] || must_wait || !spans[next].0.is_right(&mut after) {
                return false;
            }
            placed[next] = true;
            let found = search(spans, real_time, placed, &after);
            placed[next] = false;
            found
        })
    }
    search(spans, real_time, &mut vec![false; spans.len()], &VecDeque::new())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn verdicts_are_those_of_the_definition((threads, turns) in histories()) {
        let subject = queue();
        let plan = Plan {
            threads: threads
                .iter()
                .enumerate()
                .map(|(thread, calls)| calls.iter().map(|said| said.invocation(&subject, thread + 1)).collect())
                .collect(),
            ..Plan::default()
        };
        let (log, spans) = log(&threads, &turns);
        let spec = Sequential::default();
        let mut verification = Verification::new(&subject, &spec, Contract::Linearizable);
        verification.begin_plan();
        for (order, real_time) in [(Order::RealTime, true), (Order::Program, false)] {
            let verdict = verification.verify(&plan, &log, order);
            let expected = brute_force(&spans, real_time);
            prop_assert_eq!(verdict == Verdict::Right, expected, "{:?} {:?}", order, spans);
            // It is the same when it is remembered.
            prop_assert_eq!(verification.verify(&plan, &log, order), verdict);
            if verdict != Verdict::Right {
                prop_assert!(!verification.explain(&plan, &log, order).is_empty());
            }
        }
    }

    #[test]
    fn what_is_minimal_fails_and_nothing_smaller_does(seed in 0..500u64, pushes in 1..4usize, least in 0..6u32) {
        let subject = queue();
        let size = Size { fewest_threads: 3, threads: 3, per_thread: 4, before: 3, after: 3 };
        let mut generation = Generation::new(&subject, size, 1, seed);
        let large = |call: &&Invocation| {
            call.operation == PUSH && call.args.texts()[0].parse::<u32>().unwrap() >= least
        };
        let fails = |plan: &Plan| {
            let parallel = plan.threads.iter().flatten().any(|call| call.operation == POP);
            (plan.calls().filter(large).count() >= pushes && parallel).then_some(())
        };
        let failing = std::iter::from_fn(|| generation.next()).take(50).find(|plan| fails(plan).is_some());
        if let Some(plan) = failing {
            let (smallest, ()) = minimise(&subject, plan, (), fails);
            prop_assert!(fails(&smallest).is_some());
            prop_assert_eq!(smallest.len(), pushes + 1, "{}", smallest.text(&subject));
            prop_assert_eq!(smallest.threads.len(), 1, "{}", smallest.text(&subject));
            for call in smallest.calls().filter(|call| call.operation == PUSH) {
                prop_assert_eq!(call.args.texts(), [least.to_string()]);
            }
        }
    }

    #[test]
    fn scenarios_survive_being_written(seed in 0..500u64) {
        let subject = queue();
        let size = Size { fewest_threads: 2, threads: 2, per_thread: 4, before: 2, after: 2 };
        let plan = Generation::new(&subject, size, 1, seed).next().unwrap();
        let written = serde_json::to_string(&describe(&subject, &plan, &[])).unwrap();
        let read = persist::plan(&subject, &serde_json::from_str(&written).unwrap(), &[]).unwrap();
        prop_assert_eq!(read.text(&subject), plan.text(&subject));
    }
}

#[test]
fn no_scenario_is_made_twice_not_even_with_its_threads_exchanged() {
    let subject = queue();
    let size = Size { fewest_threads: 2, threads: 2, per_thread: 2, before: 1, after: 1 };
    let mut generation = Generation::new(&subject, size, 200, 7);
    let mut seen = HashSet::new();
    for plan in std::iter::from_fn(|| generation.next()).take(200) {
        let mut exchanged = plan.clone();
        exchanged.threads.reverse();
        assert!(!seen.contains(&exchanged.text(&subject)), "{}", plan.text(&subject));
        assert!(seen.insert(plan.text(&subject)));
    }
    assert_eq!(seen.len(), 200);
}

#[test]
fn scenarios_take_turns_with_the_numbers_of_threads() {
    let subject = queue();
    let size = Size { fewest_threads: 2, threads: 3, per_thread: 1, before: 0, after: 0 };
    let mut generation = Generation::new(&subject, size, 20, 3);
    let threads: HashSet<usize> =
        std::iter::from_fn(|| generation.next()).map(|plan| plan.threads.len()).collect();
    assert_eq!(threads, HashSet::from([2, 3]));
}

#[test]
fn what_can_be_pasted_is_for_the_builder_or_the_attribute() {
    let mut subject = queue();
    let plan = Plan {
        init: Vec::new(),
        threads: vec![vec![Invocation::drawn(&subject, POP, &[], 1)]],
        post: Vec::new(),
    };
    let call = r#".thread([raddle::call("pop", ())])"#;
    let builder = format!(".scenario(\n    raddle::Scenario::new()\n        {call},\n)");
    assert_eq!(plan.code(&subject), builder);
    subject.by_attribute = true;
    assert_eq!(plan.code(&subject), format!("scenario = raddle::Scenario::new()\n    {call},"));
}

#[test]
fn what_can_be_pasted_names_the_types() {
    let subject = queue();
    let plan = Plan {
        init: vec![Invocation::drawn(&subject, PUSH, &[4], 0)],
        threads: vec![vec![Invocation::drawn(&subject, POP, &[], 1)]],
        post: Vec::new(),
    };
    let code = plan.code(&subject);
    assert!(code.contains(r#".init([raddle::call("push", (4u32,))])"#), "{code}");
    assert!(code.contains(r#".thread([raddle::call("pop", ())])"#), "{code}");
}

#[test]
fn notes_are_put_in_the_order_of_their_events() {
    let mut log = Log::with_capacity(4, 0);
    // One call before all others, two that were made one after the other, one after all others.
    let calls = [(0, [None, None]), (1, [Some(0), Some(1)]), (2, [Some(2), Some(3)]), (3, [None, None])];
    for (call, events) in calls {
        log.notes.push(Note::Begun(call, Step::Request));
        log.notes.push(Note::Ended(call, Said::Push(1).answer()));
        log.events.extend(events);
    }
    // The second began first, and ended between.
    log.put_in_order(&[1, 3, 0, 2]);
    let order: Vec<(usize, bool)> = log
        .notes
        .iter()
        .map(|note| match note {
            Note::Begun(call, _) => (*call, false),
            Note::Ended(call, _) => (*call, true),
        })
        .collect();
    let expected =
        [(0, false), (0, true), (2, false), (1, false), (2, true), (1, true), (3, false), (3, true)];
    assert_eq!(order, expected);
}
