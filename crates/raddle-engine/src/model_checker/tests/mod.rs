//! Programs with known numbers of executions, run without threads.

use std::collections::BTreeSet;

mod linearise;
mod preemption_bound;
mod symmetry;

use super::{Answer, Location, Model, ModelChecker, Request};
use crate::graph::event::{Access, NONE};
use crate::op::Order::{self, Acquire, Relaxed, Release, SeqCst};
use crate::op::Rmw;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Read(usize, Order),
    Write(usize, u64, Order),
    Add(usize, u64, Order),
    /// Expected, new, order.
    Cas(usize, u64, u64, Order),
    Fence(Order),
    Lock(usize),
    Unlock(usize),
    /// A store of the value that the thread read last, plus this.
    WriteLastPlus(usize, u64, Order),
    /// A decrement of the reference count at a location. The thread of the final one makes this many further steps; the others
    /// skip them.
    Decrement(usize, usize),
}
use Step::*;

/// Runs all executions. Returns their number, and the values that the threads read.
fn explore(
    model: Model,
    program: &[Vec<Step>],
    deadlocks: bool,
    stay: bool,
) -> (u64, BTreeSet<Vec<Vec<u64>>>) {
    let mut executions = 0;
    let mut outcomes = BTreeSet::new();
    run(&mut ModelChecker::new(model), program, deadlocks, stay, |_, reads| {
        executions += 1;
        outcomes.insert(reads);
    });
    (executions, outcomes)
}

