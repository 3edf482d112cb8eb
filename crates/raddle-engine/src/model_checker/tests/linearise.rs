//! Small programs made of operations, held against all their interleavings.

use std::collections::{BTreeMap, BTreeSet};

use notation::Statement;
use notation::random::operation_programs;

use super::{index, parse, samples};
use crate::graph::event::{Access, NONE};
use crate::model_checker::{Answer, Location, Model, ModelChecker, Request};
use crate::op::Order::SeqCst;
use crate::op::Rmw;

/// The operations of each thread, each a list of accesses.
type Program = Vec<Vec<Vec<Statement>>>;

fn operations(program: &notation::Program) -> Program {
    let operation = |statement: &Statement| match statement {
        Statement::Operation(accesses) => accesses.clone(),
        other => unreachable!("threads consist of operations here: {other}"),
    };
    program.threads.iter().map(|thread| thread.iter().map(operation).collect()).collect()
}

/// What tells executions apart. Operations are named by thread and number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    /// What each thread read.
    reads: Vec<Vec<u64>>,
    /// The order of the writes to each place, each by its thread and how many steps that had made.
    writes: Vec<Vec<(usize, usize)>>,
    /// Which write each read saw, by the thread and the step of both.
    sources: BTreeMap<(usize, usize), Option<(usize, usize)>>,
    /// Which operation ended before which began.
    order: BTreeSet<[(usize, usize); 2]>,
}

const PLACES: usize = 2;

/// What a thread does next: its operations one after another, each with a beginning and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Begin,
    Step(usize),
    End,
}

/// A thread's position: the operation, and what comes next of it.
type At = (usize, Next);

fn after(program: &Program, thread: usize, (operation, next): At) -> At {
    let steps = program[thread][operation].len();
    match next {
        Next::Begin if steps > 0 => (operation, Next::Step(0)),
        Next::Step(step) if step + 1 < steps => (operation, Next::Step(step + 1)),
        Next::Begin | Next::Step(_) => (operation, Next::End),
        Next::End => (operation + 1, Next::Begin),
    }
}

/// All interleavings, by what is seen in them.
fn interleavings(program: &Program) -> BTreeSet<Seen> {
    #[derive(Clone)]
    struct Run {
        at: Vec<At>,
        made: Vec<usize>,
        memory: [u64; PLACES],
        newest: [Option<(usize, usize)>; PLACES],
        ended: Vec<(usize, usize)>,
        seen: Seen,
    }
    fn go(program: &Program, run: Run, all: &mut BTreeSet<Seen>) {
        let mut over = true;
        for thread in 0..program.len() {
            let (operation, next) = run.at[thread];
            if operation == program[thread].len() {
                continue;
            }
            over = false;
            let mut run = run.clone();
            run.at[thread] = after(program, thread, (operation, next));
            match next {
                Next::Begin => {
                    let before = run.ended.iter().filter(|ended| ended.0 != thread);
                    run.seen.order.extend(before.map(|&ended| [ended, (thread, operation)]));
                }
                Next::End => run.ended.push((thread, operation)),
                Next::Step(step) => {
                    let (place, access) = access(&program[thread][operation][step]);
                    let me = (thread, run.made[thread]);
                    run.made[thread] += 1;
                    let read = run.memory[place];
                    if access.reads() {
                        run.seen.reads[thread].push(read);
                        run.seen.sources.insert(me, run.newest[place]);
                    }
                    if let Some(written) = access.writes(read, 8) {
                        run.memory[place] = written;
                        run.newest[place] = Some(me);
                        run.seen.writes[place].push(me);
                    }
                }
            }
            go(program, run, all);
        }
        if over {
            all.insert(run.seen);
        }
    }
    let threads = program.len();
    let seen = Seen { reads: vec![Vec::new(); threads], writes: vec![Vec::new(); PLACES], ..Seen::default() };
    let run = Run {
        at: vec![(0, Next::Begin); threads],
        made: vec![0; threads],
        memory: [0; PLACES],
        newest: [None; PLACES],
        ended: Vec::new(),
        seen,
    };
    let mut all = BTreeSet::new();
    go(program, run, &mut all);
    all
}

fn access(statement: &Statement) -> (usize, Access) {
    let access = match statement {
        Statement::Load(..) => Access::Load,
        Statement::Store(_, value, _) => Access::Store(value.constant.into()),
        Statement::FetchAdd(_, _, value, _) => Access::Rmw(Rmw::Add, value.constant.into()),
        Statement::CompareExchange(_, _, expected, new, ..) => {
            Access::Cas { expected: expected.constant.into(), new: new.constant.into(), failure: SeqCst }
        }
        other => unreachable!("the operations of these tests have no such access: {other}"),
    };
    let location = statement.location().expect("fences are not among the accesses");
    (index(location) - index('x'), access)
}

