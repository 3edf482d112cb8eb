//! The tests that students have.

use std::thread;

use spin_lock::{SeqLock, SpinLock, TicketLock};

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

#[test]
fn spin_lock_counts_to_two() {
    explore(|| {
        let lock = SpinLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|count| *count += 1));
            scope.spawn(|| lock.with(|count| *count += 1));
        });
        assert_eq!(lock.with(|count| *count), 2);
    });
}

#[test]
fn ticket_lock_counts_to_two() {
    explore(|| {
        let lock = TicketLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| lock.with(|count| *count += 1));
            scope.spawn(|| lock.with(|count| *count += 1));
        });
        assert_eq!(lock.with(|count| *count), 2);
    });
}

#[test]
fn seq_lock_reads_what_was_written() {
    explore(|| {
        let lock = SeqLock::default();
        assert_eq!(lock.try_read(), Some((0, 0)));
        lock.write(1, 2);
        assert_eq!(lock.try_read(), Some((1, 2)));
    });
}