/// Runs all executions, and calls `ended` with the values read in each.
pub(crate) fn run(
    search: &mut ModelChecker,
    program: &[Vec<Step>],
    deadlocks: bool,
    stay: bool,
    mut ended: impl FnMut(&mut ModelChecker, Vec<Vec<u64>>),
) {
    let mut executions = 0;
    while search.begin() {
        let mut memory = initial(program);
        let mut next = vec![0; program.len()];
        let mut current = 0;
        let mut reads = vec![Vec::new(); program.len()];
        loop {
            let left = |t: &usize| next[*t] <= program[*t].len();
            let thread = match search.turn() {
                Some(thread) => Some(usize::from(thread)),
                None => {
                    let first = if stay { current } else { 0 };
                    let mut turns = (first..program.len()).chain(0..first);
                    match search.must_go_on() {
                        Some(thread) => Some(usize::from(thread)),
                        None => turns.find(|t| left(t) && search.can_go_on(*t as u16)),
                    }
                }
            };
            let Some(thread) = thread else {
                assert!((0..program.len()).all(|t| !left(&t)) || deadlocks, "deadlock");
                search.enumerate_blocked_reads();
                break;
            };
            current = thread;
            let (access, order, location) = match next[thread] {
                0 => (Access::Begin, Relaxed, None),
                step => match program[thread][step - 1] {
                    Read(location, order) => (Access::Load, order, Some(location)),
                    Write(location, value, order) => (Access::Store(value), order, Some(location)),
                    WriteLastPlus(location, plus, order) => {
                        (Access::Store(reads[thread].last().unwrap() + plus), order, Some(location))
                    }
                    Add(location, value, order) => (Access::Rmw(Rmw::Add, value), order, Some(location)),
                    Cas(location, expected, new, order) => {
                        let failure = if order == SeqCst { SeqCst } else { Relaxed };
                        (Access::Cas { expected, new, failure }, order, Some(location))
                    }
                    Fence(order) => (Access::Fence, order, None),
                    Lock(location) => (Access::Lock(1), Acquire, Some(location)),
                    Unlock(location) => (Access::Rmw(Rmw::Swap, 0), Release, Some(location)),
                    Decrement(location, _) => (Access::Decrement, Release, Some(location)),
                },
            };
            let answer = search.request(&Request {
                thread: thread as u16,
                access,
                order,
                memory: location.map(|location| Location {
                    address: 64 + location * 8,
                    size: 8,
                    value: (access != Access::Decrement).then_some(memory[location]),
                }),
                follows: NONE,
            });
            match answer {
                Answer::Done { id, read, write } => {
                    if let Some(&Decrement(location, then)) =
                        next[thread].checked_sub(1).map(|step| &program[thread][step])
                    {
                        memory[location] -= 1;
                        match memory[location] {
                            0 if then > 0 => {
                                assert!(search.make_final_decrement(id));
                                reads[thread].push(1);
                            }
                            0 => {}
                            _ => next[thread] += then,
                        }
                    }
                    if access.reads() {
                        reads[thread].push(read);
                    }
                    if let Some(value) = write {
                        memory[location.unwrap()] = value;
                    }
                    next[thread] += 1;
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

/// The initial memory: the reference counts.
fn initial(program: &[Vec<Step>]) -> [u64; 8] {
    let mut memory = [0; 8];
    for step in program.iter().flatten() {
        if let Decrement(location, _) = step {
            memory[*location] += 1;
        }
    }
    memory
}

#[track_caller]
fn counts(sc: u64, rc11: u64, program: &[Vec<Step>]) {
    // The thread that goes on past the end of the graph must not matter.
    for stay in [false, true] {
        let count = |model| explore(model, program, false, stay).0;
        assert_eq!((count(Model::Sc), count(Model::Rc11)), (sc, rc11), "stay: {stay}");
    }
}

pub(crate) const X: usize = 0;
pub(crate) const Y: usize = 1;
const Z: usize = 2;

#[test]
fn store_buffering() {
    let sb = |w, r| vec![vec![Write(X, 1, w), Read(Y, r)], vec![Write(Y, 1, w), Read(X, r)]];
    counts(3, 4, &sb(Release, Acquire));
    counts(3, 3, &sb(SeqCst, SeqCst));
    let fences = [
        vec![Write(X, 1, Relaxed), Fence(SeqCst), Read(Y, Relaxed)],
        vec![Write(Y, 1, Relaxed), Fence(SeqCst), Read(X, Relaxed)],
    ];
    counts(3, 3, &fences);
    let one_weaker =
        [vec![Write(X, 1, SeqCst), Read(Y, SeqCst)], vec![Write(Y, 1, Release), Read(X, SeqCst)]];
    counts(3, 4, &one_weaker);
    let half = [
        vec![Write(X, 1, SeqCst), Read(Y, SeqCst)],
        vec![Write(Y, 1, Relaxed), Fence(SeqCst), Read(X, Relaxed)],
    ];
    counts(3, 3, &half);
}

#[test]
fn message_passing_and_load_buffering() {
    counts(
        3,
        3,
        &[vec![Write(X, 1, Release), Write(Y, 1, Release)], vec![Read(Y, Acquire), Read(X, Acquire)]],
    );
    counts(
        3,
        4,
        &[vec![Write(X, 1, Relaxed), Write(Y, 1, Relaxed)], vec![Read(Y, Relaxed), Read(X, Relaxed)]],
    );
    counts(
        3,
        3,
        &[vec![Read(X, Relaxed), Write(Y, 1, Relaxed)], vec![Read(Y, Relaxed), Write(X, 1, Relaxed)]],
    );
}

#[test]
fn coherence() {
    let w = Write;
    counts(3, 4, &[vec![w(X, 1, Release), w(Y, 2, Release)], vec![w(Y, 1, Release), w(X, 2, Release)]]);
    counts(3, 3, &[vec![w(X, 1, SeqCst), w(Y, 2, SeqCst)], vec![w(Y, 1, SeqCst), w(X, 2, SeqCst)]]);
    counts(6, 6, &[vec![w(X, 1, Release), w(X, 2, Release)], vec![Read(X, Acquire), Read(X, Acquire)]]);
    let rr = vec![Read(X, Acquire), Read(X, Acquire)];
    counts(36, 36, &[vec![w(X, 1, Release)], vec![w(X, 2, Release)], rr.clone(), vec![Read(X, Acquire)]]);
    counts(72, 72, &[vec![w(X, 1, Release)], vec![w(X, 2, Release)], rr.clone(), rr]);
    let rrrr = vec![Read(X, Relaxed); 4];
    let ws = |v| vec![w(X, v, Relaxed)];
    counts(210, 210, &[ws(1), ws(2), ws(3), rrrr]);
}

#[test]
fn iriw_and_rwc() {
    counts(
        15,
        16,
        &[
            vec![Write(X, 1, SeqCst)],
            vec![Read(X, Acquire), Read(Y, SeqCst)],
            vec![Read(Y, Acquire), Read(X, SeqCst)],
            vec![Write(Y, 1, SeqCst)],
        ],
    );
    counts(
        7,
        7,
        &[
            vec![Write(X, 1, Relaxed)],
            vec![Read(X, Relaxed), Fence(SeqCst), Read(Y, Relaxed)],
            vec![Write(Y, 1, Relaxed), Fence(SeqCst), Read(X, Relaxed)],
        ],
    );
    counts(
        7,
        7,
        &[
            vec![Write(X, 1, Relaxed), Fence(SeqCst), Write(Y, 1, Relaxed)],
            vec![Read(Y, Acquire), Write(Z, 1, Relaxed)],
            vec![Write(Z, 2, Relaxed), Fence(SeqCst), Read(X, Relaxed)],
        ],
    );
}

#[test]
fn read_modify_writes() {
    for (n, count) in [(2, 2), (3, 6), (4, 24), (5, 120)] {
        let program = vec![vec![Add(X, 1, Relaxed)]; n];
        counts(count, count, &program);
    }
    for (n, count) in [(2, 2), (3, 5), (4, 14), (5, 43), (6, 144), (7, 523)] {
        let program: Vec<_> = (1..=n).map(|i| vec![Cas(X, i - 1, i, Relaxed)]).collect();
        counts(count, count, &program);
    }
    for (n, count) in [(2, 6), (3, 66), (4, 1200)] {
        let program: Vec<_> = (0..n).map(|i| vec![Cas(X, 0, 1, Relaxed), Write(X, i + 3, Release)]).collect();
        counts(count, count, &program);
    }
    counts(
        180,
        180,
        &[
            vec![Add(X, 1, Acquire), Add(X, 1, Relaxed)],
            vec![Add(X, 1, Relaxed), Add(X, 1, Relaxed)],
            vec![Add(X, 1, Release)],
            vec![Add(X, 1, Relaxed)],
        ],
    );
    counts(
        24,
        24,
        &[
            vec![Write(X, 5, Relaxed)],
            vec![Cas(X, 1, 2, Relaxed)],
            vec![Add(X, 1, Relaxed)],
            vec![Add(X, 1, Relaxed)],
        ],
    );
}

#[test]
fn scaling_programs() {
    for (n, count) in [(2, 22), (3, 300)] {
        let mut program = vec![vec![Write(X, 1, Release)]];
        program.extend((0..n).map(|i| vec![Read(X, Relaxed), Write(X, i + 2, Release)]));
        counts(count, count, &program);
    }
    let mut readers = vec![vec![Write(X, 1, Release)]];
    readers.extend(vec![vec![Read(X, Acquire)]; 8]);
    counts(256, 256, &readers);
    for (n, sc, rc11) in [(1, 11, 11), (2, 140, 153), (3, 1698, 2258)] {
        let first = (0..n).flat_map(|_| [Read(X, Acquire), Read(Y, Acquire), WriteLastPlus(X, 1, Release)]);
        let second = (0..n).flat_map(|_| [Read(X, Acquire), Read(Y, Acquire), WriteLastPlus(Y, 1, Release)]);
        let checker = vec![Read(X, Acquire), Read(Y, Acquire)];
        counts(sc, rc11, &[first.collect(), second.collect(), checker]);
    }
    for (n, sc, rc11) in [(1, 15, 16), (2, 130, 144), (3, 2028, 2304)] {
        let mut program = vec![
            vec![Write(X, 1, Release), Read(Y, Acquire), Read(X, Acquire)],
            vec![Write(X, 2, Release), Read(Z, Acquire), Read(X, Acquire)],
        ];
        program.extend((0..n).map(|i| vec![Write(Y, i, Release), Write(Z, i, Release)]));
        counts(sc, rc11, &program);
    }
}

#[test]
fn locks() {
    for (n, count) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let program = vec![vec![Lock(X), Add(Y, 1, Relaxed), Unlock(X)]; n];
        counts(count, count, &program);
    }
    counts(90, 90, &vec![vec![Lock(X), Unlock(X), Lock(X), Unlock(X)]; 3]);
    counts(
        4,
        4,
        &[
            vec![Write(Y, 1, Relaxed), Lock(X), Unlock(X), Read(Z, Relaxed)],
            vec![Write(Z, 1, Relaxed), Lock(X), Unlock(X), Read(Y, Relaxed)],
        ],
    );
}

#[test]
fn deadlocks_are_executions_too() {
    let program =
        [vec![Lock(X), Lock(Y), Unlock(Y), Unlock(X)], vec![Lock(Y), Lock(X), Unlock(X), Unlock(Y)]];
    assert_eq!(explore(Model::Sc, &program, true, true).0, 3);
    // The first thread keeps the lock.
    assert_eq!(explore(Model::Rc11, &vec![vec![Lock(X)]; 4], true, true).0, 4);
}

/// The numbers of all interleavings that differ in reads-from or modification order: of those that end, and of those that
/// deadlock.
fn brute_force(program: &[Vec<Step>]) -> (usize, usize) {
    /// For each location the latest write and its value, for each thread its next step, and for each event its source and its
    /// predecessor in modification order.
    #[derive(Clone, Default)]
    struct World {
        memory: [(u32, u64); 8],
        next: Vec<usize>,
        last: Vec<u64>,
        seen: Vec<Vec<(u32, u32)>>,
    }
    type Ends = BTreeSet<Vec<Vec<(u32, u32)>>>;
    fn go(program: &[Vec<Step>], world: &World, ends: &mut [Ends; 2]) {
        let mut moved = false;
        let mut left = false;
        for thread in 0..program.len() {
            let Some(&step) = program[thread].get(world.next[thread]) else { continue };
            left = true;
            let mut after = world.clone();
            let name = ((thread as u32 + 1) << 16) | world.next[thread] as u32;
            let (location, read, write) = match step {
                Read(location, _) => (location, true, None),
                Write(location, value, _) => (location, false, Some(value)),
                WriteLastPlus(location, plus, _) => (location, false, Some(world.last[thread] + plus)),
                Add(location, value, _) => (location, true, Some(world.memory[location].1 + value)),
                Cas(location, expected, new, _) => {
                    (location, true, (world.memory[location].1 == expected).then_some(new))
                }
                Fence(_) => (7, false, None),
                Lock(location) if world.memory[location].1 != 0 => continue,
                Lock(location) => (location, true, Some(1)),
                Unlock(location) => (location, true, Some(0)),
                Decrement(location, then) => {
                    let left = world.memory[location].1 - 1;
                    after.memory[location].1 = left;
                    let is_last = left == 0 && then > 0;
                    after.seen[thread].push((is_last.into(), 0));
                    after.next[thread] += 1 + if left > 0 { then } else { 0 };
                    moved = true;
                    go(program, &after, ends);
                    continue;
                }
            };
            let (latest, value) = world.memory[location];
            after.seen[thread]
                .push((if read { latest } else { 0 }, if write.is_some() { latest } else { 0 }));
            if read {
                after.last[thread] = value;
            }
            if let Some(value) = write {
                after.memory[location] = (name, value);
            }
            after.next[thread] += 1;
            moved = true;
            go(program, &after, ends);
        }
        if !moved {
            ends[usize::from(left)].insert(world.seen.clone());
        }
    }
    let mut ends = [BTreeSet::new(), BTreeSet::new()];
    let world = World {
        next: vec![0; program.len()],
        last: vec![0; program.len()],
        seen: vec![Vec::new(); program.len()],
        memory: initial(program).map(|value| (0, value)),
    };
    go(program, &world, &mut ends);
    (ends[0].len(), ends[1].len())
}

/// Threads with random steps, locks among them.
pub(crate) fn random_program(seed: u64, most_threads: usize) -> Vec<Vec<Step>> {
    let mut rng = crate::rng::Rng::new(seed);
    let threads = 2 + rng.below(most_threads - 1);
    let most_steps = [5, 3, 2][threads - 2];
    (0..threads)
        .map(|_| {
            let mut held = Vec::new();
            let mut steps = Vec::new();
            for _ in 0..1 + rng.below(most_steps) {
                let location = rng.below(2);
                let lock = 4 + rng.below(2);
                steps.push(match rng.below(9) {
                    0 | 1 => Read(location, SeqCst),
                    2 | 3 => Write(location, 1 + rng.below(2) as u64, SeqCst),
                    4 => Add(location, 1, SeqCst),
                    5 => Cas(location, rng.below(2) as u64, 2, SeqCst),
                    6 | 7 if !held.contains(&lock) => {
                        held.push(lock);
                        Lock(lock)
                    }
                    _ if !held.is_empty() => Unlock(held.remove(rng.below(held.len()))),
                    _ => Read(location, SeqCst),
                });
            }
            // Some threads keep their locks.
            if rng.below(4) > 0 {
                steps.extend(held.into_iter().map(Unlock));
            }
            steps
        })
        .collect()
}

#[test]
fn the_thread_of_the_final_decrement_is_explored_and_no_other_order() {
    for n in 1..6 {
        let program = vec![vec![Decrement(6, 1), Write(X, 1, Relaxed)]; n];
        counts(n as u64, n as u64, &program);
        let nothing_to_do = vec![vec![Write(X, 1, Relaxed), Decrement(6, 0)]; 1];
        counts(1, 1, &nothing_to_do);
        counts(1, 1, &vec![vec![Decrement(6, 0)]; n]);
    }
    // A thread that reads a write before another thread's decrement may make the final decrement, or not.
    counts(
        4,
        4,
        &[
            vec![Write(X, 1, Release), Decrement(6, 1), Read(Y, Relaxed)],
            vec![Read(X, Acquire), Decrement(6, 1), Read(Y, Relaxed)],
        ],
    );
    // The thread of the final decrement sees the writes before the others.
    let last_reads = [
        vec![Write(X, 1, Relaxed), Decrement(6, 1), Read(X, Relaxed)],
        vec![Decrement(6, 1), Read(X, Relaxed)],
    ];
    let (executions, outcomes) = explore(Model::Rc11, &last_reads, false, true);
    assert_eq!(executions, 2);
    assert_eq!(outcomes, BTreeSet::from([vec![vec![1, 1], vec![]], vec![vec![], vec![1, 1]]]));
}

#[test]
fn random_programs_with_reference_counts_have_as_many_executions_as_their_interleavings() {
    let cases = std::env::var("RADDLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..cases {
        let mut rng = crate::rng::Rng::new(seed);
        let threads = 2 + rng.below(2);
        let visible = [rng.below(4) > 0, rng.below(4) > 0];
        let program: Vec<Vec<Step>> = (0..threads)
            .map(|_| {
                let mut steps = Vec::new();
                let mut handles = vec![0, 1];
                for _ in 0..1 + rng.below(if threads == 3 { 3 } else { 5 }) {
                    let location = rng.below(2);
                    let access = |rng: &mut crate::rng::Rng| match rng.below(6) {
                        0 | 1 => Read(location, SeqCst),
                        2 | 3 => Write(location, 1 + rng.below(2) as u64, SeqCst),
                        4 => Add(location, 1, SeqCst),
                        _ => Cas(location, rng.below(2) as u64, 2, SeqCst),
                    };
                    match rng.below(5) {
                        0 | 1 if !handles.is_empty() => {
                            let handle = handles.remove(rng.below(handles.len()));
                            let then = if visible[handle] { 1 + rng.below(2) } else { 0 };
                            steps.push(Decrement(6 + handle, then));
                            (0..then).for_each(|_| steps.push(access(&mut rng)));
                        }
                        _ => steps.push(access(&mut rng)),
                    }
                }
                steps
            })
            .collect();
        let (ended, _) = brute_force(&program);
        for stay in [false, true] {
            for model in [Model::Sc, Model::Rc11] {
                let (executions, _) = explore(model, &program, false, stay);
                assert_eq!(executions, ended as u64, "seed {seed}, {model:?}, stay {stay}: {program:?}");
            }
        }
    }
}

/// A search that is saved and restored after every execution, or divided in two, makes the same executions.
#[test]
fn searches_can_be_saved_and_divided() {
    for seed in 0..200 {
        let program = random_program(seed, 3);
        for model in [Model::Sc, Model::Rc11] {
            let (executions, outcomes) = explore(model, &program, true, true);
            let mut seen = BTreeSet::new();
            let mut again = 0;
            // Work items that are left.
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
            assert_eq!((again, &seen), (executions, &outcomes), "seed {seed}, {model:?}: {program:?}");
        }
    }
}

/// Programs with random steps, locks among them, against all interleavings.
#[test]
fn random_programs_have_as_many_executions_as_interleavings_tell_apart() {
    let cases = std::env::var("RADDLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..cases {
        let program = random_program(seed, 3);
        let (ended, stuck) = brute_force(&program);
        for stay in [false, true] {
            for model in [Model::Sc, Model::Rc11] {
                let (executions, _) = explore(model, &program, true, stay);
                assert_eq!(
                    executions,
                    (ended + stuck) as u64,
                    "seed {seed}, {model:?}, stay {stay}: {program:?}"
                );
            }
        }
    }
}
