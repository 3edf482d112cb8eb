//! Symmetric threads, against all their permutations.

use std::collections::{BTreeMap, BTreeSet};

use super::Step::{self, *};
use super::preemption_bound::{Signature, cases, signature};
use super::{X, Y, random_program, run};
use crate::model_checker::{Model, ModelChecker};
use crate::op::Order::{Acquire, Relaxed, Release, SeqCst};

/// The executions of a search with these groups of symmetric threads.
fn explore(model: Model, program: &[Vec<Step>], symmetric: &[Vec<u16>]) -> Vec<Signature> {
    let mut search = ModelChecker::new(model);
    for group in symmetric {
        for pair in group.windows(2) {
            search.set_symmetric_predecessor(pair[1], pair[0]);
        }
    }
    let mut found = Vec::new();
    run(&mut search, program, true, true, |search, _| found.push(signature(search.graph())));
    found
}

/// All permutations of threads within groups: for each thread its image.
fn permutations(threads: usize, symmetric: &[Vec<u16>]) -> Vec<Vec<usize>> {
    fn orders(rest: &[u16]) -> Vec<Vec<u16>> {
        if rest.is_empty() {
            return vec![Vec::new()];
        }
        let first = |i: usize| {
            let mut others = rest.to_vec();
            let first = others.remove(i);
            orders(&others).into_iter().map(move |order| [vec![first], order].concat())
        };
        (0..rest.len()).flat_map(first).collect()
    }
    let mut all = vec![(0..threads).collect::<Vec<_>>()];
    for group in symmetric {
        let exchanged = |permutation: &Vec<usize>| {
            let exchange = |order: Vec<u16>| {
                let mut permutation = permutation.clone();
                for (&from, to) in group.iter().zip(order) {
                    permutation[usize::from(from)] = to.into();
                }
                permutation
            };
            orders(group).into_iter().map(exchange).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(exchanged).collect();
    }
    all
}

/// The least of the executions that result from this one by permuting threads.
fn representative(graph: &Signature, permutations: &[Vec<usize>]) -> Signature {
    let exchange = |permutation: &Vec<usize>| {
        let rename = |name: u32| match name {
            0 => 0,
            name => ((permutation[(name >> 16) as usize - 1] as u32 + 1) << 16) | (name & 0xffff),
        };
        let mut exchanged = graph.clone();
        for (thread, events) in graph.iter().enumerate() {
            exchanged[permutation[thread]] =
                events.iter().map(|&(read, after)| (rename(read), rename(after))).collect();
        }
        exchanged
    };
    permutations.iter().map(exchange).min().expect("the identity is a permutation")
}

/// Checks that a search makes an execution of each class. Returns the numbers of all executions, of classes, and of those made.
#[track_caller]
fn check(model: Model, program: &[Vec<Step>], symmetric: &[Vec<u16>]) -> (usize, usize, usize) {
    let permutations = permutations(program.len(), symmetric);
    let all = explore(model, program, &[]);
    let orbits: BTreeSet<Signature> = all.iter().map(|graph| representative(graph, &permutations)).collect();
    let found = explore(model, program, symmetric);
    let mut times = BTreeMap::new();
    for graph in &found {
        *times.entry(representative(graph, &permutations)).or_insert(0) += 1;
    }
    let missing = orbits.iter().find(|orbit| !times.contains_key(*orbit));
    assert_eq!(missing, None, "{model:?}, {symmetric:?}: {program:?}");
    assert_eq!(times.len(), orbits.len(), "{model:?}, {symmetric:?}: {program:?}");
    let distinct: BTreeSet<&Signature> = found.iter().collect();
    assert_eq!(distinct.len(), found.len(), "twice: {model:?}, {symmetric:?}: {program:?}");
    if model == Model::Sc {
        assert_eq!(found.len(), orbits.len(), "{symmetric:?}: {program:?}");
    }
    (all.len(), orbits.len(), found.len())
}

#[test]
fn identical_threads_are_explored_in_one_order() {
    let symmetric = |n: u16| [(0..n).collect::<Vec<u16>>()];
    for n in 2..5 {
        let increments = vec![vec![Add(X, 1, Relaxed)]; n];
        let one_after_the_other = vec![vec![Lock(X), Add(Y, 1, Relaxed), Unlock(X)]; n];
        for model in [Model::Sc, Model::Rc11] {
            assert_eq!(check(model, &increments, &symmetric(n as u16)).2, 1);
            assert_eq!(check(model, &one_after_the_other, &symmetric(n as u16)).2, 1);
        }
    }
    // Of symmetric readers, only the number that read from the write matters.
    let mut readers = vec![vec![Read(X, Acquire)]; 5];
    readers.push(vec![Write(X, 1, Release)]);
    assert_eq!(check(Model::Sc, &readers, &symmetric(5)), (32, 6, 6));
    assert_eq!(check(Model::Rc11, &readers, &symmetric(5)), (32, 6, 6));
    let read_write = vec![vec![Read(X, Relaxed), Write(X, 1, Release)]; 3];
    assert_eq!(check(Model::Sc, &read_write, &symmetric(3)), (36, 6, 6));
    assert_eq!(check(Model::Rc11, &read_write, &symmetric(3)), (36, 6, 6));
    let twice = vec![vec![Lock(X), Unlock(X), Lock(X), Unlock(X)]; 3];
    assert_eq!(check(Model::Sc, &twice, &symmetric(3)), (90, 15, 15));
}

/// A random program, and its groups of symmetric threads.
fn random_symmetric_program(seed: u64) -> (Vec<Vec<Step>>, Vec<Vec<u16>>) {
    let mut rng = crate::rng::Rng::new(seed ^ 0x5ee_d0f5);
    let mut some = random_program(seed, 3);
    some.iter_mut().for_each(|steps| steps.truncate(3));
    let orders = [Relaxed, Acquire, Release, SeqCst];
    for step in some.iter_mut().flatten() {
        let order = orders[rng.below(4)];
        match step {
            Read(_, o) => *o = if order == Release { Relaxed } else { order },
            Write(_, _, o) => *o = if order == Acquire { Relaxed } else { order },
            Add(_, _, o) | Cas(_, _, _, o) => *o = order,
            _ => {}
        }
    }
    let times = [1 + rng.below(3), 1 + rng.below(2)];
    let (mut program, mut symmetric) = (Vec::new(), Vec::new());
    for (steps, &times) in some.iter().take(2).zip(&times) {
        let first = program.len() as u16;
        program.extend(vec![steps.clone(); times]);
        symmetric.push((first..first + times as u16).collect());
    }
    (program, symmetric)
}

#[test]
fn one_execution_of_each_class_is_explored() {
    let (mut redundant, mut made) = (0, 0);
    for seed in 0..cases(100) {
        let (program, symmetric) = random_symmetric_program(seed);
        check(Model::Sc, &program, &symmetric);
        let (_, orbits, found) = check(Model::Rc11, &program, &symmetric);
        redundant += found - orbits;
        made += found;
    }
    // Under weak memory, a class may have more than one canonical execution.
    assert!(redundant * 100 <= made, "{redundant} of {made} executions are redundant");
}
