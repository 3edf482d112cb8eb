//! What runs report: outcomes and their counts, panics, arbiters, actors that do not return.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use raddle_stress::{Outcomes, Placement, Spin, Stress};

const SHORT: Duration = Duration::from_millis(100);

/// Every execution is counted once, with as many results as there are actors and arbiters.
#[track_caller]
fn check<T: Clone + Eq + std::hash::Hash>(outcomes: &Outcomes<T>, width: usize) {
    let counted: u64 = outcomes.counts.iter().map(|(_, count)| count).sum();
    let panicked: u64 = outcomes.panics.iter().map(|(_, count)| count).sum();
    assert_eq!(counted + panicked + outcomes.overflow, outcomes.executions);
    assert_eq!(outcomes.placements.iter().map(|(_, count)| count).sum::<u64>(), outcomes.executions);
    assert!(outcomes.counts.iter().all(|(results, _)| results.len() == width));
    assert!(outcomes.panics.iter().all(|(results, _)| results.len() == width));
    assert!(outcomes.executions > 0);
}

#[test]
fn each_actor_is_called_once_on_each_instance() {
    for actors in 1..=8 {
        let mut stress = Stress::new(|| AtomicU32::new(0)).time(SHORT).seed(actors);
        for _ in 0..actors {
            stress = stress.actor(|n: &AtomicU32| {
                n.fetch_add(1, Relaxed);
                0
            });
        }
        let outcomes = stress.arbiter(|n: &AtomicU32| n.load(Relaxed)).run();
        check(&outcomes, actors as usize + 1);
        assert_eq!(outcomes.counts.len(), 1, "{:?}", outcomes.counts);
        assert_eq!(outcomes.counts[0].0.last(), Some(&(actors as u32)));
    }
}

#[test]
fn lost_updates_are_seen() {
    let lose = |n: &AtomicU32| {
        let read = n.load(Relaxed);
        raddle_stress::pause_point();
        n.store(read + 1, Relaxed);
        read + 1
    };
    let outcomes =
        Stress::new(|| AtomicU32::new(0)).actor(lose).actor(lose).time(Duration::from_secs(1)).run();
    check(&outcomes, 2);
    for expected in [[1, 2], [2, 1]] {
        assert!(outcomes.count(&expected) > 0, "{:?}", outcomes.counts);
    }
    // Needs two processors at the same time, which a busy machine may not give within a second.
    assert!(
        outcomes
            .counts
            .iter()
            .all(|(results, _)| [[1, 2], [2, 1], [1, 1]].contains(&[results[0], results[1]]))
    );
}

#[test]
fn instances_are_made_and_dropped_equally_often() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted(Mutex<Vec<u32>>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
    let make = || {
        MADE.fetch_add(1, Relaxed);
        Counted(Mutex::default())
    };
    let push = |n| {
        move |state: &Counted| {
            let mut vec = state.0.lock().unwrap();
            vec.push(n);
            format!("{vec:?}")
        }
    };
    let outcomes = Stress::new(make).actor(push(1)).actor(push(2)).time(SHORT).run();
    check(&outcomes, 2);
    assert_eq!(MADE.load(Relaxed), DROPPED.load(Relaxed));
    assert!(MADE.load(Relaxed) as u64 >= outcomes.executions);
    assert!(outcomes.labels().iter().any(|(label, _)| label == "[1], [1, 2]"));
}

