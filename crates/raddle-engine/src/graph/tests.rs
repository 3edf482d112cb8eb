//! Programs whose executions are known, run without threads.

use std::collections::BTreeSet;

use super::event::{Access, NONE};
use super::explore::Location;
use super::{Answer, Exhaustive, Model, Request};
use crate::event::Order::{self, Acquire, Relaxed, Release, SeqCst};
use crate::event::Rmw;

#[derive(Clone, Copy)]
enum Step {
    Read(usize, Order),
    Write(usize, u64, Order),
    Add(usize, u64, Order),
    /// Expected, new, order.
    Cas(usize, u64, u64, Order),
    Fence(Order),
    Lock(usize),
    Unlock(usize),
    /// Writes what the thread read last, plus this.
    WriteLastPlus(usize, u64, Order),
}
use Step::*;

/// Runs all executions; returns how many there are, and what the threads read in them.
fn explore(model: Model, program: &[Vec<Step>], deadlocks: bool) -> (u64, BTreeSet<Vec<Vec<u64>>>) {
    let mut search = Exhaustive::new(model);
    let mut executions = 0;
    let mut outcomes = BTreeSet::new();
    while search.begin() {
        let mut memory = [0u64; 8];
        let mut next = vec![0; program.len()];
        let mut reads = vec![Vec::new(); program.len()];
        loop {
            let left = |t: &usize| next[*t] <= program[*t].len();
            let thread = match search.turn() {
                Some(thread) => Some(usize::from(thread)),
                None => (0..program.len()).find(|t| left(t) && search.can_go_on(*t as u16)),
            };
            let Some(thread) = thread else {
                assert!((0..program.len()).all(|t| !left(&t)) || deadlocks, "deadlock");
                search.look_back();
                break;
            };
            let (access, order, place) = match next[thread] {
                0 => (Access::Begin, Relaxed, None),
                step => match program[thread][step - 1] {
                    Read(place, order) => (Access::Load, order, Some(place)),
                    Write(place, value, order) => (Access::Store(value), order, Some(place)),
                    WriteLastPlus(place, plus, order) => {
                        (Access::Store(reads[thread].last().unwrap() + plus), order, Some(place))
                    }
                    Add(place, value, order) => (Access::Rmw(Rmw::Add, value), order, Some(place)),
                    Cas(place, expected, new, order) => {
                        (Access::Cas { expected, new, failure: Relaxed }, order, Some(place))
                    }
                    Fence(order) => (Access::Fence, order, None),
                    Lock(place) => (Access::Lock(1), Acquire, Some(place)),
                    Unlock(place) => (Access::Rmw(Rmw::Swap, 0), Release, Some(place)),
                },
            };
            let answer = search.request(&Request {
                thread: thread as u16,
                access,
                order,
                memory: place.map(|place| Location {
                    address: 64 + place * 8,
                    size: 8,
                    value: Some(memory[place]),
                }),
                follows: NONE,
                pc: 0,
            });
            match answer {
                Answer::Done { read, write } => {
                    if access.reads() {
                        reads[thread].push(read);
                    }
                    if let Some(value) = write {
                        memory[place.unwrap()] = value;
                    }
                    next[thread] += 1;
                }
                Answer::Waits => {}
                other => panic!("{other:?}"),
            }
        }
        executions += 1;
        assert!(executions < 1_000_000, "no end");
        outcomes.insert(reads);
    }
    (executions, outcomes)
}

#[track_caller]
fn counts(sc: u64, rc11: u64, program: &[Vec<Step>]) {
    assert_eq!((explore(Model::Sc, program, false).0, explore(Model::Rc11, program, false).0), (sc, rc11));
}

const X: usize = 0;
const Y: usize = 1;
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
    assert_eq!(explore(Model::Sc, &program, true).0, 3);
    // Whoever comes first keeps the lock.
    assert_eq!(explore(Model::Rc11, &vec![vec![Lock(X)]; 4], true).0, 4);
}
