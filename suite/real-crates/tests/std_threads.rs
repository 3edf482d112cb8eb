//! Threads of std: park, scopes, names, thread-locals, many of them; time; hash maps.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use raddle::{Explorer, Strategy};
use real_crates::{passes, repeats};

#[test]
fn park_consumes_one_token() {
    passes(2000, || {
        // A token that was given before makes the next park return at once, and only that one.
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        let begin = Instant::now();
        thread::park_timeout(Duration::from_millis(5));
        assert_eq!(begin.elapsed(), Duration::from_millis(5));
        let ready = AtomicBool::new(false);
        // A scope parks as well, so this comes last.
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while !ready.load(SeqCst) {
                    thread::park();
                }
            });
            ready.store(true, SeqCst);
            waiter.thread().unpark();
            waiter.thread().unpark();
        });
    });
}

#[test]
fn scoped_threads_borrow_and_return() {
    passes(2000, || {
        let mut numbers = [1, 2, 3, 4];
        let (left, right) = numbers.split_at_mut(2);
        let sum: i32 = thread::scope(|scope| {
            let left = scope.spawn(|| left.iter_mut().map(|n| (*n, *n *= 2).0).sum::<i32>());
            let right = scope.spawn(|| right.iter_mut().map(|n| (*n, *n *= 2).0).sum::<i32>());
            left.join().unwrap() + right.join().unwrap()
        });
        assert_eq!((sum, numbers), (10, [2, 4, 6, 8]));
    });
}

#[test]
fn threads_spawn_threads() {
    passes(1000, || {
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    total.fetch_add(1, SeqCst);
                    scope.spawn(|| thread::spawn(|| 10).join().map(|n| total.fetch_add(n, SeqCst)).unwrap());
                });
            }
        });
        assert_eq!(total.load(SeqCst), 22);
    });
}

#[test]
fn a_hundred_threads_run_in_one_execution() {
    passes(20, || {
        let counter = Mutex::new(0);
        let mut results: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..100)
                .map(|i| {
                    let counter = &counter;
                    scope.spawn(move || {
                        *counter.lock().unwrap() += 1;
                        i
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        results.sort_unstable();
        assert!(results.into_iter().eq(0..100));
        assert_eq!(*counter.lock().unwrap(), 100);
    });
}

#[test]
fn names_and_identities_belong_to_the_thread() {
    passes(1000, || {
        let main = thread::current().id();
        let named = thread::Builder::new()
            .name("worker".into())
            .spawn(|| (thread::current().name().map(str::to_owned), thread::current().id()))
            .unwrap();
        let unnamed = thread::spawn(|| (thread::current().name().map(str::to_owned), thread::current().id()));
        let id = named.thread().id();
        let named = named.join().unwrap();
        let unnamed = unnamed.join().unwrap();
        assert_eq!(named, (Some("worker".into()), id));
        assert_eq!(unnamed.0, None);
        assert!(main != id && unnamed.1 != id && unnamed.1 != main);
        assert_eq!(thread::current().id(), main);
    });
}

#[test]
fn thread_locals_are_each_threads_own_and_dropped_at_its_end() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted(Cell<usize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0.get(), SeqCst);
        }
    }
    thread_local! {
        static WITH_DROP: Counted = const { Counted(Cell::new(1)) };
        static LAZY: RefCell<Vec<usize>> = RefCell::new(vec![7]);
        static PLAIN: Cell<usize> = const { Cell::new(3) };
    }
    passes(1500, || {
        assert_eq!((DROPPED.load(SeqCst), PLAIN.get()), (0, 3));
        assert_eq!(LAZY.with_borrow(|lazy| lazy.clone()), [7]);
        PLAIN.set(99);
        LAZY.with_borrow_mut(|lazy| lazy.push(8));
        let threads = [10, 100].map(|value| {
            thread::spawn(move || {
                assert_eq!(PLAIN.replace(value), 3);
                WITH_DROP.with(|counted| counted.0.set(value));
                LAZY.with_borrow_mut(|lazy| {
                    lazy.push(value);
                    assert_eq!(*lazy, [7, value]);
                });
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((DROPPED.load(SeqCst), PLAIN.get()), (110, 99));
    });
}

/// The clock stands still while anybody can run and jumps when all wait: sleeps cost nothing and order what follows.
#[test]
fn sleeping_threads_wake_in_the_order_of_their_deadlines() {
    passes(500, || {
        let begin = Instant::now();
        let wall = SystemTime::now();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for days in [3, 1, 2] {
                let order = &order;
                scope.spawn(move || {
                    thread::sleep(Duration::from_secs(days * 86_400));
                    order.lock().unwrap().push(days);
                });
            }
        });
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
        assert_eq!(begin.elapsed(), Duration::from_secs(3 * 86_400));
        assert_eq!(wall.elapsed().unwrap(), Duration::from_secs(3 * 86_400));
    });
}

#[test]
fn a_condvar_times_out_only_if_nobody_comes() {
    passes(1000, || {
        let (flag, changed) = (Mutex::new(false), Condvar::new());
        let second = Duration::from_secs(1);
        let begin = Instant::now();
        let (guard, waited) =
            changed.wait_timeout_while(flag.lock().unwrap(), second, |flag| !*flag).unwrap();
        assert!(waited.timed_out() && !*guard);
        drop(guard);
        let waited = begin.elapsed();
        assert!(waited >= second && waited < second * 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                *flag.lock().unwrap() = true;
                changed.notify_one();
            });
            let (guard, waited) =
                changed.wait_timeout_while(flag.lock().unwrap(), second, |flag| !*flag).unwrap();
            assert!(!waited.timed_out() && *guard);
        });
        assert_eq!(begin.elapsed(), waited);
    });
}