#[test]
fn a_panic_is_an_outcome_with_its_message() {
    let outcomes = Stress::new(|| AtomicU32::new(0))
        .actor(|n: &AtomicU32| n.fetch_add(1, Relaxed))
        .actor(|n: &AtomicU32| match n.fetch_add(1, Relaxed) {
            0 => panic!("first with {}", 0),
            second => second,
        })
        .arbiter(|n: &AtomicU32| n.load(Relaxed))
        .time(SHORT)
        .run();
    check(&outcomes, 3);
    let panicked = [Ok(1), Err("first with 0".to_owned()), Ok(2)];
    assert!(outcomes.panics.iter().all(|(results, _)| *results == panicked), "{:?}", outcomes.panics);
    assert!(outcomes.counts.iter().all(|(results, _)| *results == [0, 1, 2]), "{:?}", outcomes.counts);
    assert!(
        outcomes
            .labels()
            .iter()
            .all(|(label, _)| ["1, panic: first with 0, 2", "0, 1, 2"].contains(&&**label))
    );
}

#[test]
fn an_arbiter_that_panics_is_an_outcome_too() {
    let outcomes = Stress::new(|| ()).actor(|()| 1).arbiter(|()| panic!("never right")).time(SHORT).run();
    check(&outcomes, 2);
    assert_eq!(outcomes.panics[0].0, [Ok(1), Err("never right".to_owned())]);
}

#[test]
fn an_actor_that_never_returns_is_reported_and_the_others_end() {
    let begin = Instant::now();
    let outcomes = Stress::new(|| AtomicBool::new(false))
        .actor(|flag: &AtomicBool| {
            // Another thread never sets it.
            while !flag.load(Relaxed) {
                std::hint::spin_loop();
            }
        })
        .actor(|_| ())
        .time(Duration::from_secs(60))
        .patience(Duration::from_millis(300))
        .run();
    assert_eq!(outcomes.stuck, [0]);
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_actor_that_hangs_rarely_does_not_take_the_counts_with_it() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let outcomes = Stress::new(|| ())
        .actor(|()| {
            if CALLS.fetch_add(1, Relaxed) == 5000 {
                loop {
                    std::thread::park();
                }
            }
        })
        .actor(|()| ())
        .patience(Duration::from_millis(300))
        .run();
    assert_eq!(outcomes.stuck, [0]);
    assert!(outcomes.executions > 0);
}

#[test]
fn a_state_that_cannot_be_made_is_the_callers_panic() {
    let stress = Stress::new(|| -> u32 { panic!("no state") }).actor(|n| *n).actor(|n| *n);
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stress.run())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"no state"));
}

#[test]
fn slow_actors_get_small_batches() {
    let begin = Instant::now();
    let slow = |_: &()| std::thread::sleep(Duration::from_millis(10));
    let outcomes = Stress::new(|| ()).actor(slow).actor(slow).time(SHORT).run();
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!((1..200).contains(&outcomes.executions));
}

#[test]
fn large_states_get_small_batches() {
    let outcomes =
        Stress::new(|| vec![1u8; 1 << 20]).actor(|s: &Vec<u8>| s[9]).actor(|s| s[1]).time(SHORT).run();
    assert_eq!(outcomes.counts.len(), 1);
}

#[test]
fn any_way_to_wait_and_any_strides_give_the_same_outcomes() {
    for spin in [Spin::Adaptive, Spin::Hard, Spin::Hint, Spin::Yield] {
        for (instances, strides) in [(1, 1), (7, 3), (256, 40)] {
            let outcomes = Stress::new(|| AtomicU32::new(0))
                .actor(|n: &AtomicU32| n.swap(1, AcqRel))
                .actor(|n: &AtomicU32| n.swap(1, AcqRel))
                .spin(spin)
                .strides(instances, strides)
                .placements(&[Placement::OtherCore])
                .time(Duration::from_millis(30))
                .run();
            check(&outcomes, 2);
            assert!(outcomes.counts.iter().all(|(results, _)| results[0] + results[1] == 1));
        }
    }
}

#[test]
fn the_number_of_executions_can_be_limited() {
    for limit in [1, 2, 1000, 20_000] {
        let outcomes = Stress::new(|| ()).actor(|()| 1).actor(|()| 2).executions(limit).run();
        assert_eq!(outcomes.executions, limit * outcomes.placements.len() as u64);
    }
}
