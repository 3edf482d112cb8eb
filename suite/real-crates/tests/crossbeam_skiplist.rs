//! crossbeam-skiplist: an ordered map on crossbeam-epoch.

use std::thread;

use crossbeam_skiplist::{SkipMap, SkipSet};
use real_crates::{passes, repeats};

#[test]
fn a_map_stays_sorted_and_loses_nothing() {
    passes(500, || {
        let map = SkipMap::new();
        thread::scope(|scope| {
            for key in [3, 1] {
                let map = &map;
                scope.spawn(move || _ = map.insert(key, key * 10));
            }
            map.insert(2, 20);
        });
        let entries: Vec<(i32, i32)> = map.iter().map(|entry| (*entry.key(), *entry.value())).collect();
        assert_eq!(entries, [(1, 10), (2, 20), (3, 30)]);
    });
}

/// `Entry::remove` says who removed it. (`SkipSet::remove` does not in 0.1.3: see below.)
#[test]
fn one_of_two_removers_wins() {
    passes(500, || {
        let set = SkipSet::from_iter([1, 2, 3]);
        let removed: usize = thread::scope(|scope| {
            let removers: [_; 2] =
                std::array::from_fn(|_| scope.spawn(|| set.get(&2).is_some_and(|entry| entry.remove())));
            removers.into_iter().map(|remover| usize::from(remover.join().unwrap())).sum()
        });
        assert_eq!(removed, 1);
        assert!(set.iter().map(|entry| *entry).eq([1, 3]));
    });
}

#[test]
fn get_or_insert_agrees_on_one_value() {
    passes(500, || {
        let map = SkipMap::new();
        let seen = thread::scope(|scope| {
            let threads = [1, 2].map(|value| {
                let map = &map;
                scope.spawn(move || *map.get_or_insert(0, value).value())
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(seen, [*map.get(&0).unwrap().value(); 2]);
    });
}

/// Not made up: in 0.1.3, `remove` returns the entry to both of two threads that remove it at the same time.
#[test]
fn crossbeam_skiplist_failures_repeat() {
    repeats(5000, || {
        let set = SkipSet::from_iter([1]);
        let both = thread::scope(|scope| {
            let other = scope.spawn(|| set.remove(&1).is_some());
            set.remove(&1).is_some() && other.join().unwrap()
        });
        assert!(!both, "the same entry was removed twice");
    });
}
