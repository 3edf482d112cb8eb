//! An exhaustive search in several processes makes the executions that one process makes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::thread;

use litmus::check::explorer;
use litmus::programs::classics::*;
use litmus::programs::locks::*;
use litmus::programs::structures::*;
use litmus::{Model, Real, Test};
use raddle::{Explorer, Memory, Strategy};
use strategies::sampling;

/// The figures of a search of all executions, and what they came to.
#[track_caller]
fn figures<T: Ord + Clone>(
    model: Model,
    workers: usize,
    body: impl Fn() -> T,
) -> (u64, u64, BTreeMap<T, u64>) {
    let report = explorer(model).workers(workers).run(&body as &dyn Fn() -> T);
    assert!(report.complete, "{model:?}, {workers} workers: not complete after {}", report.executions);
    assert_eq!(report.outcomes.values().sum::<u64>(), report.executions);
    (report.executions, report.blocked, report.outcomes)
}

#[track_caller]
fn same(build: impl Fn() -> Test) {
    for model in Model::ALL {
        let body = || Real::run(build());
        let alone = figures(model, 1, body);
        for workers in [2, 4] {
            assert_eq!(figures(model, workers, body), alone, "{model:?}, {workers} workers");
        }
    }
}

#[test]
fn workers_share_executions_of_threads_that_do_not_wait() {
    same(|| racy::<Real>(2, 3));
    same(|| readers::<Real>(8));
    same(|| ainc::<Real>(5));
    same(|| lastzero::<Real>(9));
    same(|| treiber::<Real>(2, 2));
    same(|| michael_scott::<Real>(2, 1));
}

#[test]
fn workers_share_executions_of_threads_that_wait() {
    same(|| mutex::<Real>(3, 2));
    same(|| cas_lock::<Real>(4));
    same(|| ttas_lock::<Real>(3));
    same(|| ticket_lock::<Real>(4));
    same(|| mcs_lock::<Real>(3));
    same(|| peterson::<Real>(Acquire, Release));
    same(|| seqlock::<Real>(2));
}

#[test]
fn knowledge_that_comes_late_makes_all_processes_begin_anew() {
    // Only after many executions does anybody look at the count.
    let body = || {
        let (place, own) = (Arc::new(AtomicU32::new(0)), Arc::new(1));
        let adders: Vec<_> = (0..5)
            .map(|_| {
                let (place, own) = (Arc::clone(&place), Arc::clone(&own));
                thread::spawn(move || {
                    let seen = place.fetch_add(1, SeqCst);
                    if seen == 2 && place.load(SeqCst) == 3 {
                        std::hint::black_box(Arc::strong_count(&own));
                    }
                    seen.to_string()
                })
            })
            .collect();
        let seen: Vec<String> = adders.into_iter().map(|adder| adder.join().unwrap()).collect();
        seen.concat()
    };
    for model in Model::ALL {
        let alone = figures(model, 1, body);
        assert_eq!(figures(model, 2, body), alone, "{model:?}");
    }
}

#[test]
fn every_worker_takes_part() {
    let first = std::process::id();
    let (mut theirs, ours) = std::io::pipe().unwrap();
    figures(Model::Sc, 2, || {
        _ = Real::run(racy::<Real>(2, 4));
        if std::process::id() != first {
            (&ours).write_all(b"x").unwrap();
        }
    });
    drop(ours);
    let mut executions = Vec::new();
    theirs.read_to_end(&mut executions).unwrap();
    assert!(executions.len() > 300, "of 3334 executions {} were made by others", executions.len());
    assert!(executions.len() < 3034, "of 3334 executions {} were made by others", executions.len());
}

#[test]
fn a_failure_of_any_process_is_found() {
    for workers in [1, 2, 4] {
        let failure = explorer(Model::Sc).workers(workers).try_run(|| {
            let place = Arc::new(AtomicU32::new(1));
            let threads: Vec<_> = (0..2)
                .map(|number| {
                    let place = Arc::clone(&place);
                    thread::spawn(move || {
                        for _ in 0..3 {
                            let seen = place.load(Relaxed);
                            place.store(seen * 2 + number, Relaxed);
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // Only if the threads take turns, the first one first.
            assert_ne!(place.load(Relaxed), 0b101_0101, "all steps took turns");
        });
        let failure = failure.expect_err("one of the executions is wrong");
        assert_eq!(failure.kind, raddle::Kind::Panic, "{workers} workers");
    }
}

/// What a sample is depends on its number, not on who makes it.
#[test]
fn samples_are_the_same_whoever_makes_them() {
    for strategy in sampling() {
        let outcomes = |workers| {
            let explorer = Explorer::new().strategy(strategy.clone()).memory(Memory::Rc11).seed(5);
            let report = explorer.executions(3000).workers(workers).run(|| Real::run(racy::<Real>(3, 2)));
            assert_eq!(report.outcomes.values().sum::<u64>(), 3000);
            report.outcomes
        };
        let alone = outcomes(1);
        assert!(alone.len() > 10, "{strategy}");
        for workers in [2, 4] {
            assert_eq!(outcomes(workers), alone, "{strategy}, {workers} workers");
        }
    }
}

/// A portfolio with several processes knows as much as with one.
#[test]
fn a_portfolio_is_shared() {
    let first = std::process::id();
    let (mut theirs, ours) = std::io::pipe().unwrap();
    let report = Explorer::new().workers(2).run(|| {
        let outcome = Real::run(racy::<Real>(2, 4));
        // At the end, because few executions begin at the beginning.
        if std::process::id() != first {
            (&ours).write_all(b"x").unwrap();
        }
        outcome
    });
    drop(ours);
    assert!(report.complete, "{:?}", report.searches);
    let exhaustive: Vec<_> =
        report.searches.iter().filter(|ran| ran.strategy == Strategy::Exhaustive).collect();
    assert_eq!(exhaustive.iter().map(|ran| ran.executions).collect::<Vec<_>>(), [3334, 3334]);
    assert_eq!(report.outcomes.values().sum::<u64>(), report.executions);
    let mut executions = Vec::new();
    theirs.read_to_end(&mut executions).unwrap();
    assert!(executions.len() > 600, "{} executions were made by others", executions.len());
}

#[test]
#[ignore = "tells how long it takes, which means little on a busy machine"]
fn more_processes_are_faster() {
    for workers in [1, 2, 4] {
        let begin = std::time::Instant::now();
        let (executions, ..) = figures(Model::Sc, workers, || _ = Real::run(treiber::<Real>(3, 1)));
        println!("{workers} workers: {executions} executions in {:?}", begin.elapsed());
    }
}
