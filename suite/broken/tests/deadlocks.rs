//! Deadlocks: who waits, for what, and who holds it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;

use broken::{all, finds, last, searching, wait, waits_in};
use raddle::{Failure, Kind};
use raddle_report::failure::{Action, ThreadEnd};

/// The thread waits for such a thing; its holder is the given one.
#[track_caller]
fn check(failure: &Failure, thread: usize, on: &str, held_by: Option<u32>) {
    let Some((what, holder)) = wait(failure, thread) else {
        panic!("thread {thread} does not wait: {:?}", failure.threads[thread].end)
    };
    assert!(what.contains(on), "thread {thread} waits for {what}");
    assert_eq!(holder, held_by, "holder of what thread {thread} waits for ({what})");
}

/// The last thing the thread did was to begin to wait.
#[track_caller]
fn ends_waiting(failure: &Failure, thread: u32) {
    let action = &last(failure, thread).action;
    assert!(matches!(action, Action::Wait { blocks: true, .. }), "thread {thread}: {action:?}");
}

mod deadlock {
    use super::*;

    #[test]
    fn of_two_mutexes_in_opposite_order() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
                let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
                let one = thread::spawn(move || {
                    let _a = a.lock().unwrap();
                    let _b = b.lock().unwrap();
                });
                let two = thread::spawn(move || {
                    let _b = b2.lock().unwrap();
                    let _a = a2.lock().unwrap();
                });
                one.join().unwrap();
                two.join().unwrap();
            },
            |failure| {
                check(failure, 0, "thread 1", Some(1));
                check(failure, 1, "mutex", Some(2));
                check(failure, 2, "mutex", Some(1));
                ends_waiting(failure, 1);
                ends_waiting(failure, 2);
            },
        );
    }

    #[test]
    fn of_three_philosophers() {
        finds(
            &searching(),
            Kind::Deadlock,
            || {
                let forks: [Arc<Mutex<()>>; 3] = Default::default();
                let philosophers: Vec<_> = (0..3)
                    .map(|i| {
                        let (left, right) = (Arc::clone(&forks[i]), Arc::clone(&forks[(i + 1) % 3]));
                        thread::spawn(move || {
                            let _left = left.lock().unwrap();
                            let _right = right.lock().unwrap();
                        })
                    })
                    .collect();
                for philosopher in philosophers {
                    philosopher.join().unwrap();
                }
            },
            |failure| {
                check(failure, 1, "mutex", Some(2));
                check(failure, 2, "mutex", Some(3));
                check(failure, 3, "mutex", Some(1));
            },
        );
    }

    #[test]
    fn of_two_parking_lot_mutexes_in_opposite_order() {
        use parking_lot::Mutex;
        finds(
            &searching(),
            Kind::Deadlock,
            || {
                let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
                let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
                let one = thread::spawn(move || {
                    let _a = a.lock();
                    let _b = b.lock();
                });
                let second = b2.lock();
                let first = a2.lock();
                drop((first, second));
                one.join().unwrap();
            },
            |failure| {
                // parking_lot's threads wait at addresses of their own, so nobody can tell from the futex who holds the lock.
                for thread in 0..2 {
                    let (on, _) = wait(failure, thread).expect("both wait");
                    assert!(on.contains("mutex"), "thread {thread} waits for {on}");
                }
            },
        );
    }

    #[test]
    fn of_a_mutex_with_itself() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let mutex = Mutex::new(());
                let _first = mutex.lock().unwrap();
                let _second = mutex.lock().unwrap();
            },
            |failure| {
                check(failure, 0, "mutex", Some(0));
                ends_waiting(failure, 0);
                assert_eq!(failure.message, "a thread waits for ever");
            },
        );
    }

    /// Two readers who both want to write: each waits for the other to stop reading.
    #[test]
    fn of_two_readers_that_want_to_write() {
        finds(
            &searching(),
            Kind::Deadlock,
            || {
                let lock = Arc::new(RwLock::new(0));
                let threads: [_; 2] = std::array::from_fn(|_| {
                    let lock = Arc::clone(&lock);
                    thread::spawn(move || {
                        let seen = lock.read().unwrap();
                        // The mistake: the read guard is still alive.
                        *lock.write().unwrap() = *seen + 1;
                    })
                });
                for thread in threads {
                    thread.join().unwrap();
                }
            },
            |failure| {
                let waiting = (1..3).filter(|&thread| {
                    wait(failure, thread).is_some_and(|(on, _)| on.contains("read-write lock"))
                });
                assert!(waiting.count() >= 1, "{:?}", failure.threads);
            },
        );
    }

    /// The flag is checked outside the mutex: the notification may come between the check and the wait.
    #[test]
    fn of_a_condition_that_was_notified_too_early() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let shared = Arc::new((Mutex::new(false), Condvar::new()));
                let other = Arc::clone(&shared);
                let notifier = thread::spawn(move || {
                    *other.0.lock().unwrap() = true;
                    other.1.notify_one();
                });
                let (flag, changed) = &*shared;
                let set = *flag.lock().unwrap();
                if !set {
                    drop(changed.wait(flag.lock().unwrap()).unwrap());
                }
                notifier.join().unwrap();
            },
            |failure| {
                check(failure, 0, "condition", None);
                ends_waiting(failure, 0);
                assert_eq!(failure.threads[1].end, ThreadEnd::Finished);
            },
        );
    }

    /// The flag is atomic and set without the mutex: the wake-up can come between the waiter's look at the flag and its wait. The
    /// wait is std's own compiled code, which has no event between the two.
    #[test]
    fn of_a_condition_that_was_notified_without_its_mutex() {
        finds(
            &searching(),
            Kind::Deadlock,
            || {
                let shared = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
                let other = Arc::clone(&shared);
                let notifier = thread::spawn(move || {
                    other.0.store(true, SeqCst);
                    other.2.notify_one();
                });
                let (flag, mutex, changed) = &*shared;
                let mut guard = mutex.lock().unwrap();
                while !flag.load(SeqCst) {
                    guard = changed.wait(guard).unwrap();
                }
                drop(guard);
                notifier.join().unwrap();
            },
            |failure| check(failure, 0, "condition", None),
        );
    }

    /// The token of park is one, whoever gives it: the second unpark before the first park is lost.
    #[test]
    fn of_a_park_whose_unpark_was_lost() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let main = thread::current();
                let other = thread::spawn(move || {
                    main.unpark();
                    main.unpark();
                });
                thread::park();
                thread::park();
                other.join().unwrap();
            },
            |failure| {
                check(failure, 0, "unpark", None);
                ends_waiting(failure, 0);
                assert_eq!(failure.threads[1].end, ThreadEnd::Finished);
            },
        );
    }

    /// The receiver keeps a sender alive itself, so the channel never ends.
    #[test]
    fn of_a_receiver_that_nobody_sends_to() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let (sender, receiver) = mpsc::channel();
                let other = sender.clone();
                let producer = thread::spawn(move || other.send(1).unwrap());
                assert_eq!(receiver.iter().count(), 1);
                producer.join().unwrap();
                drop(sender);
            },
            |failure| {
                check(failure, 0, "channel", None);
                ends_waiting(failure, 0);
                assert_eq!(failure.threads[1].end, ThreadEnd::Finished);
            },
        );
    }

    #[test]
    fn of_threads_that_join_each_other() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let (give, take) = mpsc::channel::<thread::JoinHandle<()>>();
                let one = thread::spawn(move || take.recv().unwrap().join().unwrap());
                let two = thread::spawn(move || one.join().unwrap());
                give.send(two).unwrap();
                thread::park();
            },
            |failure| {
                check(failure, 1, "thread 2", Some(2));
                check(failure, 2, "thread 1", Some(1));
            },
        );
    }

    #[test]
    fn of_a_barrier_with_too_few_threads() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let barrier = Arc::new(Barrier::new(3));
                let other = Arc::clone(&barrier);
                let thread = thread::spawn(move || _ = other.wait());
                barrier.wait();
                thread.join().unwrap();
            },
            |failure| {
                for thread in 0..2 {
                    assert!(wait(failure, thread).is_some(), "{:?}", failure.threads);
                }
            },
        );
    }

    #[test]
    fn of_an_initialisation_that_needs_itself() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let once = Once::new();
                once.call_once(|| once.call_once(|| ()));
            },
            |failure| {
                let (on, _) = wait(failure, 0).expect("it waits for itself");
                assert!(on.contains("initialisation"), "{on}");
            },
        );
    }

    #[test]
    fn of_a_rendezvous_that_nobody_comes_to() {
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let (sender, receiver) = mpsc::sync_channel(0);
                sender.send(1).unwrap();
                drop(receiver);
            },
            |failure| check(failure, 0, "channel", None),
        );
    }

    /// Each thread waits somewhere, and that place (not the one of its last event) is what is shown.
    #[test]
    fn says_where_each_thread_waits() {
        fn takes_the_second(mutex: &Mutex<()>) {
            drop(mutex.lock());
        }
        fn joins(thread: thread::JoinHandle<()>) {
            thread.join().unwrap();
        }
        finds(
            &all(),
            Kind::Deadlock,
            || {
                let mutex = Arc::new(Mutex::new(()));
                let guard = mutex.lock();
                let other = Arc::clone(&mutex);
                joins(thread::spawn(move || {
                    let reads = AtomicU32::new(0);
                    reads.load(SeqCst);
                    takes_the_second(&other);
                }));
                drop(guard);
            },
            |failure| {
                check(failure, 0, "thread 1", Some(1));
                check(failure, 1, "mutex", Some(0));
                for (thread, function) in [(0, "joins"), (1, "takes_the_second")] {
                    let functions = waits_in(failure, thread);
                    assert!(functions.iter().any(|name| name.ends_with(function)), "{thread}: {functions:?}");
                }
            },
        );
    }
}
