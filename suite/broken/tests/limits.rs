//! Executions that do not end: leaks, too many steps, too much time.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use broken::{all, finds, finds_with, last, passes, passes_with, wait};
use raddle::{Explorer, Kind};
use raddle_report::failure::{Action, ThreadEnd};

fn leaves_a_thread_that_waits() {
    thread::spawn(thread::park);
}

#[test]
fn a_thread_that_waits_for_ever_is_left_behind() {
    finds(&all(), Kind::ThreadLeak, leaves_a_thread_that_waits, |failure| {
        assert_eq!(failure.threads[0].end, ThreadEnd::Finished);
        let (on, _) = wait(failure, 1).expect("it waits");
        assert!(on.contains("unpark"), "{on}");
        assert!(matches!(last(failure, 1).action, Action::Wait { blocks: true, .. }));
    });
}

#[test]
fn a_thread_that_waits_for_ever_may_be_left_behind_if_told_so() {
    passes_with(&Explorer::new().executions(300).allow_leaked_threads(true), leaves_a_thread_that_waits);
}

#[test]
fn a_pool_that_nobody_stops_is_left_behind() {
    finds(
        &all(),
        Kind::ThreadLeak,
        || {
            let (give, take) = mpsc::channel::<()>();
            let take = Arc::new(Mutex::new(take));
            for _ in 0..2 {
                let take = Arc::clone(&take);
                thread::spawn(move || while take.lock().unwrap().recv().is_ok() {});
            }
            give.send(()).unwrap();
            // The mistake: the sender lives on.
            std::mem::forget(give);
        },
        |failure| {
            assert_eq!(failure.threads.len(), 3);
            assert!((1..3).all(|thread| wait(failure, thread).is_some()), "{:?}", failure.threads);
        },
    );
}

/// Detached threads that come to their end by themselves are waited for, not reported.
#[test]
fn a_detached_thread_that_ends_is_no_leak() {
    passes(|| {
        let counter = Arc::new(AtomicU32::new(0));
        for _ in 0..2 {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(1));
                counter.fetch_add(1, SeqCst);
            });
        }
    });
}

/// Two threads pass a ball for ever: each step changes something, but the execution does not end, however fair.
#[test]
fn an_endless_game_is_a_livelock() {
    finds_with(
        &Explorer::new().executions(10).max_steps(1_000),
        &all(),
        Kind::Livelock,
        || {
            let ball = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&ball);
            let player = thread::spawn(move || {
                loop {
                    _ = other.compare_exchange(0, 1, SeqCst, SeqCst);
                }
            });
            while !player.is_finished() {
                _ = ball.compare_exchange(1, 0, SeqCst, SeqCst);
            }
        },
        |failure| {
            assert!(failure.message.contains("1000"), "{}", failure.message);
            let tail = failure.trace.events.iter().rev().take(4);
            assert!(
                tail.clone().all(|event| matches!(event.action, Action::Cas { .. } | Action::Load { .. }))
            );
            assert!(failure.threads.iter().all(|thread| thread.end != ThreadEnd::Finished));
        },
    );
}

#[test]
fn an_endless_handshake_is_a_livelock() {
    finds_with(
        &Explorer::new().executions(10).max_steps(1_000),
        &all(),
        Kind::Livelock,
        || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&shared);
            let play = |own: bool, (turn, changed): &(Mutex<bool>, Condvar)| {
                loop {
                    *changed.wait_while(turn.lock().unwrap(), |turn| *turn != own).unwrap() = !own;
                    changed.notify_one();
                }
            };
            thread::spawn(move || play(true, &other));
            play(false, &shared);
        },
        |failure| assert_eq!(failure.threads.len(), 2),
    );
}

/// Nothing that Raddle controls happens in the loop: only the clock on the wall can tell.
#[test]
fn an_endless_loop_without_events_takes_too_long() {
    finds_with(
        &Explorer::new().executions(10).time_limit(Duration::from_millis(300)),
        &all()[..2],
        Kind::TimeLimit,
        || {
            let mut rounds = 0u64;
            loop {
                rounds = std::hint::black_box(rounds + 1);
            }
        },
        |failure| assert_eq!((failure.found_by.execution, failure.threads.len()), (1, 1)),
    );
}

#[test]
fn an_endless_loop_in_another_thread_takes_too_long() {
    finds_with(
        &Explorer::new().executions(10).time_limit(Duration::from_millis(300)),
        &all()[..2],
        Kind::TimeLimit,
        || {
            thread::spawn(|| {
                loop {
                    std::hint::black_box(());
                }
            })
            .join()
            .unwrap()
        },
        |failure| assert_eq!(failure.threads[1].end, ThreadEnd::Runnable),
    );
}
