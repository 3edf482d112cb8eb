//! The memory against the axioms: what it does is allowed, and most of what is allowed it does.

mod axioms;
mod program;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use self::program::{Outcome, Program, weak};
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
        let reached = reached(&program, 30_000);
        assert!(reached.is_subset(&outcomes), "{program:?}");
        allowed += outcomes.len();
        found += reached.len();
    }
    println!("{found} of {allowed} outcomes");
    assert!(found * 100 >= allowed * 99, "{found} of {allowed} outcomes");
}

/// Checks how many outcomes a program has by the axioms, and that the memory reaches all of them. Stores are told apart, whatever
/// values they write.
#[track_caller]
fn check(program: &str, outcomes: usize) {
    let program = Program::from(program.parse::<notation::Program>().unwrap());
    let allowed = program.allowed();
    assert_eq!(allowed.len(), outcomes, "{allowed:?}");
    assert_eq!(reached(&program, 10_000), allowed);
}

#[test]
fn store_buffering() {
    check("Wr(x,1); Ra y || Wr(y,1); Ra x", 4);
    check("Ws(x,1); Rs y || Ws(y,1); Rs x", 3);
    check("Wx(x,1); Fs; Rx y || Wx(y,1); Fs; Rx x", 3);
    check("Wx(x,1); Fs; Rx y || Wx(y,1); Rx x", 4);
}

#[test]
fn message_passing() {
    check("Wx(x,1); Wx(y,1) || Ra y; Rx x", 4);
    check("Wx(x,1); Wr(y,1) || Ra y; Rx x", 3);
    check("Wx(x,1); Wr(y,1) || Rx y; Rx x", 4);
}

#[test]
fn stores_in_two_orders() {
    check("Wx(x,1); Wx(y,1) || Wx(y,2); Wx(x,2)", 4);
    check("Ws(x,1); Ws(y,1) || Ws(y,2); Ws(x,2)", 3);
}

#[test]
fn a_memory_location_is_coherent() {
    check("Wx(x,1) || Rx x; Rx x", 3);
    check("Wx(x,1); Rx x || Wx(x,2)", 3);
}

#[test]
fn readers_may_disagree_unless_all_is_sequentially_consistent() {
    check("Wr(x,1) || Wr(y,1) || Ra x; Ra y || Ra y; Ra x", 16);
    check("Ws(x,1) || Ws(y,1) || Rs x; Rs y || Rs y; Rs x", 15);
}
