//! The tests that students have.

use std::thread;

use sorted_list::SortedList;

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

#[test]
fn one_thread_has_a_set() {
    explore(|| {
        let list = SortedList::new(8);
        assert!(list.insert(2) && list.insert(1) && list.insert(3));
        assert!(!list.insert(2), "a number is there once");
        assert_eq!(list.to_vec(), [1, 2, 3]);
        assert!(list.delete(2) && !list.delete(2));
        assert!(list.contains(1) && !list.contains(2) && list.contains(3));
        assert!(list.insert(2), "a number can come back");
        assert_eq!(list.to_vec(), [1, 2, 3]);
    });
}

#[test]
fn two_inserts_are_both_kept() {
    explore(|| {
        let list = SortedList::new(4);
        thread::scope(|scope| {
            scope.spawn(|| assert!(list.insert(1)));
            scope.spawn(|| assert!(list.insert(2)));
        });
        assert_eq!(list.to_vec(), [1, 2]);
    });
}

#[test]
fn of_two_deletes_one_succeeds() {
    explore(|| {
        let list = SortedList::new(4);
        list.insert(1);
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| list.delete(1));
            let second = list.delete(1);
            (first.join().unwrap(), second)
        });
        assert!(first ^ second, "one of them deletes, the other one finds nothing");
        assert!(list.to_vec().is_empty());
    });
}
