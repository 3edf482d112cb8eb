//! Livelocks, and loops that only look like one.
#![allow(clippy::missing_spin_loop, reason = "programs under test spin in every way there is")]

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use broken::{all, finds, finds_with, last, passes_with, wait};
use raddle::{Explorer, Failure, Kind};
use raddle_report::failure::Action;

/// The threads spin, and the last thing each did was to read what it waits for.
#[track_caller]
fn check_spinning(failure: &Failure, threads: &[u32]) {
    for &thread in threads {
        let (on, _) = wait(failure, thread as usize).expect("a spinning thread waits");
        assert!(on.contains("loop"), "thread {thread} waits for {on}");
        let action = &last(failure, thread).action;
        assert!(
            matches!(action, Action::Load { .. } | Action::Cas { .. } | Action::Yield),
            "{thread}: {action:?}"
        );
    }
}

mod livelock {
    use super::*;

    /// Each waits for the other to go first.
    #[test]
    fn of_two_threads_that_let_each_other_pass() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let flags: [_; 2] = std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
                let theirs = flags.clone();
                let other = thread::spawn(move || {
                    while !theirs[0].load(SeqCst) {}
                    theirs[1].store(true, SeqCst);
                });
                while !flags[1].load(SeqCst) {
                    hint::spin_loop();
                }
                flags[0].store(true, SeqCst);
                other.join().unwrap();
            },
            |failure| check_spinning(failure, &[0, 1]),
        );
    }

    #[test]
    fn of_a_loop_that_yields() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let flag = AtomicBool::new(false);
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
            },
            |failure| check_spinning(failure, &[0]),
        );
    }

    #[test]
    fn of_two_loops_that_yield() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let flag = Arc::new(AtomicBool::new(false));
                let other = Arc::clone(&flag);
                let thread = thread::spawn(move || {
                    while !other.load(SeqCst) {
                        thread::yield_now();
                    }
                });
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
                thread.join().unwrap();
            },
            |failure| check_spinning(failure, &[0, 1]),
        );
    }

    /// A spin lock that is never given back: a failed compare-exchange is a read.
    #[test]
    fn of_a_spin_lock_taken_twice() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let lock = AtomicBool::new(false);
                for _ in 0..2 {
                    while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                        hint::spin_loop();
                    }
                }
            },
            |failure| check_spinning(failure, &[0]),
        );
    }

    /// The flag would have been set by a thread that now waits for the spinning one: both are shown.
    #[test]
    fn of_a_thread_that_spins_for_one_that_waits_for_it() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let flag = Arc::new(AtomicBool::new(false));
                let other = Arc::clone(&flag);
                let spinner = thread::spawn(move || while !other.load(SeqCst) {});
                spinner.join().unwrap();
                flag.store(true, SeqCst);
            },
            |failure| {
                check_spinning(failure, &[1]);
                assert_eq!(wait(failure, 0), Some(("thread 1", Some(1))));
            },
        );
    }

    /// Time passes for who sleeps, so something might change with it: only that it does not end shows that nothing does.
    #[test]
    fn with_sleeps_does_not_end() {
        finds_with(
            &Explorer::new().executions(10).max_steps(2_000),
            &all(),
            Kind::Livelock,
            || {
                let flag = AtomicBool::new(false);
                while !flag.load(SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            },
            |failure| assert!(failure.message.contains("2000"), "{}", failure.message),
        );
    }

    #[test]
    fn is_not_a_million_loads() {
        passes_with(&Explorer::new().executions(3).max_steps(10_000_000), || {
            let value = AtomicU32::new(1);
            let sum: u32 = (0..1_000_000).map(|_| value.load(SeqCst)).sum();
            assert_eq!(sum, 1_000_000);
        });
    }

    #[test]
    fn is_not_a_long_loop_beside_another_thread() {
        passes_with(&Explorer::new().executions(20), || {
            let value = Arc::new(AtomicU32::new(1));
            let other = Arc::clone(&value);
            let thread = thread::spawn(move || (0..2_000).map(|_| other.load(SeqCst)).sum::<u32>());
            let sum: u32 = (0..2_000).map(|_| value.load(SeqCst)).sum();
            assert_eq!((sum, thread.join().unwrap()), (2_000, 2_000));
        });
    }

    /// The counter is in memory that the engine does not watch at first, and it is not on the stack.
    #[test]
    fn is_not_a_loop_that_counts_on_the_heap() {
        passes_with(&Explorer::new().executions(20), || {
            let flag = AtomicBool::new(false);
            let mut rounds = Box::new(0);
            while !flag.load(SeqCst) && *rounds < 5_000 {
                *rounds += 1;
            }
            assert_eq!(*rounds, 5_000);
        });
    }

    #[test]
    fn is_not_a_bounded_spin_before_a_park() {
        passes_with(&Explorer::new().executions(300), || {
            let flag = Arc::new(AtomicBool::new(false));
            let (other, main) = (Arc::clone(&flag), thread::current());
            let setter = thread::spawn(move || {
                other.store(true, SeqCst);
                main.unpark();
            });
            let mut spins = 0;
            while !flag.load(SeqCst) {
                spins += 1;
                if spins > 100 {
                    thread::park();
                }
            }
            setter.join().unwrap();
        });
    }

    #[test]
    fn is_not_a_loop_until_a_time() {
        passes_with(&Explorer::new().executions(20), || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(50) {
                hint::spin_loop();
            }
            assert!(begin.elapsed() < Duration::from_secs(1));
        });
    }

    #[test]
    fn is_not_a_spin_with_a_timeout() {
        passes_with(&Explorer::new().executions(20), || {
            let (begin, flag) = (Instant::now(), AtomicBool::new(false));
            while !flag.load(SeqCst) && begin.elapsed() < Duration::from_secs(1) {
                thread::yield_now();
            }
            assert!(begin.elapsed() >= Duration::from_secs(1));
        });
    }

    #[test]
    fn is_not_a_spin_that_another_thread_ends() {
        passes_with(&Explorer::new().executions(300), || {
            let turn = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&turn);
            let thread = thread::spawn(move || {
                for round in 0..3 {
                    while other.load(SeqCst) != 2 * round + 1 {}
                    other.store(2 * round + 2, SeqCst);
                }
            });
            for round in 0..3 {
                while turn.load(SeqCst) != 2 * round {
                    hint::spin_loop();
                }
                turn.store(2 * round + 1, SeqCst);
            }
            thread.join().unwrap();
            assert_eq!(turn.load(SeqCst), 6);
        });
    }

    /// The flag is set by a thread that sleeps first: whoever spins must not be taken for stuck while the clock can move.
    #[test]
    fn is_not_a_spin_for_a_thread_that_sleeps() {
        passes_with(&Explorer::new().executions(100), || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let thread = thread::spawn(move || {
                thread::sleep(Duration::from_secs(10));
                other.store(true, SeqCst);
            });
            while !flag.load(SeqCst) {
                thread::yield_now();
            }
            thread.join().unwrap();
        });
    }

    /// The same with an exchange that always writes, though nothing changes by it.
    #[test]
    fn of_a_spin_lock_by_swap_taken_twice() {
        finds(
            &all(),
            Kind::Livelock,
            || {
                let lock = AtomicBool::new(false);
                for _ in 0..2 {
                    while lock.swap(true, SeqCst) {
                        hint::spin_loop();
                    }
                }
            },
            |failure| {
                assert!(wait(failure, 0).is_some_and(|(on, _)| on.contains("loop")), "{:?}", failure.threads)
            },
        );
    }

    /// Three threads and a spin lock: whoever holds it must be let go on, however the others wait.
    #[test]
    fn is_not_a_spin_lock_that_is_given_back() {
        #[track_caller]
        fn check(relax: fn()) {
            passes_with(&Explorer::new().executions(500), || {
                let (lock, inside) = (AtomicBool::new(false), AtomicU32::new(0));
                let work = || {
                    while lock.swap(true, SeqCst) {
                        relax();
                    }
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    inside.fetch_sub(1, SeqCst);
                    lock.store(false, SeqCst);
                };
                thread::scope(|scope| {
                    scope.spawn(work);
                    scope.spawn(work);
                    work();
                });
            });
        }
        check(hint::spin_loop);
        check(thread::yield_now);
    }
}
