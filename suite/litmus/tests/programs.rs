//! Programs with loops, arrays and locks: each execution once, under either model.
//!
//! Where a comment does not say more, the count is the oracle's; it is written down to see it. After a `+`, GenMC's number of
//! blocked executions, which is less than the oracle's.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use litmus::check::{compare, explored};
use litmus::oracle::{Abstract, executions};
use litmus::programs::attempts::*;
use litmus::programs::classics::*;
use litmus::programs::locks::*;
use litmus::programs::structures::*;
use litmus::programs::waits::*;
use litmus::{Model, Real, Test, check};

/// For programs that are too long for the oracle, and whose count the literature knows.
#[track_caller]
fn count(expected: u64, build: impl Fn() -> Test) {
    count_each(expected, expected, build);
}

/// [`count`], where the models differ.
#[track_caller]
fn count_each(sc: u64, rc11: u64, build: impl Fn() -> Test) {
    for (model, expected) in [(Model::Sc, sc), (Model::Rc11, rc11)] {
        assert_eq!(explored(model, &build).complete, expected, "{model:?}");
    }
}

/// For programs some of whose threads may give up: how many executions there are in which none does.
#[track_caller]
fn count_those_without_giving_up(sc: u64, rc11: u64, build: impl Fn() -> Test) {
    for (model, expected) in [(Model::Sc, sc), (Model::Rc11, rc11)] {
        let outcomes = explored(model, &build).outcomes;
        let gave_up = |outcome: &[Vec<u32>]| outcome.iter().flatten().any(|&seen| seen == GAVE_UP);
        let others = outcomes.iter().filter(|(outcome, _)| !gave_up(outcome));
        assert_eq!(others.map(|(_, times)| times).sum::<u64>(), expected, "{model:?}");
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
        count(32, || filesystem::<Real>(18));
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
        check!(complex_lock(2), 10 + 0, 10 + 0);
        check!(complex_lock(3), 342 + 0, 342 + 0);
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
        count(120, || cas_lock::<Real>(5));
    }

    /// GenMC has as many for its own version.
    #[test]
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
        count(120, || barrier::<Real>(5));
        check!(two_barriers(2), 4, 4);
        check!(two_barriers(3), 36, 36);
        count(576, || two_barriers::<Real>(4));
        check!(sense_reversing_barrier(2), 4, 4);
        check!(sense_reversing_barrier(3), 36, 36);
    }

    /// GenMC has as many for its own version.
    #[test]
    fn ticket_with_a_waiting_array() {
        check!(twa_lock(2), 4 + 1, 4 + 1);
        check!(twa_lock(3), 96, 96);
    }

    /// GenMC has as many for its own version of the first.
    #[test]
    fn that_sleep() {
        check!(futex_lock(2), 12 + 0, 12 + 0);
        check!(counting_futex_lock(2), 20, 26);
        check!(spinning_futex_lock(2, 1), 18, 18);
        check!(spinning_futex_lock(2, 3), 18, 18);
    }

    #[test]
    fn of_readers_and_writers() {
        check!(rwlock(1, 1), 3, 3);
        check!(rwlock(2, 1), 34, 34);
        check!(rwlock(1, 2), 12, 12);
        check!(biased_rwlock(1, 1), 6, 6);
        check!(biased_rwlock(2, 1), 662, 662);
        check!(biased_rwlock(1, 2), 582, 582);
    }

    #[test]
    fn with_queues() {
        check!(clh_lock(2), 2, 2);
        check!(clh_lock(3), 6, 6);
        check!(array_lock(3), 6, 6);
    }

    #[test]
    fn of_lamport_s_bakery() {
        check!(bakery(SeqCst), 9, 9);
        check!(bakery(Acquire), 9, 28);
    }

    #[test]
    fn for_the_first_or_for_some() {
        check!(once(2), 10, 10);
        check!(once(3), 75, 75);
        check!(semaphore(2, 1), 4, 4);
        check!(semaphore(3, 2), 156, 156);
    }
}

