use std::sync::Arc;
use std::thread;

use counter::Counter;

#[test]
fn lost_update() {
    raddle::explore(|| {
        let counter = Arc::new(Counter::default());
        let (a, b) = (counter.clone(), counter.clone());
        let one = thread::spawn(move || a.inc());
        let other = thread::spawn(move || b.inc());
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(counter.get(), 2);
    });
}

#[test]
fn one_thread_counts() {
    raddle::explore(|| {
        let counter = Counter::default();
        thread::scope(|scope| scope.spawn(|| counter.inc()).join().unwrap());
        assert_eq!(counter.get(), 1);
    });
}

#[test]
fn no_test_of_raddle() {
    assert_eq!(Counter::default().get(), 0);
}
