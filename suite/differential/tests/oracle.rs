//! The brute force on programs whose outcomes everybody knows.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use differential::oracle::{Fault, Freedom, Known, known};
use differential::program::{Mode, OnceKind, Op, Program, Width};

fn program(threads: Vec<Vec<Op>>) -> Program {
    Program { atomics: vec![Width::U32; 2], capacity: None, barrier: 2, threads }
}

fn at_most(program: &Program) -> Known {
    known(program, Freedom::Most, 100_000).expect("it is small")
}

fn at_least(program: &Program) -> Known {
    known(program, Freedom::Least, 100_000).expect("it is small")
}

/// What some threads saw, without what the main one sees in the end.
fn others(known: &Known) -> BTreeSet<Vec<Vec<u64>>> {
    known.outcomes.iter().map(|outcome| outcome[1..].to_vec()).collect()
}

fn lock(lock: usize, body: Vec<Op>) -> Op {
    Op::Locked { mode: Mode::Mutex, lock, only_try: false, body }
}

#[test]
fn store_buffering_is_sequentially_consistent() {
    let program = program(vec![
        vec![Op::Spawn(1), Op::Spawn(2)],
        vec![Op::Store(0, 1, SeqCst), Op::Load(1, SeqCst)],
        vec![Op::Store(1, 1, SeqCst), Op::Load(0, SeqCst)],
    ]);
    let expected = [[0, 1], [1, 0], [1, 1]].map(|[first, second]| vec![vec![first], vec![second]]);
    assert_eq!(others(&at_most(&program)), BTreeSet::from(expected));
    assert_eq!(at_least(&program).outcomes, at_most(&program).outcomes);
}

#[test]
fn two_locks_in_two_orders_are_stuck() {
    let nested = |outer, inner| vec![lock(outer, vec![lock(inner, vec![])])];
    let wrong = program(vec![vec![Op::Scope(vec![1, 2], vec![])], nested(0, 1), nested(1, 0)]);
    assert_eq!(at_least(&wrong).faults, BTreeSet::from([Fault::Stuck]));
    let right = program(vec![vec![Op::Scope(vec![1, 2], vec![])], nested(0, 1), nested(0, 1)]);
    assert_eq!(at_most(&right).faults, BTreeSet::new());
}

#[test]
fn only_release_and_acquire_hand_data_on() {
    let by = |store, load| {
        program(vec![
            vec![Op::Scope(vec![1], vec![Op::Write(0, 7), Op::Store(0, 1, store)])],
            vec![Op::SpinUntil(0, 1, load, false), Op::Read(0)],
        ])
    };
    assert_eq!(at_most(&by(Release, Acquire)).faults, BTreeSet::new());
    assert_eq!(others(&at_most(&by(Release, Acquire))), BTreeSet::from([vec![vec![7]]]));
    for racy in [by(Relaxed, Acquire), by(Release, Relaxed)] {
        assert_eq!(at_least(&racy).faults, BTreeSet::from([Fault::Race]));
    }
}

#[test]
fn fences_hand_data_on() {
    let program = program(vec![
        vec![Op::Scope(vec![1], vec![Op::Write(0, 7), Op::Fence(Release), Op::Store(0, 1, Relaxed)])],
        vec![Op::SpinUntil(0, 1, Relaxed, false), Op::Fence(Acquire), Op::Read(0)],
    ]);
    assert_eq!(at_most(&program).faults, BTreeSet::new());
}

#[test]
fn a_reader_does_not_pass_a_waiting_writer() {
    let take = |mode, only_try, body| Op::Locked { mode, lock: 0, only_try, body };
    let again = |only_try| vec![take(Mode::Read, false, vec![take(Mode::Read, only_try, vec![])])];
    let with = |body| program(vec![vec![Op::Scope(vec![1], body)], vec![take(Mode::Write, false, vec![])]]);
    assert_eq!(at_least(&with(again(false))).faults, BTreeSet::from([Fault::Stuck]));
    let tried = at_least(&with(again(true)));
    let seen: BTreeSet<u64> = tried.outcomes.iter().map(|outcome| outcome[0][0]).collect();
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn destructors_are_waited_for_by_join_and_not_by_scopes() {
    let local = vec![Op::ThreadLocal];
    let joined = program(vec![vec![Op::Spawn(1), Op::Join(1), Op::Load(0, SeqCst)], local.clone()]);
    let first = |known: Known| known.outcomes.iter().map(|outcome| outcome[0][0]).collect::<Vec<_>>();
    assert_eq!(first(at_most(&joined)), [1]);
    let scoped = program(vec![vec![Op::Scope(vec![1], vec![]), Op::Load(0, SeqCst)], local]);
    assert_eq!(first(at_most(&scoped)), [0, 0, 1]);
}

#[test]
fn timeouts_end_early_only_with_freedom() {
    let program = program(vec![
        vec![Op::Spawn(1), Op::WaitWhileZero { mutex: 0, timeout: Some(100) }],
        vec![lock(0, vec![Op::Replace(Mode::Mutex, 0, 1)]), Op::Notify(0, false)],
    ]);
    let late = |known: Known| known.outcomes.iter().map(|outcome| outcome[0][0]).collect::<BTreeSet<_>>();
    assert_eq!(late(at_least(&program)), BTreeSet::from([0]));
    assert_eq!(late(at_most(&program)), BTreeSet::from([0, 1]));
}

#[test]
fn a_rendezvous_lets_nobody_go_on_alone() {
    let mut program = program(vec![
        vec![Op::Spawn(1), Op::Send(1), Op::Load(0, SeqCst)],
        vec![Op::Store(0, 1, SeqCst), Op::Receive],
    ]);
    program.capacity = Some(0);
    let known = at_most(&program);
    assert!(known.outcomes.iter().all(|outcome| outcome[0][..2] == [1, 1]), "{known:?}");
    program.capacity = Some(1);
    assert!(at_most(&program).outcomes.iter().any(|outcome| outcome[0][..2] == [1, 0]));
}

#[test]
fn one_thread_initialises() {
    let initialise = |value| vec![Op::Initialise(OnceKind::OnceLock, 0, vec![], value)];
    let program = program(vec![vec![Op::Scope(vec![1, 2], vec![])], initialise(5), initialise(6)]);
    let expected = [5, 6].map(|value| vec![vec![value], vec![value]]);
    assert_eq!(others(&at_most(&program)), BTreeSet::from(expected));
}
