//! crossbeam-utils: cells, wait groups, sharded locks, parkers, back-off.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use crossbeam_utils::Backoff;
use crossbeam_utils::atomic::AtomicCell;
use crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
use real_crates::{passes, repeats};

/// Small enough for a native atomic: each operation is one event.
#[test]
fn a_small_atomic_cell_loses_no_update() {
    passes(2000, || {
        let cell = AtomicCell::new(0u64);
        thread::scope(|scope| {
            scope.spawn(|| cell.fetch_add(1));
            scope.spawn(|| cell.fetch_update(|value| Some(value + 10)));
        });
        assert_eq!(cell.load(), 11);
    });
}

/// Too large for any native atomic: guarded by one of the crate's static sequence locks.
#[test]
fn a_large_atomic_cell_is_never_seen_half_written() {
    passes(1500, || {
        let cell = AtomicCell::new([0usize; 4]);
        thread::scope(|scope| {
            scope.spawn(|| cell.store([1; 4]));
            scope.spawn(|| cell.store([2; 4]));
            let seen = cell.load();
            assert!(seen.iter().all(|part| *part == seen[0]), "{seen:?}");
        });
        assert_ne!(cell.load(), [0; 4]);
    });
}

#[test]
fn a_wait_group_waits_for_everybody() {
    passes(1500, || {
        let (group, done) = (WaitGroup::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                let (group, done) = (group.clone(), &done);
                scope.spawn(move || {
                    done.fetch_add(1, SeqCst);
                    drop(group);
                });
            }
            group.wait();
            assert_eq!(done.load(SeqCst), 2);
        });
    });
}

#[test]
fn a_sharded_lock_excludes_writers() {
    passes(500, || {
        let pair = ShardedLock::new((0, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pair = pair.write().unwrap();
                pair.0 = 1;
                pair.1 = 1;
            });
            let pair = pair.read().unwrap();
            assert_eq!(pair.0, pair.1);
        });
    });
}

#[test]
fn a_parker_keeps_its_token() {
    passes(2000, || {
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let set = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                set.store(true, SeqCst);
                unparker.unpark();
            });
            parker.park();
            assert!(set.load(SeqCst));
        });
    });
}

/// A spin loop with back-off and yields ends in every schedule, because whoever spins gives way to who can end it.
#[test]
fn a_back_off_loop_ends() {
    passes(1000, || {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, SeqCst));
            let backoff = Backoff::new();
            while !flag.load(SeqCst) {
                backoff.snooze();
            }
        });
    });
}

#[test]
fn scoped_threads_return() {
    passes(1000, || {
        let sum = crossbeam_utils::thread::scope(|scope| {
            let threads = [1, 2].map(|i| scope.spawn(move |_| i));
            threads.map(|thread| thread.join().unwrap()).iter().sum::<i32>()
        });
        assert_eq!(sum.unwrap(), 3);
    });
}

#[test]
fn crossbeam_utils_failures_repeat() {
    repeats(5000, || {
        let cell = AtomicCell::new([0usize; 4]);
        thread::scope(|scope| {
            scope.spawn(|| cell.store([1; 4]));
            scope.spawn(|| cell.store([2; 4]));
        });
        assert_ne!(cell.load(), [1; 4]);
    });
}
