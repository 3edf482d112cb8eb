//! The same seed finds the same failure, however many processes search; other seeds search elsewhere.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use broken::{EXECUTIONS, all, searching};
use raddle::{Explorer, Failure, Strategy};

/// Rare enough that seeds differ in when they find it: three threads must come in one particular order.
fn rare_order() {
    let order = AtomicU32::new(0);
    thread::scope(|scope| {
        for digit in 1..=4 {
            let order = &order;
            scope.spawn(move || order.fetch_update(SeqCst, SeqCst, |order| Some(order * 10 + digit)));
        }
    });
    assert_ne!(order.into_inner(), 3142);
}

#[track_caller]
fn search(strategy: &Strategy, seed: u64, workers: usize) -> Box<Failure> {
    let explorer =
        Explorer::new().strategy(strategy.clone()).seed(seed).workers(workers).executions(EXECUTIONS);
    explorer.try_run(rare_order).expect_err("every strategy finds it")
}

#[track_caller]
fn assert_same(strategy: &Strategy, one: &Failure, two: &Failure) {
    assert_eq!(one.found_by.execution, two.found_by.execution, "{strategy}: execution");
    assert_eq!(one.schedule, two.schedule, "{strategy}: schedule");
    assert!(one.trace.events == two.trace.events, "{strategy}: events");
}

#[test]
fn the_same_seed_finds_the_same_failure() {
    for strategy in searching() {
        for seed in [0, 7] {
            assert_same(&strategy, &search(&strategy, seed, 1), &search(&strategy, seed, 1));
        }
    }
}

#[test]
fn the_number_of_workers_does_not_matter() {
    for strategy in searching() {
        let alone = search(&strategy, 3, 1);
        for workers in [2, 4] {
            assert_same(&strategy, &alone, &search(&strategy, 3, workers));
        }
    }
}

#[test]
fn different_seeds_search_differently() {
    for strategy in searching() {
        let found: HashSet<(u64, Vec<u16>)> = (0..6)
            .map(|seed| {
                let failure = search(&strategy, seed, 1);
                assert_eq!(failure.found_by.seed, seed);
                (failure.found_by.execution, failure.schedule.0)
            })
            .collect();
        assert!(found.len() >= 3, "{strategy}: six seeds made {} searches", found.len());
    }
}

/// Without failure, all workers together make as many executions, with as many events, as one.
#[test]
fn workers_share_the_executions() {
    for strategy in all() {
        let explore = |workers| {
            let explorer = Explorer::new().strategy(strategy.clone()).workers(workers).executions(1000);
            explorer.run(|| {
                let counter = AtomicU32::new(0);
                thread::scope(|scope| {
                    scope.spawn(|| counter.fetch_add(1, SeqCst));
                    scope.spawn(|| counter.fetch_add(1, SeqCst));
                });
            })
        };
        let alone = explore(1);
        for workers in [2, 4] {
            let shared = explore(workers);
            assert_eq!(
                (shared.executions, shared.events, shared.switches, shared.complete, shared.outcomes.clone()),
                (alone.executions, alone.events, alone.switches, alone.complete, alone.outcomes.clone()),
                "{strategy}, {workers} workers"
            );
        }
    }
}
