//! Exhaustive search within a bound on preemptions.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

use litmus::check::explorer;
use litmus::programs::classics::*;
use litmus::programs::locks::*;
use litmus::programs::structures::*;
use litmus::{Model, Real};
use raddle::{Explorer, Strategy};

/// A writer, and threads that read and write.
fn wrw(threads: u32) {
    let x = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| x.store(1, Release));
        for i in 0..threads {
            let x = &x;
            scope.spawn(move || {
                x.load(Relaxed);
                x.store(i + 2, Release);
            });
        }
    });
}

/// Figures of GenMC.
#[test]
fn as_many_executions_as_other_tools_find() {
    for (most, count) in [(0, 24), (1, 132), (2, 264), (3, 300)] {
        let report = explorer(Model::Sc).preemptions(most).run(|| wrw(3));
        assert!(report.complete, "{most} preemptions");
        assert_eq!((report.executions, report.exceeded == 0), (count, most == 3), "{most} preemptions");
    }
}

/// Whether the executions within a bound end as the interleavings within it do.
#[track_caller]
fn agrees_with_interleavings<T: Ord + Clone + std::fmt::Debug>(body: impl Fn() -> T) {
    for most in 0..3 {
        let bounded = Strategy::Bounded(most);
        let interleavings =
            Explorer::new().strategy(bounded).executions(u64::MAX).run(&body as &dyn Fn() -> T);
        let executions = explorer(Model::Sc).preemptions(most).run(&body as &dyn Fn() -> T);
        assert!(executions.exhausted);
        assert!(executions.executions <= interleavings.executions);
        assert_eq!(
            executions.outcomes.keys().collect::<Vec<_>>(),
            interleavings.outcomes.keys().collect::<Vec<_>>(),
            "{most} preemptions"
        );
    }
}

#[test]
fn executions_end_as_interleavings_do() {
    agrees_with_interleavings(|| Real::run(racy::<Real>(2, 2)));
    agrees_with_interleavings(|| Real::run(racy::<Real>(3, 1)));
    agrees_with_interleavings(|| Real::run(lastzero::<Real>(3)));
    agrees_with_interleavings(|| Real::run(treiber::<Real>(2, 1)));
}

#[test]
fn waiting_for_a_lock_is_no_preemption() {
    agrees_with_interleavings(|| Real::run(mutex::<Real>(3, 1)));
    agrees_with_interleavings(|| Real::run(store_buffering_with_locks::<Real>()));
    let report = explorer(Model::Sc).preemptions(0).run(|| Real::run(mutex::<Real>(3, 1)));
    assert_eq!(report.executions, 6);
}

#[test]
fn waiting_in_a_loop_is_no_preemption() {
    agrees_with_interleavings(|| Real::run(ttas_lock::<Real>(2)));
    agrees_with_interleavings(|| Real::run(peterson::<Real>(SeqCst, SeqCst)));
    agrees_with_interleavings(|| {
        let (data, ready) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while ready.load(Acquire) == 0 {
                    std::hint::spin_loop();
                }
                data.load(Relaxed)
            });
            for i in 1..3 {
                let (data, ready) = (&data, &ready);
                scope.spawn(move || {
                    data.store(i, Relaxed);
                    ready.store(1, Release);
                });
            }
            reader.join().unwrap()
        })
    });
}

#[test]
fn waiting_for_a_notification_is_no_preemption() {
    agrees_with_interleavings(|| {
        let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
        thread::scope(|scope| {
            let consumer = scope.spawn(|| {
                let mut queue = filled.wait_while(queue.lock().unwrap(), |queue| queue.is_empty()).unwrap();
                std::mem::take(&mut *queue)
            });
            for i in 1..3 {
                let (queue, filled) = (&queue, &filled);
                scope.spawn(move || {
                    queue.lock().unwrap().push(i);
                    filled.notify_one();
                });
            }
            consumer.join().unwrap()
        })
    });
}

/// That both threads read 0 takes no preemption, but one old value.
#[test]
fn old_values_count() {
    let store_buffering = || {
        let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let one = scope.spawn(|| {
                x.store(1, Relaxed);
                y.load(Relaxed)
            });
            let other = scope.spawn(|| {
                y.store(1, Relaxed);
                x.load(Relaxed)
            });
            (one.join().unwrap(), other.join().unwrap())
        })
    };
    let outcomes = |most| {
        let report = explorer(Model::Rc11).preemptions(most).run(store_buffering);
        report.outcomes.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(outcomes(0), [(0, 1), (1, 0)]);
    assert_eq!(outcomes(1), [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

/// What exceeds the bound by less than the number of threads may be seen on the way.
#[test]
fn a_failure_is_a_failure_however_many_preemptions_it_takes() {
    let lost_update = || {
        let x = AtomicU32::new(0);
        let increment = || x.store(x.load(SeqCst) + 1, SeqCst);
        thread::scope(|scope| {
            scope.spawn(increment);
            scope.spawn(increment);
        });
        assert_eq!(x.into_inner(), 2);
    };
    for most in [0, 1] {
        assert!(explorer(Model::Sc).preemptions(most).try_run(lost_update).is_err(), "{most} preemptions");
    }
}
