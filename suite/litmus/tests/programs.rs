//! Programs with loops, arrays and locks: each execution once, under either model.
//!
//! Where a comment does not say more, the count is the oracle's; it is written down to see it. After a `+`, GenMC's number of
//! blocked executions, which is less than the oracle's.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use litmus::check::explored;
use litmus::oracle::{Abstract, executions};
use litmus::programs::classics::*;
use litmus::programs::locks::*;
use litmus::programs::structures::*;
use litmus::{Model, Real, Test, check};

/// For programs that are too long for the oracle, and whose count the literature knows.
#[track_caller]
fn count(expected: u64, build: impl Fn() -> Test) {
    for model in Model::ALL {
        assert_eq!(explored(model, &build).complete, expected, "{model:?}");
    }
}

mod classics {
    use super::*;

    /// Known from interleavings.
    #[test]
    fn racing_increments() {
        check!(racy(2, 1), 4, 4);
        check!(racy(2, 2), 34, 34);
        check!(racy(2, 3), 328, 328);
        count(3334, || racy::<Real>(2, 4));
    }

    #[test]
    fn one_writer_and_readers() {
        check!(readers(2), 4, 4);
        check!(readers(3), 8, 8);
        count(256, || readers::<Real>(8));
    }

    #[test]
    fn atomic_increments() {
        check!(ainc(2), 2, 2);
        check!(ainc(3), 6, 6);
        check!(ainc(5), 120, 120);
    }

    #[test]
    fn last_zero() {
        check!(lastzero(2), 5, 5);
        check!(lastzero(3), 12, 12);
        check!(lastzero(6), 144, 144);
        count(3328, || lastzero::<Real>(10));
    }

    #[test]
    fn hash_table() {
        check!(indexer(2), 1, 1);
        count(1, || indexer::<Real>(11));
        count(8, || indexer::<Real>(12));
    }

    #[test]
    fn file_system() {
        check!(filesystem(2), 1, 1);
        count(1, || filesystem::<Real>(13));
        count(2, || filesystem::<Real>(14));
        count(8, || filesystem::<Real>(16));
    }

    #[test]
    #[ignore = "thousands of executions of fifteen and more threads"]
    fn many_threads() {
        count(4096, || indexer::<Real>(15));
        count(64, || filesystem::<Real>(19));
        count(8192, || readers::<Real>(13));
    }

    #[test]
    fn critical_sections() {
        check!(mutex(2, 1), 2 + 0, 2 + 0);
        check!(mutex(3, 1), 6 + 0, 6 + 0);
        check!(mutex(3, 2), 90 + 0, 90 + 0);
        count(720, || mutex::<Real>(6, 1));
        check!(reads_under_lock(4), 24 + 0, 24 + 0);
        check!(store_buffering_with_locks(), 4, 4);
    }
}

mod locks {
    use super::*;

    /// n! orders.
    #[test]
    fn by_compare_exchange() {
        check!(cas_lock(2), 2, 2);
        check!(cas_lock(3), 6 + 5, 6 + 5);
        check!(cas_lock(4), 24 + 29, 24 + 29);
    }

    /// GenMC has as many for its own version.
    #[test]
    #[ignore = "rounds of a loop that waits are told apart: makes 5 executions of the 4 that GenMC counts"]
    fn test_and_test_and_set() {
        check!(ttas_lock(2), 4 + 3, 4 + 3);
        check!(ttas_lock(3), 36, 36);
    }

    /// GenMC has as many for its own version.
    #[test]
    fn ticket() {
        check!(ticket_lock(2), 2 + 1, 2 + 1);
        check!(ticket_lock(3), 6, 6);
    }

    /// GenMC has as many for its own version.
    #[test]
    fn mellor_crummey_and_scott() {
        check!(mcs_lock(2), 6 + 3, 6 + 7);
        check!(mcs_lock(3), 66, 66);
    }

    /// GenMC has as many for its own version.
    #[test]
    #[ignore = "rounds of a loop that waits are told apart: makes 4 executions of one order of the threads where 2 exist"]
    fn of_peterson() {
        check!(peterson(Acquire, Release), 4 + 4, 22 + 4);
        check!(peterson(SeqCst, SeqCst), 4 + 4, 4 + 4);
        check!(peterson(Relaxed, Relaxed), 4, 34);
    }

    #[test]
    fn of_dekker() {
        check!(dekker(Acquire, Release), 4, 12);
        check!(dekker(SeqCst, SeqCst), 4, 4);
    }

    #[test]
    #[ignore = "rounds of a loop that waits are told apart: makes 120 executions of an outcome that 27 have"]
    fn of_szymanski() {
        check!(szymanski(), 29, 29);
    }

    /// GenMC has as many for its own version.
    #[test]
    fn of_lamport() {
        check!(lamport(), 16 + 9, 16 + 9);
    }

    /// n! orders of arrival.
    #[test]
    fn barriers() {
        check!(barrier(2), 2, 2);
        check!(barrier(3), 6, 6);
        check!(barrier(4), 24, 24);
    }
}

mod structures {
    use super::*;

    /// Known from interleavings.
    #[test]
    fn stack_of_treiber() {
        check!(treiber(2, 1), 40, 40);
        count(6372, || treiber::<Real>(2, 2));
        count(25_680, || treiber::<Real>(3, 1));
    }

    /// Known from interleavings.
    #[test]
    fn queue_of_michael_and_scott() {
        check!(michael_scott(2, 1), 100, 100);
        count(26_668, || michael_scott::<Real>(2, 2));
    }

    /// Whether a reader that saw two versions waits, or only tries again, is a matter of taste: outcomes count.
    #[test]
    fn sequence_lock() {
        for (model, readers) in [(Model::Sc, 1), (Model::Sc, 2), (Model::Rc11, 1), (Model::Rc11, 2)] {
            let known = executions(model, || seqlock::<Abstract>(readers));
            let explored = explored(model, || seqlock::<Real>(readers));
            assert!(explored.outcomes.keys().eq(known.outcomes.keys()), "{model:?}: {:?}", explored.outcomes);
        }
    }

    #[test]
    fn hazard_pointers() {
        check!(hazard_pointer(1), 9, 9);
        check!(hazard_pointer(2), 69, 69);
    }

    #[test]
    fn deque_of_chase_and_lev() {
        check!(chase_lev(1), 8, 8);
        check!(chase_lev(2), 149, 157);
    }

    /// GenMC has as many.
    #[test]
    #[ignore = "rounds of a loop that waits are told apart: makes 32 executions of an outcome that 8 have"]
    fn confirmation() {
        check!(confirmation_loops(2), 68, 68);
        check!(confirmation_loops(3), 744 + 981, 744 + 981);
    }
}
