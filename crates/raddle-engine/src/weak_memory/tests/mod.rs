//! The memory against the axioms: what it does is allowed, and most of what is allowed it does.

mod axioms;
mod program;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use self::program::Step::*;
use self::program::{Outcome, Program, Step, weak};
use crate::op::Order::{self, *};
use crate::rng::Rng;

proptest! {
    #![proptest_config(Config { cases: Config::default().cases.max(3000), ..Config::default() })]

    #[test]
    fn every_execution_is_consistent(program in Program::any(4, 5), seed: u64) {
        check_runs(&program, seed, 20);
    }

    /// Long enough for stores to be forgotten.
    #[test]
    fn every_long_execution_is_consistent(program in Program::any(3, 20), seed: u64) {
        check_runs(&program, seed, 2);
    }
}

#[track_caller]
fn check_runs(program: &Program, seed: u64, runs: usize) {
    let (mut memory, mut rng) = (weak(), Rng::new(seed));
    for _ in 0..runs {
        let (graph, outcome) = program.run(&mut memory, &mut rng);
        assert_eq!(graph.broken_axiom(), None, "{outcome:?} {graph:?}");
    }
}

fn reached(program: &Program, runs: usize) -> BTreeSet<Outcome> {
    let (mut memory, mut rng) = (weak(), Rng::new(7));
    (0..runs).map(|_| program.run(&mut memory, &mut rng).1).collect()
}

#[test]
fn nearly_all_that_is_allowed_happens() {
    let mut runner = TestRunner::deterministic();
    let programs = Program::any(3, 3);
    let (mut allowed, mut found) = (0, 0);
    for _ in 0..150 {
        let program = programs.new_tree(&mut runner).unwrap().current();
        let outcomes = program.allowed();
        let reached = reached(&program, 3000);
        assert!(reached.is_subset(&outcomes), "{program:?}");
        allowed += outcomes.len();
        found += reached.len();
    }
    println!("{found} of {allowed} outcomes");
    assert!(found * 100 >= allowed * 99, "{found} of {allowed} outcomes");
}

/// Checks how many outcomes a program has by the axioms, and that the memory reaches all of them.
#[track_caller]
fn check(threads: &[&[Step]], outcomes: usize) {
    let program = Program(threads.iter().map(|steps| steps.to_vec()).collect());
    let allowed = program.allowed();
    assert_eq!(allowed.len(), outcomes, "{allowed:?}");
    assert_eq!(reached(&program, 10_000), allowed);
}

const X: usize = 0;
const Y: usize = 1;

fn load(location: usize, order: Order) -> Step {
    Load { location, order }
}

fn store(location: usize, order: Order) -> Step {
    Store { location, order }
}

#[test]
fn store_buffering() {
    let threads = |order, read| [[store(X, order), load(Y, read)], [store(Y, order), load(X, read)]];
    let [first, second] = threads(Release, Acquire);
    check(&[&first, &second], 4);
    let [first, second] = threads(SeqCst, SeqCst);
    check(&[&first, &second], 3);
    let fence = Fence { order: SeqCst };
    let [[w, r], [v, s]] = threads(Relaxed, Relaxed);
    check(&[&[w, fence, r], &[v, fence, s]], 3);
    check(&[&[w, fence, r], &[v, s]], 4);
}

#[test]
fn message_passing() {
    check(&[&[store(X, Relaxed), store(Y, Relaxed)], &[load(Y, Acquire), load(X, Relaxed)]], 4);
    check(&[&[store(X, Relaxed), store(Y, Release)], &[load(Y, Acquire), load(X, Relaxed)]], 3);
    check(&[&[store(X, Relaxed), store(Y, Release)], &[load(Y, Relaxed), load(X, Relaxed)]], 4);
}

#[test]
fn stores_in_two_orders() {
    check(&[&[store(X, Relaxed), store(Y, Relaxed)], &[store(Y, Relaxed), store(X, Relaxed)]], 4);
    check(&[&[store(X, SeqCst), store(Y, SeqCst)], &[store(Y, SeqCst), store(X, SeqCst)]], 3);
}

#[test]
fn a_place_is_coherent() {
    check(&[&[store(X, Relaxed)], &[load(X, Relaxed), load(X, Relaxed)]], 3);
    check(&[&[store(X, Relaxed), load(X, Relaxed)], &[store(X, Relaxed)]], 3);
}

#[test]
fn readers_may_disagree_unless_all_is_sequentially_consistent() {
    let threads = |write, read| {
        vec![
            vec![store(X, write)],
            vec![store(Y, write)],
            vec![load(X, read), load(Y, read)],
            vec![load(Y, read), load(X, read)],
        ]
    };
    let all = |threads: Vec<Vec<Step>>, outcomes| {
        check(&threads.iter().map(Vec::as_slice).collect::<Vec<_>>(), outcomes);
    };
    all(threads(Release, Acquire), 16);
    all(threads(SeqCst, SeqCst), 15);
}
