//! What schedules, monitors and marked operations mean, by programs whose logs are known.
#![allow(unexpected_cfgs, reason = "`cargo raddle` sets `raddle`")]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use raddle::monitor::Monitor;
use raddle::teach::{Schedule, ScheduleTest, Scheduler};
use raddle::{Also, Explorer, Kind, Memory, Strategy, step};

/// Three marked operations of each of two threads, without anything else.
fn steps_only(sched: &Scheduler) {
    let log = sched.share(Log(RefCell::default()));
    for thread in ['a', 'b'] {
        sched.thread(move || {
            for _ in 0..3 {
                step(thread, || log.push(thread));
            }
        });
    }
    sched.validate(|_| Err::<(), _>(log.0.borrow().clone()));
}

/// A log without synchronisation: the threads of an execution take turns.
struct Log(RefCell<String>);

// SAFETY: the threads of an execution take turns, and change between marked operations only.
unsafe impl Sync for Log {}

impl Log {
    fn push(&self, thread: char) {
        self.0.borrow_mut().push(thread);
    }
}

#[track_caller]
fn check(schedule: &[u16], expected: &str) {
    let test = ScheduleTest::new(2).only([Schedule::from(schedule)]).only_marked().races(false);
    let message = test.try_run(steps_only).unwrap_err().message;
    assert!(message.ends_with(&format!(" {expected}")), "{schedule:?}: {message}, not {expected}");
}

#[test]
fn entries_beyond_the_end_of_a_thread_are_skipped_and_missing_ones_taken_in_turn() {
    check(&[1, 1, 2, 2, 1, 2], "aabbab");
    // Thread 1 has ended: its other entries are skipped.
    check(&[1, 1, 1, 1, 1, 2], "aaabbb");
    // Missing entries: the threads take turns.
    check(&[2], "bababa");
    check(&[], "ababab");
    // Threads that do not exist.
    check(&[9, 2, 7, 2], "bbabaa");
}

#[test]
#[should_panic(expected = "entry 2 is thread 2, but it waits for a lock that another thread holds")]
fn a_strict_schedule_says_where_it_cannot_be_followed() {
    let schedule = Schedule::from([1, 2, 3]);
    ScheduleTest::new(3).only([schedule]).strict().only_marked().run(|sched| {
        let monitor = sched.share(Monitor::new(()));
        for _ in 0..2 {
            sched.thread(|| monitor.synchronized(|_| step("inside", || ())));
        }
        sched.thread(|| step("outside", || ()));
    });
}

#[test]
fn the_same_schedule_is_followed_out_of_turn_if_it_is_not_strict() {
    let schedule = Schedule::from([1, 2, 3]);
    let report = ScheduleTest::new(3).only([schedule]).only_marked().run(|sched| {
        let monitor = sched.share(Monitor::new(()));
        for _ in 0..2 {
            sched.thread(|| monitor.synchronized(|_| step("inside", || ())));
        }
        sched.thread(|| step("outside", || ()));
    });
    assert_eq!(report.schedules, 1);
}

#[test]
fn every_interleaving_of_marked_operations_is_enumerated() {
    let all = |test: ScheduleTest| {
        let report = test.only_marked().races(false).run(|sched| {
            for _ in 0..2 {
                sched.thread(|| (0..3).for_each(|_| step("step", || ())));
            }
        });
        (report.schedules, report.complete)
    };
    // 6 turns, of which 3 are the first thread's.
    assert_eq!(all(ScheduleTest::new(2).exhaustively()), (20, true));
    assert_eq!(all(ScheduleTest::new(2).length(4).switches(4).enumerated()).0, 16);
}

#[test]
fn a_marked_operation_is_atomic_only_if_nothing_else_is_a_turn() {
    let outcomes = |only_marked: bool| {
        let report =
            Explorer::new().strategy(Strategy::Bounded(4)).memory(Memory::Sc).only_marked(only_marked).run(
                || {
                    let count = Arc::new(AtomicU32::new(0));
                    let increment = {
                        let count = Arc::clone(&count);
                        move || step("increment", || count.store(count.load(SeqCst) + 1, SeqCst))
                    };
                    let other = std::thread::spawn(increment.clone());
                    increment();
                    other.join().unwrap();
                    count.load(SeqCst)
                },
            );
        report.outcomes.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(outcomes(true), [2]);
    // Without instrumentation, accesses are no events.
    assert_eq!(outcomes(false), if cfg!(raddle) { vec![1, 2] } else { vec![2] });
}

#[test]
fn a_notification_may_wake_any_thread() {
    let woken = |test: ScheduleTest| {
        let mut first = Vec::new();
        for thread in [1, 2] {
            let found = test.clone().try_run(|sched| {
                let monitor = sched.share(Monitor::new(RefCell::new(Vec::new())));
                for waiter in [1, 2] {
                    sched.thread(move || {
                        monitor.synchronized(|order| {
                            monitor.wait();
                            order.borrow_mut().push(waiter);
                        });
                    });
                }
                sched.thread(|| {
                    for _ in 0..2 {
                        monitor.synchronized(|_| monitor.notify());
                    }
                });
                sched.validate(move |_| monitor.synchronized(|order| order.borrow()[0] != thread));
            });
            if found.is_err_and(|failure| failure.kind == Kind::IncorrectResults) {
                first.push(thread);
            }
        }
        first
    };
    // Threads 1 and 2 enter and wait; thread 3, then alone, notifies one of them, which enters before thread 3 does so again.
    let schedules = [[1, 2, 1, 1], [1, 2, 2, 2]].map(Schedule::from);
    assert_eq!(woken(ScheduleTest::new(3).only(schedules)), [1, 2]);
}

#[test]
fn waits_end_spuriously_only_if_asked() {
    let run = |test: ScheduleTest| {
        test.try_run(|sched| {
            let ready = sched.share(Monitor::new(std::cell::Cell::new(false)));
            let saw = sched.thread(|| {
                ready.synchronized(|flag| {
                    if !flag.get() {
                        ready.wait();
                    }
                    flag.get()
                })
            });
            sched.thread(|| {
                ready.synchronized(|flag| {
                    flag.set(true);
                    ready.notify_all();
                });
            });
            sched.validate(move |results| results[saw]);
        })
    };
    assert!(run(ScheduleTest::new(2)).is_ok());
    let failure = run(ScheduleTest::new(2).also(Also::SpuriousWakeUps)).unwrap_err();
    assert_eq!(failure.kind, Kind::IncorrectResults);
}
