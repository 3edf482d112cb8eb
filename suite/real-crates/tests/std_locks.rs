//! The blocking types of std.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError};
use std::thread;

use real_crates::{passes, repeats};

#[test]
fn std_mutex_excludes() {
    passes(2000, || {
        let counter = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| *counter.lock().unwrap() += 1);
            }
        });
        assert_eq!(counter.into_inner().unwrap(), 3);
    });
}

#[test]
fn mutex_try_lock_fails_only_while_it_is_held() {
    passes(2000, || {
        let counter = Mutex::new(0);
        let added = thread::scope(|scope| {
            scope.spawn(|| *counter.lock().unwrap() += 1);
            match counter.try_lock() {
                Ok(mut value) => {
                    *value += 1;
                    1
                }
                Err(TryLockError::WouldBlock) => 0,
                Err(TryLockError::Poisoned(_)) => unreachable!("nobody panics"),
            }
        });
        assert_eq!(counter.into_inner().unwrap(), 1 + added);
    });
}

#[test]
fn rw_lock_lets_readers_share_and_writers_exclude() {
    passes(2000, || {
        let pair = RwLock::new((0, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pair = pair.write().unwrap();
                pair.0 += 1;
                pair.1 += 1;
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let pair = pair.read().unwrap();
                    assert_eq!(pair.0, pair.1);
                });
            }
        });
        assert_eq!(*pair.read().unwrap(), (1, 1));
    });
}

#[test]
fn condvar_hands_over_every_item() {
    passes(2000, || {
        let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..2 {
                    queue.lock().unwrap().push(i);
                    filled.notify_one();
                }
            });
            for expected in 0..2 {
                let mut queue = filled.wait_while(queue.lock().unwrap(), |queue| queue.is_empty()).unwrap();
                assert_eq!(queue.remove(0), expected);
            }
        });
    });
}

#[test]
fn condvar_notify_all_wakes_every_waiter() {
    passes(1000, || {
        let (open, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| drop(changed.wait_while(open.lock().unwrap(), |open| !*open).unwrap()));
            }
            *open.lock().unwrap() = true;
            changed.notify_all();
        });
    });
}

#[test]
fn once_runs_once_and_everybody_sees_its_effect() {
    passes(2000, || {
        let (once, runs) = (Once::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    once.call_once(|| _ = runs.fetch_add(1, SeqCst));
                    assert_eq!(runs.load(SeqCst), 1);
                });
            }
        });
    });
}

#[test]
fn once_lock_keeps_the_first_value() {
    passes(2000, || {
        let cell = OnceLock::new();
        let (a, b, c) = thread::scope(|scope| {
            let set = scope.spawn(|| cell.set(1).is_ok());
            let init = scope.spawn(|| *cell.get_or_init(|| 2));
            (set.join().unwrap(), init.join().unwrap(), cell.get().copied())
        });
        let value = *cell.get().unwrap();
        assert_eq!((a, b, c), (value == 1, value, Some(value)));
    });
}

#[test]
fn a_static_lazy_lock_is_new_in_every_execution() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static TABLE: LazyLock<Vec<usize>> = LazyLock::new(|| {
        RUNS.fetch_add(1, SeqCst);
        vec![1, 2, 3]
    });
    passes(2000, || {
        assert_eq!(RUNS.load(SeqCst), 0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(TABLE.iter().sum::<usize>(), 6));
            }
        });
        assert_eq!(RUNS.load(SeqCst), 1);
    });
}

#[test]
fn barrier_has_one_leader_and_lets_nobody_through_early() {
    passes(1000, || {
        let (barrier, arrived) = (Barrier::new(3), AtomicUsize::new(0));
        let leaders: usize = thread::scope(|scope| {
            let threads: [_; 3] = std::array::from_fn(|_| {
                scope.spawn(|| {
                    arrived.fetch_add(1, SeqCst);
                    let leads = barrier.wait().is_leader();
                    assert_eq!(arrived.load(SeqCst), 3);
                    usize::from(leads)
                })
            });
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(leaders, 1);
    });
}

#[test]
fn mutex_failures_repeat() {
    repeats(5000, || {
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for i in 0..3 {
                let order = &order;
                scope.spawn(move || order.lock().unwrap().push(i));
            }
        });
        assert_ne!(*order.lock().unwrap(), [0, 2, 1]);
    });
}

#[test]
fn rw_lock_failures_repeat() {
    repeats(5000, || {
        let value = RwLock::new(0);
        let seen = thread::scope(|scope| {
            scope.spawn(|| *value.write().unwrap() += 1);
            scope.spawn(|| *value.write().unwrap() *= 2);
            *value.read().unwrap()
        });
        assert!(!(seen == 0 && *value.read().unwrap() == 1), "the product came before the sum");
    });
}

#[test]
fn condvar_failures_repeat() {
    repeats(5000, || {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *turn.lock().unwrap() = 1;
                changed.notify_one();
            });
            scope.spawn(|| *turn.lock().unwrap() = 2);
            let turn = changed.wait_while(turn.lock().unwrap(), |turn| *turn == 0).unwrap();
            assert_eq!(*turn, 1);
        });
    });
}

#[test]
fn once_lock_failures_repeat() {
    repeats(5000, || {
        let cell = OnceLock::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.set(1));
            scope.spawn(|| cell.set(2));
        });
        assert_ne!(cell.get(), Some(&2));
    });
}
