//! Locks and rings of operating systems and C libraries: each execution once, under either model.
//!
//! Where a comment does not say more, GenMC has as many.

use litmus::check;
use litmus::check::explored;
use litmus::oracle::{Abstract, executions};
use litmus::programs::kernel::*;
use litmus::{Model, Real, Test};

/// Executions under SC and under RC11 in which nobody gives up.
#[track_caller]
fn count(sc: u64, rc11: u64, build: impl Fn() -> Test) {
    for (model, expected) in [(Model::Sc, sc), (Model::Rc11, rc11)] {
        assert_eq!(explored(model, &build).as_assumed(), expected, "{model:?}");
    }
}

/// For loops that are not known to wait: the same outcomes, each once or more.
#[track_caller]
fn same_outcomes(real: impl Fn() -> Test, known: impl Fn() -> Test) {
    for model in Model::ALL {
        let (explored, known) = (explored(model, &real), executions(model, &known));
        assert!(explored.outcomes.keys().eq(known.outcomes.keys()), "{model:?}: {:?}", explored.outcomes);
        assert!(known.outcomes.iter().all(|(outcome, times)| explored.outcomes[outcome] >= *times));
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
    for rounds in 1..3 {
        same_outcomes(|| linux_rwlock::<Real>(2, rounds), || linux_rwlock::<Abstract>(2, rounds));
    }
}

#[test]
fn ring_buffer() {
    check!(ring(2), 20, 36);
    count(273, 1218, || ring::<Real>(3));
}

#[test]
fn loop_with_two_ways_out() {
    same_outcomes(|| two_ways_out::<Real>(5), || two_ways_out::<Abstract>(5));
}
