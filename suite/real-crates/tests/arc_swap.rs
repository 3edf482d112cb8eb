//! arc-swap: pointers that readers take without locks, with debts in thread-local slots.

use std::sync::Arc;
use std::thread;

use arc_swap::{ArcSwap, Cache};
use real_crates::{passes, repeats};

#[test]
fn readers_see_whole_values_and_nothing_leaks() {
    passes(1000, || {
        let first = Arc::new((0, 0));
        let weak = Arc::downgrade(&first);
        let shared = ArcSwap::new(first);
        thread::scope(|scope| {
            scope.spawn(|| shared.store(Arc::new((1, 1))));
            for _ in 0..2 {
                scope.spawn(|| {
                    let value = shared.load();
                    assert_eq!(value.0, value.1);
                });
            }
        });
        assert!(weak.upgrade().is_none(), "the old value was dropped");
        drop(shared);
    });
}

#[test]
fn rcu_loses_no_update() {
    passes(1000, || {
        let counter = ArcSwap::from_pointee(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| counter.rcu(|value| **value + 1));
            }
        });
        assert_eq!(**counter.load(), 2);
    });
}

#[test]
fn a_full_load_keeps_the_value_alive() {
    passes(1000, || {
        let shared = ArcSwap::from_pointee(1);
        thread::scope(|scope| {
            let reader = scope.spawn(|| shared.load_full());
            scope.spawn(|| shared.swap(Arc::new(2)));
            let kept = reader.join().unwrap();
            assert!(*kept == 1 || *kept == 2);
        });
    });
}

#[test]
fn a_cache_notices_the_change() {
    passes(1000, || {
        let shared = ArcSwap::from_pointee(1);
        thread::scope(|scope| {
            let mut cache = Cache::new(&shared);
            let before = **cache.load();
            scope.spawn(|| shared.store(Arc::new(2))).join().unwrap();
            assert_eq!((before, **cache.load()), (1, 2));
        });
    });
}

#[test]
fn arc_swap_failures_repeat() {
    repeats(5000, || {
        let shared = ArcSwap::from_pointee(0);
        thread::scope(|scope| {
            scope.spawn(|| shared.store(Arc::new(1)));
            scope.spawn(|| shared.store(Arc::new(2)));
        });
        assert_ne!(**shared.load(), 1);
    });
}