/// What the exhaustive search makes: each execution that has an order in time, and how many have none.
fn explored(program: &Program) -> (Vec<Seen>, usize) {
    let threads = program.len();
    let mut search = ModelChecker::new(Model::Sc);
    let (mut all, mut cut) = (Vec::new(), 0);
    while search.begin() {
        let mut memory = [0; PLACES];
        let mut at = vec![(0, Next::Begin); threads];
        let mut looked = vec![0; threads];
        let mut made = vec![0; threads];
        let mut seen =
            Seen { reads: vec![Vec::new(); threads], writes: vec![Vec::new(); PLACES], ..Seen::default() };
        // The events of the graph by what they are here, and the operations by the events at which they begin and end.
        let mut steps: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        let mut spans: BTreeMap<(usize, usize), [u32; 2]> = BTreeMap::new();
        loop {
            let left = |thread: &usize| at[*thread].0 < program[*thread].len();
            let turn = search.turn().map(usize::from);
            let Some(thread) = turn.or_else(|| (0..threads).find(left)) else { break };
            let (operation, next) = at[thread];
            let others: Vec<usize> = (0..threads).filter(|&other| other != thread).collect();
            let scenario = |other: usize| Location { address: 1 << 62 | other << 3, size: 8, value: None };
            let (access, location) = match next {
                Next::Begin => (Access::ReadCompletions, scenario(others[looked[thread]])),
                Next::End => (Access::Store(operation as u64 + 1), scenario(thread)),
                Next::Step(step) => {
                    let (place, access) = access(&program[thread][operation][step]);
                    (access, Location { address: 64 + 8 * place, size: 8, value: Some(memory[place]) })
                }
            };
            let request = Request {
                thread: thread as u16,
                access,
                order: SeqCst,
                memory: Some(location),
                follows: NONE,
            };
            let Answer::Done { id, read, write } = search.request(&request) else {
                panic!("nothing waits here")
            };
            match next {
                Next::Begin => {
                    spans.entry((thread, operation)).or_insert([id, id]);
                    looked[thread] += 1;
                    if looked[thread] < others.len() {
                        continue;
                    }
                    looked[thread] = 0;
                }
                Next::End => spans.get_mut(&(thread, operation)).unwrap()[1] = id,
                Next::Step(_) => {
                    steps.insert(id, (thread, made[thread]));
                    made[thread] += 1;
                    if access.reads() {
                        seen.reads[thread].push(read);
                    }
                    if let Some(value) = write {
                        memory[(location.address - 64) / 8] = value;
                    }
                }
            }
            at[thread] = after(program, thread, (operation, next));
        }
        let Some(moments) = search.linear_extension() else {
            cut += 1;
            continue;
        };
        let mut in_time: Vec<(u32, (usize, usize))> =
            steps.iter().map(|(&id, &step)| (moments[id as usize], step)).collect();
        in_time.sort_unstable();
        for (&id, &step) in &steps {
            let event = search.event(id);
            if event.reads() {
                seen.sources.insert(step, steps.get(&event.rf).copied());
            }
        }
        for (_, step) in in_time {
            let id = *steps.iter().find(|(_, other)| **other == step).unwrap().0;
            let event = search.event(id);
            if event.writes() {
                let place = steps_place(program, step);
                seen.writes[place].push(step);
            }
        }
        for (&one, &[_, end]) in &spans {
            for (&other, &[begin, _]) in &spans {
                if one.0 != other.0 && moments[end as usize] < moments[begin as usize] {
                    seen.order.insert([one, other]);
                }
            }
        }
        all.push(seen);
    }
    (all, cut)
}

fn steps_place(program: &Program, (thread, step): (usize, usize)) -> usize {
    access(program[thread].iter().flatten().nth(step).unwrap()).0
}

/// Checks that the search makes each execution once; returns how many there are, and how many explorations were in vain.
#[track_caller]
fn check(program: &notation::Program) -> (usize, usize) {
    let operations = &operations(program);
    let (explored, cut) = explored(operations);
    let count = explored.len();
    let explored: BTreeSet<Seen> = explored.into_iter().collect();
    assert_eq!(explored.len(), count, "an execution was made twice: {program}");
    let all = interleavings(operations);
    let (missing, extra) = (all.difference(&explored).next(), explored.difference(&all).next());
    assert!(missing.is_none() && extra.is_none(), "{program}\nmissing: {missing:?}\nextra: {extra:?}");
    if operations.len() == 2 {
        assert_eq!(cut, 0, "{program}");
    }
    (count, cut)
}

#[test]
fn operations_come_before_or_after_or_overlap() {
    assert_eq!(check(&parse("op {} || op {}")), (3, 0));
    assert_eq!(check(&parse("op {} || op {}; op {}")), (6, 0));
    // The later one of two additions may have begun after the other had ended, or not.
    assert_eq!(check(&parse("op { FAAs(x,1) } || op { FAAs(x,1) }")), (4, 0));
}

#[test]
fn three_operations_begin_at_one_moment_each() {
    // Interval orders of three labelled elements.
    let (orders, _) = check(&parse("op {} || op {} || op {}"));
    assert_eq!(orders, 19);
}

/// How many programs of each shape; `RADDLE_PROPERTY_PROGRAMS` asks for more.
fn programs() -> u64 {
    std::env::var("RADDLE_PROPERTY_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

#[test]
fn every_execution_is_made_once() {
    let shapes = [(2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 3, 0), (3, 1, 1), (2, 1, 3)];
    let (mut executions, mut in_vain) = (0, 0);
    for (threads, operations, steps) in shapes {
        for program in samples(operation_programs(threads, operations, steps), programs()) {
            let (made, cut) = check(&program);
            executions += made;
            in_vain += cut;
        }
    }
    println!("{executions} executions, {in_vain} explorations in vain");
}
