//! Locks and rings of operating systems and C libraries: each execution once, under either model.
//!
//! Where a comment does not say more, GenMC has as many.

use litmus::check;
use litmus::check::explored;
use litmus::programs::kernel::*;
use litmus::{Model, Real, Test};

/// Executions under SC and under RC11 in which nobody gives up.
#[track_caller]
fn count(sc: u64, rc11: u64, build: impl Fn() -> Test) {
    for (model, expected) in [(Model::Sc, sc), (Model::Rc11, rc11)] {
        assert_eq!(explored(model, &build).as_assumed(), expected, "{model:?}");
    }
}

#[test]
fn tickets_with_waiting_elsewhere() {
    check!(twa_lock(2), 4 + 1, 4 + 1);
    check!(twa_lock(3), 36, 36);
}

/// Of musl's, only the axioms tell.
#[test]
fn mutexes_of_futexes() {
    check!(futex_mutex(2), 12, 12);
    check!(musl_mutex(2), 20, 26);
}

/// With one attempt, GenMC has as many, and those that give up are as many as it says are blocked.
#[test]
fn read_write_lock() {
    check!(linux_rwlock(2, 0), 34, 34);
    count(14, 14, || linux_rwlock::<Real>(2, 0));
    check!(linux_rwlock(2, 1), 186, 186);
    check!(linux_rwlock(2, 2), 222, 222);
}

#[test]
fn ring_buffer() {
    check!(ring(2), 20, 36);
    count(273, 1218, || ring::<Real>(3));
}
