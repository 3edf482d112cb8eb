//! Programs whose executions are known, run without threads.

use std::collections::BTreeSet;

mod continuations;
mod linearise;
mod preemption_bound;
mod symmetry;

use notation::random::{dropping_programs, locking_programs};
use notation::{Program, Register, Statement, Value};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{Answer, Location, Model, ModelChecker, Request};
use crate::graph::event::{Access, NONE};
use crate::op::Order::{Acquire, Relaxed, Release};
use crate::op::Rmw;

/// The rest of a thread, and its registers.
#[derive(Clone)]
pub(crate) struct Thread<'a> {
    /// The next statement is the last.
    rest: Vec<&'a Statement>,
    registers: [u64; 26],
}

impl<'a> Thread<'a> {
    pub(crate) fn new(statements: &'a [Statement]) -> Thread<'a> {
        Thread { rest: statements.iter().rev().collect(), registers: [0; 26] }
    }

    pub(crate) fn next(&self) -> Option<&'a Statement> {
        self.rest.last().copied()
    }

    pub(crate) fn advance(&mut self) {
        self.rest.pop();
    }

    /// Goes on with the statements of a block.
    fn enter(&mut self, block: &'a [Statement]) {
        self.rest.extend(block.iter().rev());
    }

    pub(crate) fn set(&mut self, register: Option<Register>, value: u64) {
        if let Some(register) = register {
            self.registers[index(register)] = value;
        }
    }

    pub(crate) fn sum(&self, value: &Value) -> u64 {
        value.sum(|register| self.registers[index(register)] as u32).into()
    }
}

/// The number of a register or memory location.
pub(crate) fn index(letter: char) -> usize {
    letter as usize - 'a' as usize
}

/// Memory by location.
pub(crate) type Memory<T> = [T; 26];

/// Runs all executions; returns how many there are, and what the threads read in them.
fn explore(model: Model, program: &Program, deadlocks: bool, stay: bool) -> (u64, BTreeSet<Vec<Vec<u64>>>) {
    let mut executions = 0;
    let mut outcomes = BTreeSet::new();
    run(&mut ModelChecker::new(model), program, deadlocks, stay, |_, reads| {
        executions += 1;
        outcomes.insert(reads);
    });
    (executions, outcomes)
}

/// Runs all executions, and says what was read in each.
pub(crate) fn run(
    search: &mut ModelChecker,
    program: &Program,
    deadlocks: bool,
    stay: bool,
    mut ended: impl FnMut(&mut ModelChecker, Vec<Vec<u64>>),
) {
    let mut executions = 0;
    while search.begin() {
        let mut memory = initial(program);
        let count = program.threads.len();
        let mut threads: Vec<Thread<'_>> = program.threads.iter().map(|thread| Thread::new(thread)).collect();
        let mut begun = vec![false; count];
        let mut current = 0;
        let mut reads = vec![Vec::new(); count];
        loop {
            let left = |t: &usize| !begun[*t] || threads[*t].next().is_some();
            let thread = match search.turn() {
                Some(thread) => Some(usize::from(thread)),
                None => {
                    let first = if stay { current } else { 0 };
                    let mut turns = (first..count).chain(0..first);
                    match search.must_go_on() {
                        Some(thread) => Some(usize::from(thread)),
                        None => turns.find(|t| left(t) && search.can_go_on(*t as u16)),
                    }
                }
            };
            let Some(thread) = thread else {
                assert!((0..count).all(|t| !left(&t)) || deadlocks, "deadlock");
                search.enumerate_blocked_reads();
                break;
            };
            current = thread;
            let statement = threads[thread].next().filter(|_| begun[thread]);
            let value = |value: &Value| threads[thread].sum(value);
            let (access, order) = match statement {
                None => (Access::Begin, Relaxed),
                Some(Statement::Load(_, _, order)) => (Access::Load, (*order).into()),
                Some(Statement::Store(_, stored, order)) => (Access::Store(value(stored)), (*order).into()),
                Some(Statement::FetchAdd(_, _, added, order)) => {
                    (Access::Rmw(Rmw::Add, value(added)), (*order).into())
                }
                Some(Statement::CompareExchange(_, _, expected, new, success, failure)) => {
                    let (expected, new, failure) = (value(expected), value(new), (*failure).into());
                    (Access::Cas { expected, new, failure }, (*success).into())
                }
                Some(Statement::Fence(order)) => (Access::Fence, (*order).into()),
                Some(Statement::Lock(_)) => (Access::Lock(1), Acquire),
                Some(Statement::Unlock(_)) => (Access::Rmw(Rmw::Swap, 0), Release),
                Some(Statement::Drop(..)) => (Access::Decrement, Release),
                Some(other) => unreachable!("the programs of these tests have no such statement: {other}"),
            };
            let place = statement.and_then(Statement::location).map(index);
            let answer = search.request(&Request {
                thread: thread as u16,
                access,
                order,
                memory: place.map(|place| Location {
                    address: 64 + place * 8,
                    size: 8,
                    value: (access != Access::Decrement).then_some(memory[place]),
                }),
                follows: NONE,
            });
            match answer {
                Answer::Done { id, read, write } => {
                    if statement.is_some() {
                        threads[thread].advance();
                    }
                    begun[thread] = true;
                    if let Some(Statement::Drop(count, block)) = statement {
                        let left = &mut memory[index(*count)];
                        *left -= 1;
                        if *left == 0 && !block.is_empty() {
                            assert!(search.make_final_decrement(id));
                            reads[thread].push(1);
                            threads[thread].enter(block);
                        }
                    }
                    if access.reads() {
                        reads[thread].push(read);
                        threads[thread].set(statement.and_then(Statement::target), read);
                    }
                    if let Some(value) = write {
                        memory[place.unwrap()] = value;
                    }
                }
                Answer::Blocked => {}
                other => panic!("{other:?}"),
            }
        }
        executions += 1;
        assert!(executions < 1_000_000, "no end");
        ended(search, reads);
    }
}