/// Two timers and a race: both outcomes of an equal deadline exist, but never an early one.
#[test]
fn equal_deadlines_come_in_any_order() {
    let report = Explorer::new().strategy(Strategy::Bounded(usize::MAX)).run(|| {
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for (name, ms) in [("a", 10), ("b", 10), ("late", 11)] {
                let order = &order;
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(ms));
                    order.lock().unwrap().push(name);
                });
            }
        });
        order.into_inner().unwrap()
    });
    let outcomes: Vec<Vec<&str>> = report.outcomes.into_keys().collect();
    assert_eq!(outcomes, [["a", "b", "late"], ["b", "a", "late"]]);
}

/// Hash maps are seeded by random bytes: these are the same in every execution, so iteration order is too.
#[test]
fn hash_maps_iterate_in_the_same_order_in_every_execution() {
    let report = Explorer::new().strategy(Strategy::Random).executions(1000).run(|| {
        thread::spawn(|| {
            let map: HashMap<u32, ()> = (0..20).map(|key| (key, ())).collect();
            map.into_keys().collect::<Vec<_>>()
        })
        .join()
        .unwrap()
    });
    assert_eq!(report.outcomes.len(), 1);
    let order = report.outcomes.into_keys().next().unwrap();
    assert!(!order.is_sorted(), "the map is not seeded at all: {order:?}");
}

#[test]
fn park_failures_repeat() {
    repeats(5000, || {
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                thread::park();
                order.lock().unwrap().push("parked");
            });
            waiter.thread().unpark();
            order.lock().unwrap().push("unparked");
        });
        assert_ne!(*order.lock().unwrap(), ["parked", "unparked"]);
    });
}

#[test]
fn thread_local_failures_repeat() {
    thread_local!(static OWN: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) });
    static ALL: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    repeats(5000, || {
        thread::scope(|scope| {
            for i in 0..2 {
                scope.spawn(move || {
                    OWN.with_borrow_mut(|own| own.push(i));
                    ALL.lock().unwrap().append(&mut OWN.take());
                });
            }
        });
        assert_ne!(*ALL.lock().unwrap(), [1, 0]);
    });
}

#[test]
fn sleep_failures_repeat() {
    repeats(5000, || {
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for i in 0..2 {
                let order = &order;
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(1));
                    order.lock().unwrap().push(i);
                });
            }
        });
        assert_ne!(*order.lock().unwrap(), [1, 0]);
    });
}
