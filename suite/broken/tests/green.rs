//! A green that means something: what explorations say of their reach, and the greens that are none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use raddle::{Explorer, Memory, Strategy};

/// The message with which an exploration ends.
#[track_caller]
fn message(explore: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(explore)).expect_err("it fails");
    panic
        .downcast_ref::<String>()
        .cloned()
        .or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap()
}

mod reach {
    use super::*;

    /// Two atomics: both threads increment one, and the closure's own thread alone has the other.
    fn one_shared_one_not() -> usize {
        let shared = Arc::new(AtomicUsize::new(0));
        let own = AtomicUsize::new(0);
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.fetch_add(1, SeqCst)
        });
        shared.fetch_add(2, SeqCst);
        own.store(1, SeqCst);
        other.join().unwrap() + own.load(SeqCst)
    }

    #[test]
    fn tells_contended_sites_from_others() {
        for strategy in [Strategy::Exhaustive, Strategy::Random, Strategy::Pos, Strategy::Auto] {
            let report = Explorer::new().strategy(strategy.clone()).executions(100).run(one_shared_one_not);
            let reach = report.reach;
            assert_eq!((reach.threads, reach.sites, reach.contended), (2, 4, 2), "{strategy}: {reach}");
            // The increments follow each other in either order.
            assert_eq!(reach.pairs, 2, "{strategy}");
        }
    }

    #[test]
    fn is_of_one_exploration() {
        let strategy = || Explorer::new().strategy(Strategy::Exhaustive);
        strategy().run(one_shared_one_not);
        let lock = Mutex::new(0);
        let report = strategy().run(|| {
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| *lock.lock().unwrap() += 1);
                }
            })
        });
        let reach = report.reach;
        assert_eq!((reach.threads, reach.sites, reach.shared, reach.contended), (4, 1, 1, 1), "{reach}");
    }

    #[test]
    fn is_the_same_with_several_workers() {
        let explore = |workers| {
            Explorer::new()
                .strategy(Strategy::Random)
                .executions(2000)
                .workers(workers)
                .run(one_shared_one_not)
        };
        assert_eq!(explore(1).reach, explore(3).reach);
    }

    #[test]
    fn of_memory_that_threads_use_one_after_the_other_is_contended() {
        let report = Explorer::new().strategy(Strategy::Exhaustive).memory(Memory::Sc).run(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let write = Arc::clone(&x);
            thread::spawn(move || write.store(1, SeqCst)).join().unwrap();
            x.load(SeqCst)
        });
        assert_eq!((report.reach.sites, report.reach.contended, report.reach.shared), (2, 2, 0));
    }
}

mod one_thread {
    use super::*;

    fn alone() {
        AtomicUsize::new(0).fetch_add(1, SeqCst);
    }

    #[test]
    fn is_no_green() {
        for strategy in [Strategy::Auto, Strategy::Exhaustive, Strategy::Random] {
            let message = message(|| _ = Explorer::new().strategy(strategy).executions(10).run(alone));
            assert!(message.contains("only one thread ever ran"), "{message}");
        }
    }

    #[test]
    fn is_green_where_it_is_asked_for() {
        let report = Explorer::new().allow_one_thread(true).run(alone);
        assert_eq!((report.reach.threads, report.complete), (1, true));
    }

    #[test]
    fn in_some_executions_is_no_reason_to_fail() {
        raddle::explore(|| {
            let flag = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&flag);
            let thread = thread::spawn(move || other.store(1, SeqCst));
            if flag.load(SeqCst) == 1 {
                thread::spawn(|| ()).join().unwrap();
            }
            thread.join().unwrap();
        });
    }
}

mod sometimes {
    use super::*;

    /// Who comes second, of a thread and the closure's own.
    fn second() -> usize {
        let turn = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&turn);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        let mine = turn.fetch_add(1, SeqCst);
        thread.join().unwrap();
        mine
    }

    #[test]
    fn what_holds_in_one_execution_is_enough() {
        for strategy in [Strategy::Exhaustive, Strategy::Random] {
            Explorer::new().strategy(strategy).executions(100).workers(2).run(|| {
                let mine = second();
                raddle::sometimes!(mine == 0, "the closure is first");
                raddle::sometimes!(mine == 1, "the thread is first");
            });
        }
    }

    #[test]
    fn what_never_holds_fails_the_test() {
        for strategy in [Strategy::Exhaustive, Strategy::Random, Strategy::Auto] {
            let explorer = Explorer::new().strategy(strategy).executions(50);
            let message = message(|| {
                _ = explorer.run(|| {
                    let mine = second();
                    raddle::sometimes!(mine == 2, "three are there");
                    raddle::reachable!("the end");
                });
            });
            assert!(message.contains("green.rs") && message.contains("three are there"), "{message}");
            assert!(!message.contains("the end"), "{message}");
        }
    }
}

#[test]
fn an_exploration_that_finds_nothing_new_ends_early() {
    // Too many executions to make all, and each is like the others.
    let report = raddle::Explorer::new().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let x = Arc::clone(&x);
                thread::spawn(move || (0..6).for_each(|_| _ = x.fetch_add(1, SeqCst)))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(!report.complete);
    assert!(report.elapsed.as_secs_f64() < 9.0, "{:?}", report.elapsed);
}