/// Memory before the first step.
pub(crate) fn initial(program: &Program) -> Memory<u64> {
    let mut memory = [0; 26];
    for location in program.locations() {
        memory[index(location)] = program.initial_value(location).into();
    }
    memory
}

#[track_caller]
pub(crate) fn parse(text: &str) -> Program {
    text.parse().unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

/// The text of threads that differ by their number.
pub(crate) fn numbered(count: u64, thread: impl Fn(u64) -> String) -> String {
    (0..count).map(thread).collect::<Vec<_>>().join(" || ")
}

/// The text of identical threads.
pub(crate) fn identical(count: u64, thread: &str) -> String {
    numbered(count, |_| thread.to_owned())
}

#[track_caller]
fn counts(sc: u64, rc11: u64, program: &str) {
    let program = parse(program);
    // Who goes on where the graph ends must not matter.
    for stay in [false, true] {
        let count = |model| explore(model, &program, false, stay).0;
        assert_eq!((count(Model::Sc), count(Model::Rc11)), (sc, rc11), "stay: {stay}");
    }
}

#[test]
fn store_buffering() {
    counts(3, 4, "Wr(x,1); Ra y || Wr(y,1); Ra x");
    counts(3, 3, "Ws(x,1); Rs y || Ws(y,1); Rs x");
    counts(3, 3, "Wx(x,1); Fs; Rx y || Wx(y,1); Fs; Rx x");
    counts(3, 4, "Ws(x,1); Rs y || Wr(y,1); Rs x");
    counts(3, 3, "Ws(x,1); Rs y || Wx(y,1); Fs; Rx x");
}

#[test]
fn message_passing_and_load_buffering() {
    counts(3, 3, "Wr(x,1); Wr(y,1) || Ra y; Ra x");
    counts(3, 4, "Wx(x,1); Wx(y,1) || Rx y; Rx x");
    counts(3, 3, "Rx x; Wx(y,1) || Rx y; Wx(x,1)");
}

#[test]
fn coherence() {
    counts(3, 4, "Wr(x,1); Wr(y,2) || Wr(y,1); Wr(x,2)");
    counts(3, 3, "Ws(x,1); Ws(y,2) || Ws(y,1); Ws(x,2)");
    counts(6, 6, "Wr(x,1); Wr(x,2) || Ra x; Ra x");
    counts(36, 36, "Wr(x,1) || Wr(x,2) || Ra x; Ra x || Ra x");
    counts(72, 72, "Wr(x,1) || Wr(x,2) || Ra x; Ra x || Ra x; Ra x");
    counts(210, 210, "Wx(x,1) || Wx(x,2) || Wx(x,3) || Rx x; Rx x; Rx x; Rx x");
}

#[test]
fn iriw_and_rwc() {
    counts(15, 16, "Ws(x,1) || Ra x; Rs y || Ra y; Rs x || Ws(y,1)");
    counts(7, 7, "Wx(x,1) || Rx x; Fs; Rx y || Wx(y,1); Fs; Rx x");
    counts(7, 7, "Wx(x,1); Fs; Wx(y,1) || Ra y; Wx(z,1) || Wx(z,2); Fs; Rx x");
}

#[test]
fn read_modify_writes() {
    for (n, count) in [(2, 2), (3, 6), (4, 24), (5, 120)] {
        counts(count, count, &identical(n, "FAAx(x,1)"));
    }
    for (n, count) in [(2, 2), (3, 5), (4, 14), (5, 43), (6, 144), (7, 523)] {
        counts(count, count, &numbered(n, |i| format!("CASx(x,{i},{})", i + 1)));
    }
    for (n, count) in [(2, 6), (3, 66), (4, 1200)] {
        counts(count, count, &numbered(n, |i| format!("CASx(x,0,1); Wr(x,{})", i + 3)));
    }
    counts(180, 180, "FAAa(x,1); FAAx(x,1) || FAAx(x,1); FAAx(x,1) || FAAr(x,1) || FAAx(x,1)");
    counts(24, 24, "Wx(x,5) || CASx(x,1,2) || FAAx(x,1) || FAAx(x,1)");
}

#[test]
fn scaling_programs() {
    for (n, count) in [(2, 22), (3, 300)] {
        let others = numbered(n, |i| format!("Rx x; Wr(x,{})", i + 2));
        counts(count, count, &format!("Wr(x,1) || {others}"));
    }
    counts(256, 256, &format!("Wr(x,1) || {}", identical(8, "Ra x")));
    for (n, sc, rc11) in [(1, 11, 11), (2, 140, 153), (3, 1698, 2258)] {
        let times = |location| vec![format!("a=Ra x; b=Ra y; Wr({location},b+1)"); n].join("; ");
        counts(sc, rc11, &format!("{} || {} || Ra x; Ra y", times('x'), times('y')));
    }
    for (n, sc, rc11) in [(1, 15, 16), (2, 130, 144), (3, 2028, 2304)] {
        let writers = numbered(n, |i| format!("Wr(y,{i}); Wr(z,{i})"));
        counts(sc, rc11, &format!("Wr(x,1); Ra y; Ra x || Wr(x,2); Ra z; Ra x || {writers}"));
    }
}

#[test]
fn locks() {
    for (n, count) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        counts(count, count, &identical(n, "lock m; FAAx(x,1); unlock m"));
    }
    counts(90, 90, &identical(3, "lock m; unlock m; lock m; unlock m"));
    counts(4, 4, "Wx(x,1); lock m; unlock m; Rx y || Wx(y,1); lock m; unlock m; Rx x");
}