mod waits {
    use super::*;

    /// GenMC has as many for its own version with 42 values.
    #[test]
    fn of_different_reasons() {
        check!(two_looks(5), 2 + 5, 2 + 5);
        count(2, || two_looks::<Real>(42));
        check!(two_places(true), 1, 1);
        check!(two_places(false), 1, 1);
        check!(either_value(), 4, 4);
        check!(remembers_waiting(), 2, 2);
    }

    #[test]
    fn with_an_end() {
        check!(looks_so_often(3), 4, 4);
        check!(looks_then_sleeps(2), 4, 4);
        check!(fetch_update(3), 48, 48);
        check!(polls_under_lock(1, 2), 6, 6);
        check!(polls_under_lock(2, 2), 90, 90);
    }

    #[test]
    fn for_each_other() {
        check!(ping_pong(2, 2), 1, 1);
        check!(ping_pong(3, 2), 1, 1);
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

    /// An attempt that finds what the first one of its operation tried to replace leads back to where that one began. The attempts between
    /// are a round without effect, and executions that differ in such rounds only are made once. The links in memory of `treiber` are
    /// written by each attempt, so that all attempts are told apart there.
    #[test]
    fn stack_of_treiber_in_a_word() {
        without_rounds(2, Model::Sc, 40, 34);
        without_rounds(2, Model::Rc11, 40, 34);
    }

    #[test]
    #[ignore = "the oracle takes long"]
    fn stack_of_treiber_in_a_word_of_three_threads() {
        without_rounds(3, Model::Sc, 25_680, 17_352);
    }

    /// Holds the stack in a word against the oracle, which knows this many executions with rounds and without.
    #[track_caller]
    fn without_rounds(threads: usize, model: Model, with: u64, without: u64) {
        let all = executions(model, || treiber_in_a_word::<Abstract>(threads));
        let known = executions(model, || treiber_in_a_word_without_rounds::<Abstract>(threads));
        assert_eq!([all.complete, known.complete], [with, without], "by the axioms, under {model:?}");
        assert!(all.outcomes.keys().eq(known.outcomes.keys()), "rounds lead to no other outcome");
        let explored = explored(model, || treiber_in_a_word::<Real>(threads));
        assert_eq!(compare(&explored, &known), Ok(()), "{threads} threads under {model:?}");
    }

    /// GenMC has as many for the code that Miri makes of its own version.
    #[test]
    fn stack_of_treiber_from_both_ends() {
        check!(treiber_ends(1, 1), 2, 2);
        check!(treiber_ends(1, 2), 22, 22);
        check!(treiber_ends(1, 3), 1002, 1002);
    }

    /// Known from interleavings.
    #[test]
    fn queue_of_michael_and_scott() {
        check!(michael_scott(2, 1), 100, 100);
        count(26_668, || michael_scott::<Real>(2, 2));
    }

    #[test]
    fn sequence_lock() {
        check!(seqlock(1), 2, 2);
        check!(seqlock(2), 4, 4);
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

    /// GenMC has as many for its own versions.
    #[test]
    fn whose_operations_may_fail() {
        check!(deque([5, 2], 3, &[1]), 59, 65);
        check!(deque([2, 1], 1, &[2, 1]), 1373, 1924);
        check!(stack(), 37, 37);
        check!(queue(), 39, 75);
    }

    /// GenMC has as many.
    #[test]
    fn queue_of_herlihy_and_wing() {
        count_those_without_giving_up(5155, 5483, herlihy_wing::<Real>);
    }

    /// GenMC has as many for its own version with three threads.
    #[test]
    fn queues_of_several_places() {
        check!(ring(2), 10, 20);
        count_each(273, 1218, || ring::<Real>(3));
        check!(channel(2, 1), 1, 1);
        check!(channel(3, 2), 9, 9);
    }

    /// GenMC has as many.
    #[test]
    fn confirmation() {
        check!(confirmation_loops(2), 68, 68);
        check!(confirmation_loops(3), 744 + 981, 744 + 981);
    }
}

/// Written for std's atomics alone: the oracle cannot follow loops that end only if others let them.
mod a_thread_remembers {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use litmus::check::explorer;

    use super::*;

    /// What one thread comes to, while another one counts to a number.
    fn outcomes(most: u32, body: fn(&AtomicU32) -> u32) -> [BTreeSet<u32>; 2] {
        Model::ALL.map(|model| {
            let report = explorer(model).run(move || {
                let x = Arc::new(AtomicU32::new(0));
                let counts = Arc::clone(&x);
                let thread = thread::spawn(move || (1..=most).for_each(|value| counts.store(value, Release)));
                let outcome = body(&x);
                thread.join().expect("it does not panic");
                outcome
            });
            assert!(report.complete);
            report.outcomes.into_keys().collect()
        })
    }

    fn check(most: u32, body: fn(&AtomicU32) -> u32, expected: impl IntoIterator<Item = u32> + Clone) {
        for outcomes in outcomes(most, body) {
            assert!(outcomes.iter().copied().eq(expected.clone()), "{outcomes:?}");
        }
    }

    #[test]
    fn whether_a_thread_had_to_wait() {
        let body = |x: &AtomicU32| {
            let mut waited = false;
            while x.load(Acquire) == 0 {
                waited = true;
            }
            u32::from(waited)
        };
        check(1, body, 0..=1);
    }

    #[test]
    fn what_it_saw_last_before_it_could_go_on() {
        let body = |x: &AtomicU32| {
            let mut last = 9;
            loop {
                match x.load(Acquire) {
                    3 => return last,
                    value => last = value,
                }
            }
        };
        check(3, body, [0, 1, 2, 9]);
    }

    #[test]
    fn how_many_different_values_it_saw() {
        let body = |x: &AtomicU32| {
            let (mut seen, mut last) = (0, 9);
            loop {
                let value = x.load(Acquire);
                if value == 3 {
                    return seen;
                }
                seen += u32::from(value != last);
                last = value;
            }
        };
        check(3, body, 0..=3);
    }

    #[test]
    fn that_it_looked_in_vain_too_often() {
        let body = |x: &AtomicU32| {
            for round in 0..3 {
                if x.load(Acquire) == 1 {
                    return round;
                }
                std::hint::spin_loop();
            }
            3
        };
        check(1, body, 0..=3);
    }

    /// In memory instead of a register.
    #[test]
    fn what_it_wrote_down() {
        let body = |x: &AtomicU32| {
            let mut notes = vec![0; 2];
            while x.load(Acquire) == 0 {
                std::hint::black_box(&mut notes)[1] = 1;
            }
            notes[1]
        };
        check(1, body, 0..=1);
    }

    #[test]
    fn what_it_wrote_where_only_it_can_read() {
        thread_local!(static WAITED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
        let body = |x: &AtomicU32| {
            while x.load(Acquire) == 0 {
                WAITED.set(1);
            }
            WAITED.get()
        };
        check(1, body, 0..=1);
    }

    /// What the last round found is left on the stack, but nobody looks at it.
    #[test]
    fn and_nothing_that_is_forgotten() {
        let waits: fn(&AtomicU32) -> u32 = |x| {
            while std::hint::black_box(x.load(Acquire)) < 5 {}
            x.load(Relaxed)
        };
        for model in Model::ALL {
            let report = explorer(model).run(move || {
                let x = Arc::new(AtomicU32::new(0));
                let counts = Arc::clone(&x);
                let thread = thread::spawn(move || (1..=5).for_each(|value| counts.store(value, Release)));
                let outcome = waits(&x);
                thread.join().expect("it does not panic");
                outcome
            });
            assert_eq!((report.complete, report.executions), (true, 1), "{model:?}");
        }
    }
}
