//! The tests that students do not have.

use std::collections::BTreeSet;
use std::thread;

use sorted_list::SortedList;

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

/// Runs two threads on a list and returns what they return, and the numbers in it at the end.
fn race(
    numbers: &[u32],
    first: impl Fn(&SortedList) -> bool + Sync,
    second: impl Fn(&SortedList) -> bool + Sync,
) -> (bool, bool, Vec<u32>) {
    let list = SortedList::new(8);
    for number in numbers {
        list.insert(*number);
    }
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| first(&list));
        let second = scope.spawn(|| second(&list));
        (first.join().unwrap(), second.join().unwrap())
    });
    (first, second, list.to_vec())
}

#[test]
fn the_same_number_is_inserted_once() {
    explore(|| {
        let (first, second, numbers) = race(&[1], |list| list.insert(2), |list| list.insert(2));
        assert!(first ^ second, "one of them inserts, the other one finds it there");
        assert_eq!(numbers, [1, 2]);
    });
}

#[test]
fn an_insert_behind_a_deleted_number_is_kept() {
    explore(|| {
        let (deleted, inserted, numbers) = race(&[1, 3], |list| list.delete(1), |list| list.insert(2));
        assert!(deleted && inserted);
        assert_eq!(numbers, [2, 3]);
    });
}

#[test]
fn a_deleted_number_stays_deleted() {
    explore(|| {
        let (first, second, numbers) = race(&[1, 2], |list| list.delete(1), |list| list.delete(2));
        assert!(first && second);
        assert!(numbers.is_empty(), "a deleted number is back: {numbers:?}");
    });
}

#[test]
fn inserts_around_a_delete_are_kept() {
    explore(|| {
        let (deleted, inserted, numbers) =
            race(&[2], |list| list.delete(2), |list| list.insert(1) & list.insert(3));
        assert!(deleted && inserted);
        assert_eq!(numbers, [1, 3]);
    });
}

#[test]
fn a_number_that_was_deleted_can_be_inserted() {
    explore(|| {
        let (deleted, inserted, numbers) = race(&[1], |list| list.delete(1), |list| list.insert(1));
        assert!(deleted);
        let expected: &[u32] = if inserted { &[1] } else { &[] };
        assert_eq!(numbers, expected);
    });
}

#[test]
fn a_deleted_number_is_not_seen() {
    explore(|| {
        let list = SortedList::new(4);
        list.insert(2);
        thread::scope(|scope| {
            scope.spawn(|| list.delete(2));
            scope.spawn(|| list.insert(1));
        });
        assert!(list.contains(1) && !list.contains(2), "a deleted number is seen");
    });
}

struct SetTest(SortedList);

impl Default for SetTest {
    fn default() -> SetTest {
        SetTest(SortedList::new(16))
    }
}

#[raddle::test(iterations = 15, executions = 600, threads = 2, operations = 3, spec = BTreeSet<u32>)]
impl SetTest {
    #[operation]
    fn insert(&self, #[arg(1..=2)] key: u32) -> bool {
        self.0.insert(key)
    }

    #[operation(spec = |set, key| set.remove(&key))]
    fn delete(&self, #[arg(1..=2)] key: u32) -> bool {
        self.0.delete(key)
    }

    #[operation(spec = |set, key| set.contains(&key), read_only)]
    fn contains(&self, #[arg(1..=2)] key: u32) -> bool {
        self.0.contains(key)
    }
}