#[test]
fn deadlocks_are_executions_too() {
    let program = parse("lock l; lock m; unlock m; unlock l || lock m; lock l; unlock l; unlock m");
    assert_eq!(explore(Model::Sc, &program, true, true).0, 3);
    // Whoever comes first keeps the lock.
    assert_eq!(explore(Model::Rc11, &parse(&identical(4, "lock m")), true, true).0, 4);
}

/// All interleavings, one by one: how many differ in what was read or in the order of writes, of those that end and of those
/// in which threads wait for ever.
fn brute_force(program: &Program) -> (usize, usize) {
    /// For each location the number of the latest write and its value; what happened: for each event the write it read and
    /// the one that it comes after.
    #[derive(Clone)]
    struct World<'a> {
        memory: Memory<(u32, u64)>,
        threads: Vec<Thread<'a>>,
        seen: Vec<Vec<(u32, u32)>>,
    }
    type Ends = BTreeSet<Vec<Vec<(u32, u32)>>>;
    fn go(world: &World<'_>, ends: &mut [Ends; 2]) {
        let mut moved = false;
        let mut left = false;
        for (thread, state) in world.threads.iter().enumerate() {
            let Some(statement) = state.next() else { continue };
            left = true;
            let mut after = world.clone();
            after.threads[thread].advance();
            if let Statement::Drop(count, block) = statement {
                let left = &mut after.memory[index(*count)].1;
                *left -= 1;
                let is_last = *left == 0 && !block.is_empty();
                after.seen[thread].push((is_last.into(), 0));
                if is_last {
                    after.threads[thread].enter(block);
                }
                moved = true;
                go(&after, ends);
                continue;
            }
            let at = statement.location().map_or((0, 0), |location| world.memory[index(location)]);
            let Some((read, write)) = effect(state, statement, at.1) else { continue };
            let name = ((thread as u32 + 1) << 16) | world.seen[thread].len() as u32;
            after.seen[thread].push((if read { at.0 } else { 0 }, if write.is_some() { at.0 } else { 0 }));
            after.threads[thread].set(statement.target(), at.1);
            if let Some((value, location)) = write.zip(statement.location()) {
                after.memory[index(location)] = (name, value);
            }
            moved = true;
            go(&after, ends);
        }
        if !moved {
            ends[usize::from(left)].insert(world.seen.clone());
        }
    }
    let mut ends = [BTreeSet::new(), BTreeSet::new()];
    let threads: Vec<Thread<'_>> = program.threads.iter().map(|thread| Thread::new(thread)).collect();
    let seen = vec![Vec::new(); threads.len()];
    go(&World { memory: initial(program).map(|value| (0, value)), threads, seen }, &mut ends);
    (ends[0].len(), ends[1].len())
}

