//! The tests that students do not have.

use std::thread;

use spin_lock::{SeqLock, SpinLock, TicketLock};

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

#[test]
fn spin_lock_hands_over_all_writes() {
    explore(|| {
        let lock = SpinLock::new((0, 0));
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|pair| *pair = (pair.0 + 1, pair.1 + 1)));
            let seen = lock.with(|pair| *pair);
            assert_eq!(seen.0, seen.1, "the pair was seen half written");
        });
    });
}

#[test]
fn try_with_hands_over_all_writes() {
    explore(|| {
        let lock = SpinLock::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|list| list.push(1)));
            if let Some(length) = lock.try_with(|list| list.len()) {
                assert!(length <= 1);
            }
        });
        assert_eq!(lock.try_with(|list| list.len()), Some(1), "a free lock can be had");
    });
}

#[test]
fn try_with_fails_while_the_lock_is_held() {
    explore(|| {
        let lock = SpinLock::new(0);
        assert_eq!(lock.with(|_| lock.try_with(|_| ())), None);
        assert_eq!(lock.try_with(|_| ()), Some(()));
    });
}

#[test]
fn ticket_lock_hands_over_all_writes() {
    explore(|| {
        let lock = TicketLock::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|list| list.push(1)));
            scope.spawn(|| lock.with(|list| list.push(2)));
        });
        assert_eq!(lock.with(|list| list.len()), 2);
    });
}

#[test]
fn seq_lock_never_shows_half_a_write() {
    explore(|| {
        let lock = SeqLock::default();
        thread::scope(|scope| {
            scope.spawn(|| lock.write(1, 1));
            if let Some((first, second)) = lock.try_read() {
                assert_eq!(first, second, "half of a write was seen");
            }
        });
    });
}

#[test]
fn seq_lock_never_mixes_two_writes() {
    explore(|| {
        let lock = SeqLock::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                lock.write(1, 1);
                lock.write(2, 2);
            });
            if let Some((first, second)) = lock.try_read() {
                assert_eq!(first, second, "two writes were mixed");
            }
        });
        assert_eq!(lock.try_read(), Some((2, 2)));
    });
}
