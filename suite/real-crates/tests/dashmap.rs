//! dashmap: a sharded hash map.

use std::thread;

use dashmap::{DashMap, DashSet};
use real_crates::{passes, repeats};

#[test]
fn entries_are_updated_in_place() {
    passes(1000, || {
        let map: DashMap<&str, i32> = DashMap::with_shard_amount(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| *map.entry("key").or_insert(0) += 1);
            }
        });
        assert_eq!(map.get("key").map(|value| *value), Some(2));
    });
}

#[test]
fn one_of_two_inserters_and_one_of_two_removers_wins() {
    passes(1000, || {
        let set = DashSet::new();
        let (inserted, removed) = thread::scope(|scope| {
            let inserters: [_; 2] = std::array::from_fn(|_| scope.spawn(|| set.insert(1)));
            let inserted = inserters.map(|inserter| inserter.join().unwrap());
            let removers: [_; 2] = std::array::from_fn(|_| scope.spawn(|| set.remove(&1).is_some()));
            (inserted, removers.map(|remover| remover.join().unwrap()))
        });
        assert!(inserted[0] != inserted[1] && removed[0] != removed[1]);
    });
}

#[test]
fn iteration_sees_what_is_there() {
    passes(300, || {
        let map: DashMap<i32, i32> = (0..4).map(|key| (key, key)).collect();
        thread::scope(|scope| {
            scope.spawn(|| map.remove(&0));
            scope.spawn(|| map.alter_all(|_, value| value + 10));
            let sum: i32 = map.iter().map(|entry| *entry.value()).sum();
            assert!((6..=46).contains(&sum), "{sum}");
        });
        assert_eq!(map.len(), 3);
    });
}

#[test]
fn dashmap_failures_repeat() {
    repeats(5000, || {
        let map: DashMap<i32, i32> = DashMap::new();
        thread::scope(|scope| {
            for value in [1, 2] {
                let map = &map;
                scope.spawn(move || _ = map.entry(0).or_insert(value));
            }
        });
        assert_ne!(*map.get(&0).unwrap(), 2);
    });
}