/// The effect of a step where its location holds this value: whether the step reads, and the value that it writes. None if
/// the thread has to wait.
pub(crate) fn effect(thread: &Thread<'_>, statement: &Statement, held: u64) -> Option<(bool, Option<u64>)> {
    Some(match statement {
        Statement::Load(..) => (true, None),
        Statement::Store(_, value, _) => (false, Some(thread.sum(value))),
        Statement::FetchAdd(_, _, value, _) => (true, Some(held + thread.sum(value))),
        Statement::CompareExchange(_, _, expected, new, ..) => {
            (true, (held == thread.sum(expected)).then(|| thread.sum(new)))
        }
        Statement::Fence(_) => (false, None),
        Statement::Lock(_) if held != 0 => return None,
        Statement::Lock(_) => (true, Some(1)),
        Statement::Unlock(_) => (true, Some(0)),
        other => unreachable!("the programs of these tests have no such statement: {other}"),
    })
}

/// This many random programs, the same in each run.
pub(crate) fn samples<S: Strategy>(programs: S, count: u64) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |_| programs.new_tree(&mut runner).expect("programs are not filtered").current())
}

/// The number of random programs; `RADDLE_CASES` asks for more.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("RADDLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn who_gives_up_the_last_handle_is_explored_and_nothing_else() {
    for n in 1..6 {
        counts(n, n, &identical(n, "drop h { Wx(x,1) }"));
        counts(1, 1, "Wx(x,1); drop h");
        counts(1, 1, &identical(n, "drop h"));
    }
    // Whoever reads what another wrote before it gave up its handle may still be the last, or not.
    counts(4, 4, "Wr(x,1); drop h { Rx y } || Ra x; drop h { Rx y }");
    // The last one sees what the others did.
    let last_reads = parse("Wx(x,1); drop h { Rx x } || drop h { Rx x }");
    let (executions, outcomes) = explore(Model::Rc11, &last_reads, false, true);
    assert_eq!(executions, 2);
    assert_eq!(outcomes, BTreeSet::from([vec![vec![1, 1], vec![]], vec![vec![], vec![1, 1]]]));
}

#[test]
fn random_programs_with_handles_have_as_many_executions_as_interleavings_tell_apart() {
    for program in samples(dropping_programs(), cases(400)) {
        let (ended, _) = brute_force(&program);
        for stay in [false, true] {
            for model in [Model::Sc, Model::Rc11] {
                let (executions, _) = explore(model, &program, false, stay);
                assert_eq!(executions, ended as u64, "{model:?}, stay {stay}: {program}");
            }
        }
    }
}

/// A search that is saved and restored after every execution, or divided in two, makes the same executions.
#[test]
fn searches_can_be_saved_and_divided() {
    for program in samples(locking_programs(2..=3), 200) {
        for model in [Model::Sc, Model::Rc11] {
            let (executions, outcomes) = explore(model, &program, true, true);
            let mut seen = BTreeSet::new();
            let mut again = 0;
            // Others that are still to be done.
            let mut searches = vec![ModelChecker::new(model)];
            while let Some(mut search) = searches.pop() {
                run(&mut search, &program, true, true, |search, reads| {
                    again += 1;
                    seen.insert(reads);
                    let mut other = ModelChecker::new(model);
                    assert!(other.restore(&search.save()).is_some(), "what was saved is understood");
                    if again % 5 == 0 && search.pending_work() > 1 {
                        let mut half = ModelChecker::new(model);
                        half.restore(&search.save()).unwrap();
                        half.discard_half_of_work(true);
                        other.discard_half_of_work(false);
                        searches.push(half);
                    }
                    *search = other;
                });
            }
            assert_eq!((again, &seen), (executions, &outcomes), "{model:?}: {program}");
        }
    }
}

/// Programs of random steps, locks among them, against all their interleavings.
#[test]
fn random_programs_have_as_many_executions_as_interleavings_tell_apart() {
    for program in samples(locking_programs(2..=3), cases(400)) {
        let (ended, stuck) = brute_force(&program);
        for stay in [false, true] {
            for model in [Model::Sc, Model::Rc11] {
                let (executions, _) = explore(model, &program, true, stay);
                assert_eq!(executions, (ended + stuck) as u64, "{model:?}, stay {stay}: {program}");
            }
        }
    }
}
