//! parking_lot: locks on a global table of waiting threads.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, Once, ReentrantMutex, RwLock, RwLockUpgradableReadGuard};
use real_crates::{passes, repeats};

#[test]
fn parking_lot_mutex_excludes() {
    passes(1500, || {
        let counter = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| *counter.lock() += 1);
            }
        });
        assert_eq!(counter.into_inner(), 3);
    });
}

#[test]
fn mutex_times_out_while_it_is_held() {
    passes(1000, || {
        let mutex = Mutex::new(());
        let guard = mutex.lock();
        let second = Duration::from_secs(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                let begin = Instant::now();
                let got = mutex.try_lock_for(second).is_some();
                assert_eq!(got, begin.elapsed() < second);
            });
            thread::sleep(second / 2);
            drop(guard);
        });
    });
}

#[test]
fn rw_lock_upgrades_without_letting_a_writer_between() {
    passes(1000, || {
        let value = RwLock::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let seen = value.upgradable_read();
                    let before = *seen;
                    *RwLockUpgradableReadGuard::upgrade(seen) = before + 1;
                });
            }
            assert!(*value.read() <= 2);
        });
        assert_eq!(*value.read(), 2);
    });
}

#[test]
fn condvar_hands_over() {
    passes(1500, || {
        let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                queue.lock().push(1);
                filled.notify_one();
            });
            let mut queue = queue.lock();
            filled.wait_while(&mut queue, |queue| queue.is_empty());
            assert_eq!(*queue, [1]);
        });
    });
}

/// parking_lot moves the waiters to the mutex instead of waking them all.
#[test]
fn condvar_notify_all_wakes_every_waiter() {
    passes(1000, || {
        let (open, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| changed.wait_while(&mut open.lock(), |open| !*open));
            }
            let mut open = open.lock();
            *open = true;
            changed.notify_all();
        });
    });
}

#[test]
fn once_runs_once() {
    passes(1500, || {
        let (once, runs) = (Once::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    once.call_once(|| _ = runs.fetch_add(1, SeqCst));
                    assert_eq!(runs.load(SeqCst), 1);
                });
            }
        });
    });
}

#[test]
fn a_reentrant_mutex_knows_its_owner() {
    passes(1500, || {
        let counter = ReentrantMutex::new(std::cell::Cell::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let outer = counter.lock();
                    let inner = counter.lock();
                    inner.set(outer.get() + 1);
                });
            }
        });
        assert_eq!(counter.lock().get(), 2);
    });
}

#[test]
fn parking_lot_failures_repeat() {
    repeats(5000, || {
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for i in 0..3 {
                let order = &order;
                scope.spawn(move || order.lock().push(i));
            }
        });
        assert_ne!(*order.lock(), [0, 2, 1]);
    });
}
