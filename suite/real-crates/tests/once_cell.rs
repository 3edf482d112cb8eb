//! once_cell: initialisation on std's parking and on plain spinning.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use once_cell::race::OnceBox;
use once_cell::sync::{Lazy, OnceCell};
use real_crates::{passes, repeats};

#[test]
fn a_cell_is_initialised_once() {
    passes(2000, || {
        let (cell, runs) = (OnceCell::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for i in 0..3 {
                let (cell, runs) = (&cell, &runs);
                scope.spawn(move || {
                    cell.get_or_init(|| {
                        runs.fetch_add(1, SeqCst);
                        i
                    });
                });
            }
        });
        assert_eq!(runs.load(SeqCst), 1);
        assert!(*cell.get().unwrap() < 3);
    });
}

#[test]
fn wait_blocks_until_it_is_set() {
    passes(2000, || {
        let cell = OnceCell::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.set(7).unwrap());
            assert_eq!(*cell.wait(), 7);
        });
    });
}

#[test]
fn an_initialiser_that_fails_lets_another_try() {
    passes(2000, || {
        let cell = OnceCell::new();
        thread::scope(|scope| {
            let failing = scope.spawn(|| cell.get_or_try_init(|| Err(())).copied());
            let good = scope.spawn(|| *cell.get_or_init(|| 1));
            assert!(matches!(failing.join().unwrap(), Ok(1) | Err(())));
            assert_eq!(good.join().unwrap(), 1);
        });
    });
}

#[test]
fn a_static_lazy_is_new_in_every_execution() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static NAMES: Lazy<Vec<String>> = Lazy::new(|| {
        RUNS.fetch_add(1, SeqCst);
        vec!["a".to_owned()]
    });
    passes(2000, || {
        assert_eq!(RUNS.load(SeqCst), 0);
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(NAMES.len(), 1));
            assert_eq!(NAMES[0], "a");
        });
        assert_eq!(RUNS.load(SeqCst), 1);
    });
}

#[test]
fn racing_boxes_agree_on_one() {
    passes(2000, || {
        let cell = OnceBox::new();
        let seen = thread::scope(|scope| {
            let threads = [1, 2].map(|i| {
                let cell = &cell;
                scope.spawn(move || *cell.get_or_init(|| Box::new(i)))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(seen[0], seen[1]);
    });
}

#[test]
fn once_cell_failures_repeat() {
    repeats(5000, || {
        let cell = OnceCell::new();
        thread::scope(|scope| {
            scope.spawn(|| cell.set(1));
            scope.spawn(|| cell.set(2));
        });
        assert_ne!(cell.get(), Some(&2));
    });
}
