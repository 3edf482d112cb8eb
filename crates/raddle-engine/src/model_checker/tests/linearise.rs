//! Linear extensions of small programs that consist of operations, against all interleavings.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::event::{Access, NONE};
use crate::model_checker::{Answer, Location, Model, ModelChecker, Request};
use crate::op::Order::SeqCst;
use crate::op::Rmw;
use crate::rng::Rng;

/// A step of an operation.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize),
    Write(usize, u64),
    Add(usize, u64),
    Cas(usize, u64, u64),
}

/// The operations of each thread.
type Program = Vec<Vec<Vec<Step>>>;

/// An execution, as far as it can be observed. Operations are named by thread and number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Execution {
    /// The values that each thread read.
    reads: Vec<Vec<u64>>,
    /// The writes of each location in order. A write is named by its thread and the number of its step.
    writes: Vec<Vec<(usize, usize)>>,
    /// The source of each read.
    sources: BTreeMap<(usize, usize), Option<(usize, usize)>>,
    /// The pairs of operations of which the first ended before the second began.
    order: BTreeSet<[(usize, usize); 2]>,
}

const LOCATIONS: usize = 2;

/// The next step of a thread within an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Begin,
    Step(usize),
    End,
}

/// The position of a thread: the operation, and its next step.
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

/// The executions of all interleavings.
fn interleavings(program: &Program) -> BTreeSet<Execution> {
    #[derive(Clone)]
    struct Run {
        at: Vec<At>,
        made: Vec<usize>,
        memory: [u64; LOCATIONS],
        latest: [Option<(usize, usize)>; LOCATIONS],
        ended: Vec<(usize, usize)>,
        execution: Execution,
    }
    fn go(program: &Program, run: Run, all: &mut BTreeSet<Execution>) {
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
                    run.execution.order.extend(before.map(|&ended| [ended, (thread, operation)]));
                }
                Next::End => run.ended.push((thread, operation)),
                Next::Step(step) => {
                    let (location, access) = access(program[thread][operation][step]);
                    let me = (thread, run.made[thread]);
                    run.made[thread] += 1;
                    let read = run.memory[location];
                    if access.reads() {
                        run.execution.reads[thread].push(read);
                        run.execution.sources.insert(me, run.latest[location]);
                    }
                    if let Some(written) = access.writes(read, 8) {
                        run.memory[location] = written;
                        run.latest[location] = Some(me);
                        run.execution.writes[location].push(me);
                    }
                }
            }
            go(program, run, all);
        }
        if over {
            all.insert(run.execution);
        }
    }
    let threads = program.len();
    let execution = Execution {
        reads: vec![Vec::new(); threads],
        writes: vec![Vec::new(); LOCATIONS],
        ..Execution::default()
    };
    let run = Run {
        at: vec![(0, Next::Begin); threads],
        made: vec![0; threads],
        memory: [0; LOCATIONS],
        latest: [None; LOCATIONS],
        ended: Vec::new(),
        execution,
    };
    let mut all = BTreeSet::new();
    go(program, run, &mut all);
    all
}

fn access(step: Step) -> (usize, Access) {
    match step {
        Step::Read(location) => (location, Access::Load),
        Step::Write(location, value) => (location, Access::Store(value)),
        Step::Add(location, value) => (location, Access::Rmw(Rmw::Add, value)),
        Step::Cas(location, expected, new) => (location, Access::Cas { expected, new, failure: SeqCst }),
    }
}

