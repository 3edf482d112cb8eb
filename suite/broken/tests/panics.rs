//! Panics: which of them are failures, and whose they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use broken::{all, finds, functions, last, passes, searching};
use raddle::{Failure, Kind};
use raddle_report::failure::{Action, ThreadEnd};

/// The thread panicked with this message, and its last events say so.
#[track_caller]
fn check(failure: &Failure, thread: u32, message: &str) {
    assert!(failure.message.contains(message), "{}", failure.message);
    assert_eq!(failure.threads[thread as usize].end, ThreadEnd::Panicked);
    let panics = failure.trace.events.iter().rev().find(|event| matches!(event.action, Action::Panic { .. }));
    let panics = panics.expect("the panic is an event");
    assert_eq!(panics.thread, thread);
    assert!(matches!(&panics.action, Action::Panic { message: said } if said.contains(message)));
    assert!(matches!(last(failure, thread).action, Action::End), "{:?}", last(failure, thread));
}

mod panic {
    use super::*;

    #[test]
    fn in_the_closure() {
        finds(
            &all(),
            Kind::Panic,
            || panic!("boom"),
            |failure| {
                check(failure, 0, "boom");
                assert_eq!((failure.found_by.execution, failure.threads.len()), (1, 1));
            },
        );
    }

    #[test]
    fn in_a_function_of_the_program() {
        fn divide(by: &AtomicUsize) -> usize {
            7 / by.load(SeqCst)
        }
        finds(
            &searching(),
            Kind::Panic,
            || {
                let by = Arc::new(AtomicUsize::new(1));
                let other = Arc::clone(&by);
                thread::spawn(move || other.store(0, SeqCst));
                divide(&by);
            },
            |failure| {
                check(failure, 0, "divide by zero");
                let mut events = failure.trace.events.iter().rev();
                let read = events.find(|event| matches!(event.action, Action::Load { .. })).unwrap();
                assert!(functions(failure, read.at).iter().any(|function| function.ends_with("divide")));
            },
        );
    }

    /// The thread that joins turns the panic into one of its own.
    #[test]
    fn in_a_joined_thread_whose_result_is_unwrapped() {
        finds(
            &all(),
            Kind::Panic,
            || thread::spawn(|| panic!("inner")).join().unwrap(),
            |failure| {
                check(failure, 0, "Any");
                assert_eq!(failure.threads[1].end, ThreadEnd::Panicked);
            },
        );
    }

    #[test]
    fn in_a_joined_thread_whose_result_is_looked_at() {
        passes(|| {
            let result = thread::spawn(|| panic!("expected")).join();
            assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "expected");
        });
    }

    #[test]
    fn in_a_detached_thread() {
        finds(
            &all(),
            Kind::Panic,
            || drop(thread::spawn(|| panic!("nobody hears this"))),
            |failure| {
                check(failure, 1, "nobody hears this");
                assert_eq!(failure.threads[0].end, ThreadEnd::Finished);
            },
        );
    }

    #[test]
    fn in_a_detached_thread_in_some_schedules_only() {
        finds(
            &searching(),
            Kind::Panic,
            || {
                let flag = Arc::new(AtomicBool::new(false));
                let other = Arc::clone(&flag);
                thread::spawn(move || assert!(other.load(SeqCst), "not yet"));
                flag.store(true, SeqCst);
            },
            |failure| check(failure, 1, "not yet"),
        );
    }

    /// The scope itself panics when a thread of its own did that nobody joined.
    #[test]
    fn in_a_scoped_thread() {
        finds(
            &all(),
            Kind::Panic,
            || thread::scope(|scope| _ = scope.spawn(|| panic!("inside"))),
            |failure| {
                // The message is that of the thread, not that of the scope.
                assert!(failure.message.starts_with("inside\n"), "{}", failure.message);
                assert_eq!(failure.threads[0].end, ThreadEnd::Panicked);
                assert_eq!(failure.threads[1].end, ThreadEnd::Panicked);
            },
        );
    }

    #[test]
    fn in_a_destructor_of_a_thread_local() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in a destructor");
            }
        }
        thread_local!(static BOMB: Bomb = const { Bomb });
        // std aborts when a destructor of a thread-local panics.
        finds(
            &all(),
            Kind::Crash,
            || thread::spawn(|| BOMB.with(|_| ())).join().unwrap(),
            |failure| assert!(failure.message.contains("abort"), "{}", failure.message),
        );
    }

    #[test]
    fn caught() {
        passes(|| {
            let result = catch_unwind(|| panic!("caught"));
            assert!(result.is_err());
            let other = thread::spawn(|| catch_unwind(|| panic!("caught too")).is_err());
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn caught_and_raised_again() {
        finds(
            &all(),
            Kind::Panic,
            || {
                let Err(payload) = catch_unwind(|| panic!("twice"));
                std::panic::resume_unwind(payload);
            },
            |failure| {
                assert!(failure.message.contains("twice"), "{}", failure.message);
                assert_eq!(failure.threads[0].end, ThreadEnd::Panicked);
            },
        );
    }

    #[test]
    fn that_poisons_a_mutex_whose_users_can_cope() {
        passes(|| {
            let counter = Mutex::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let mut counter = counter.lock().unwrap();
                *counter += 1;
                panic!("poisons");
            }));
            assert!(result.is_err() && counter.is_poisoned());
            assert_eq!(*counter.lock().unwrap_or_else(PoisonError::into_inner), 1);
            counter.clear_poison();
            thread::scope(|scope| _ = scope.spawn(|| *counter.lock().unwrap() += 1));
            assert_eq!(counter.into_inner().unwrap(), 2);
        });
    }

    #[test]
    fn that_poisons_a_mutex_whose_users_cannot_cope() {
        finds(
            &searching(),
            Kind::Panic,
            || {
                let counter = Arc::new(Mutex::new(0));
                let other = Arc::clone(&counter);
                let thread = thread::spawn(move || {
                    let _guard = other.lock().unwrap();
                    panic!("first");
                });
                drop(counter.lock().unwrap());
                _ = thread.join();
            },
            |failure| {
                check(failure, 0, "PoisonError");
                assert_eq!(failure.threads[1].end, ThreadEnd::Panicked);
            },
        );
    }
}