/// The executions of the search that have a linear extension, and the number of those that have none.
fn explored(program: &Program) -> (Vec<Execution>, usize) {
    let threads = program.len();
    let mut search = ModelChecker::new(Model::Sc);
    let (mut all, mut cut) = (Vec::new(), 0);
    while search.begin() {
        let mut memory = [0; LOCATIONS];
        let mut at = vec![(0, Next::Begin); threads];
        let mut completions_read = vec![0; threads];
        let mut made = vec![0; threads];
        let mut execution = Execution {
            reads: vec![Vec::new(); threads],
            writes: vec![Vec::new(); LOCATIONS],
            ..Execution::default()
        };
        // The steps by their events, and the first and last event of each operation.
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
                Next::Begin => (Access::ReadCompletions, scenario(others[completions_read[thread]])),
                Next::End => (Access::Store(operation as u64 + 1), scenario(thread)),
                Next::Step(step) => {
                    let (location, access) = access(program[thread][operation][step]);
                    (access, Location { address: 64 + 8 * location, size: 8, value: Some(memory[location]) })
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
                panic!("no access blocks here")
            };
            match next {
                Next::Begin => {
                    spans.entry((thread, operation)).or_insert([id, id]);
                    completions_read[thread] += 1;
                    if completions_read[thread] < others.len() {
                        continue;
                    }
                    completions_read[thread] = 0;
                }
                Next::End => spans.get_mut(&(thread, operation)).unwrap()[1] = id,
                Next::Step(_) => {
                    steps.insert(id, (thread, made[thread]));
                    made[thread] += 1;
                    if access.reads() {
                        execution.reads[thread].push(read);
                    }
                    if let Some(value) = write {
                        memory[(location.address - 64) / 8] = value;
                    }
                }
            }
            at[thread] = after(program, thread, (operation, next));
        }
        let Some(positions) = search.linear_extension() else {
            cut += 1;
            continue;
        };
        let mut in_time: Vec<(u32, (usize, usize))> =
            steps.iter().map(|(&id, &step)| (positions[id as usize], step)).collect();
        in_time.sort_unstable();
        for (&id, &step) in &steps {
            let event = search.event(id);
            if event.reads() {
                execution.sources.insert(step, steps.get(&event.rf).copied());
            }
        }
        for (_, step) in in_time {
            let id = *steps.iter().find(|(_, other)| **other == step).unwrap().0;
            let event = search.event(id);
            if event.writes() {
                let location = steps_location(program, step);
                execution.writes[location].push(step);
            }
        }
        for (&one, &[_, end]) in &spans {
            for (&other, &[begin, _]) in &spans {
                if one.0 != other.0 && positions[end as usize] < positions[begin as usize] {
                    execution.order.insert([one, other]);
                }
            }
        }
        all.push(execution);
    }
    (all, cut)
}

fn steps_location(program: &Program, (thread, step): (usize, usize)) -> usize {
    access(*program[thread].iter().flatten().nth(step).unwrap()).0
}

/// Checks that the search makes each execution once. Returns the number of executions, and of graphs without a linear extension.
#[track_caller]
fn check(program: &Program) -> (usize, usize) {
    let (explored, cut) = explored(program);
    let count = explored.len();
    let explored: BTreeSet<Execution> = explored.into_iter().collect();
    assert_eq!(explored.len(), count, "an execution was made twice: {program:?}");
    let all = interleavings(program);
    let (missing, extra) = (all.difference(&explored).next(), explored.difference(&all).next());
    assert!(missing.is_none() && extra.is_none(), "{program:?}\nmissing: {missing:?}\nextra: {extra:?}");
    if program.len() == 2 {
        assert_eq!(cut, 0, "{program:?}");
    }
    (count, cut)
}

#[test]
fn operations_come_before_or_after_or_overlap() {
    assert_eq!(check(&vec![vec![vec![]], vec![vec![]]]), (3, 0));
    assert_eq!(check(&vec![vec![vec![]], vec![vec![], vec![]]]), (6, 0));
    // The later addition may begin before or after the end of the other.
    let add = || vec![vec![Step::Add(0, 1)]];
    assert_eq!(check(&vec![add(), add()]), (4, 0));
}

#[test]
fn three_operations_begin_at_one_moment_each() {
    // Interval orders of three labelled elements.
    let (orders, _) = check(&vec![vec![vec![]], vec![vec![]], vec![vec![]]]);
    assert_eq!(orders, 19);
}

fn random(random: &mut Rng, threads: usize, operations: usize, steps: usize) -> Program {
    let mut step = || {
        let (location, value) = (random.below(LOCATIONS), 1 + random.below(2) as u64);
        match random.below(4) {
            0 => Step::Read(location),
            1 => Step::Write(location, value),
            2 => Step::Add(location, value),
            _ => Step::Cas(location, random.below(2) as u64, value),
        }
    };
    (0..threads).map(|_| (0..operations).map(|_| (0..steps).map(|_| step()).collect()).collect()).collect()
}

/// The number of programs of each shape, which `RADDLE_PROPERTY_PROGRAMS` overrides.
fn programs() -> usize {
    std::env::var("RADDLE_PROPERTY_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

#[test]
fn every_execution_is_made_once() {
    let mut numbers = Rng::new(7);
    let shapes = [(2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 3, 0), (3, 1, 1), (2, 1, 3)];
    let (mut executions, mut cut_graphs) = (0, 0);
    for (threads, operations, steps) in shapes {
        for _ in 0..programs() {
            let (made, cut) = check(&random(&mut numbers, threads, operations, steps));
            executions += made;
            cut_graphs += cut;
        }
    }
    println!("{executions} executions, {cut_graphs} graphs without a linear extension");
}
