//! The failures of a course: what is found, and what the reports say.
#![allow(unexpected_cfgs, reason = "`cargo raddle` sets `raddle`")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use raddle::monitor::{Field, Monitor};
use raddle::teach::{
    Schedule, ScheduleTest, Scheduler, assert_deadlock, assert_maybe_deadlock, test_many_schedules,
    test_sequential,
};
use raddle::{Failure, Kind, step};
use raddle_report::{Style, render_log};
use teaching::monitor_queue::{Queue, Wake};
use teaching::std_queue::StdQueue;

/// The lines of the log.
fn log(failure: &Failure) -> Vec<String> {
    let text = render_log(failure, Style { width: 120, colour: false, unicode: false }, None);
    let is_line = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    text.lines().filter(is_line).map(str::to_owned).collect()
}

/// The schedule that the failure names.
fn schedule(failure: &Failure) -> Schedule {
    let turns = failure.found_by.strategy.strip_prefix("turns:").expect("found by a schedule");
    turns.parse().unwrap()
}

/// Checks that the schedule of a failure makes it again, strictly.
#[track_caller]
fn check_schedule(threads: usize, failure: &Failure, test: impl Fn(&Scheduler)) {
    let again = ScheduleTest::new(threads).only([schedule(failure)]).strict().try_run(test).unwrap_err();
    assert_eq!((again.kind, log(&again)), (failure.kind, log(failure)));
}

fn producer_and_consumer(sched: &Scheduler, put: fn(&Queue, u32)) {
    let queue = sched.share(Queue::new(1, Wake::All));
    sched.thread(move || put(queue, 1));
    sched.thread(move || put(queue, 2));
    let taken = sched.thread(|| [queue.take(), queue.take()]);
    sched.validate(move |results| {
        let mut taken = results[taken];
        taken.sort_unstable();
        match taken {
            [1, 2] => Ok(()),
            _ => Err(format!("taken: {taken:?}")),
        }
    });
}

#[test]
fn a_queue_that_waits_in_loops_is_right() {
    let report = test_many_schedules(3, |sched| producer_and_consumer(sched, Queue::put));
    assert_eq!(report.schedules, 10_000);
    assert_eq!((report.calls.notify, report.calls.notify_all), (0, 40_000));
    assert!(report.calls.wait > 0 && report.calls.steps > 80_000);
}

#[test]
fn a_split_block_puts_two_values_into_one_place() {
    let test = |sched: &Scheduler| {
        let queue = sched.share(Queue::new(1, Wake::All));
        for value in [1, 2] {
            sched.thread(move || queue.put_in_two_parts(value));
        }
        sched.thread(|| queue.take());
    };
    // Both look before either puts: the count becomes 2, which nobody forbids; with a third thread that looks, it shows.
    let test_count = |sched: &Scheduler| {
        let queue = sched.share(Queue::new(1, Wake::All));
        for value in [1, 2] {
            sched.thread(move || queue.put_in_two_parts(value));
        }
        let most = sched.thread(|| queue.count());
        let taken = sched.thread(|| queue.take());
        sched.validate(move |results| {
            (results[most] <= 1, format!("{} values, {} taken", results[most], results[taken]))
        });
    };
    test_many_schedules(3, test);
    let failure = ScheduleTest::new(4).try_run(test_count).unwrap_err();
    assert_eq!(failure.kind, Kind::IncorrectResults);
    assert!(failure.message.contains("wrong results: 2 values"), "{}", failure.message);
    check_schedule(4, &failure, test_count);
}

#[test]
fn an_if_around_a_wait_overfills_the_queue() {
    let test = |sched: &Scheduler| {
        let queue = sched.share(Queue::new(1, Wake::All));
        for value in 1..=3 {
            sched.thread(move || queue.put_without_loop(value));
        }
        for _ in 0..2 {
            sched.thread(|| queue.take());
        }
        let most = sched.thread(|| queue.count());
        sched.validate(move |results| (results[most] <= 1, format!("{} values", results[most])));
    };
    let failure = ScheduleTest::new(6).try_run(test).unwrap_err();
    assert_eq!(failure.message, "this schedule leads to wrong results: 2 values");
    check_schedule(6, &failure, test);
}

#[test]
fn locks_in_opposite_orders_interlock() {
    let test = |sched: &Scheduler| {
        let [a, b] = [0; 2].map(|_| sched.share(Monitor::new(())));
        sched.thread(|| a.synchronized(|_| b.synchronized(|_| ())));
        sched.thread(|| b.synchronized(|_| a.synchronized(|_| ())));
    };
    let failure = assert_deadlock(2, test);
    let expected = "Deadlock: threads 1, 2 are interlocked: thread 1 waits for monitor";
    assert!(failure.message.starts_with(expected), "{}", failure.message);
    assert!(
        failure.message.contains("which thread 2 holds; thread 2 waits for monitor"),
        "{}",
        failure.message
    );
    assert!(failure.message.ends_with("which thread 1 holds"), "{}", failure.message);
    assert_eq!(schedule(&failure).switches(), 1);
    assert_eq!(
        log(&failure),
        [
            "1:synchronized -> enter",
            "  2:synchronized -> enter",
            "  2:synchronized -> waits to enter",
            "1:synchronized -> waits to enter",
        ]
    );
    check_schedule(2, &failure, test);
}

#[test]
fn std_locks_have_the_same_report() {
    let test = |sched: &Scheduler| {
        let queue = sched.share(StdQueue::new(1, Wake::One));
        for value in 1..=3 {
            sched.thread(move || queue.put(value));
        }
        for _ in 0..2 {
            sched.thread(|| queue.take());
        }
    };
    let failure = assert_deadlock(5, test);
    assert!(
        failure.message.contains("waiting to be notified, but all others have ended and cannot notify them"),
        "{}",
        failure.message
    );
    if cfg!(raddle) {
        let log = log(&failure).join("\n");
        for expected in
            ["locks", "unlocks", ":wait\n", "wait -> woken", "notify -> thread", "notify -> nobody"]
        {
            assert!(log.contains(expected), "{expected} in\n{log}");
        }
        check_schedule(5, &failure, test);
    }
    let right = |sched: &Scheduler| {
        let queue = sched.share(StdQueue::new(1, Wake::All));
        for value in 1..=3 {
            sched.thread(move || queue.put(value));
        }
        for _ in 0..2 {
            sched.thread(|| queue.take());
        }
    };
    ScheduleTest::new(5).schedules(2000).run(right);
}

#[test]
fn a_panic_is_that_of_its_thread() {
    let test = |sched: &Scheduler| {
        let slot = sched.share(Monitor::new(Field::new("slot", Some(1))));
        for _ in 0..2 {
            sched.thread(|| {
                slot.synchronized(|slot| slot.get()).map(|_| {
                    slot.synchronized(|slot| {
                        let taken = slot.get().expect("it was there before");
                        slot.set(None);
                        taken
                    })
                })
            });
        }
    };
    let failure = ScheduleTest::new(2).try_run(test).unwrap_err();
    assert_eq!(failure.kind, Kind::Panic);
    assert!(failure.message.starts_with("it was there before"), "{}", failure.message);
    let log = log(&failure);
    let panic = log.iter().find(|line| line.contains("panic:")).expect("the log has the panic");
    assert!(panic.trim_start().starts_with(['1', '2']), "{log:?}");
    check_schedule(2, &failure, test);
}

#[test]
fn misuse_of_a_monitor_is_a_failure() {
    let failure = ScheduleTest::new(1)
        .try_run(|sched| {
            let monitor = sched.share(Monitor::new(()));
            sched.thread(|| monitor.notify());
        })
        .unwrap_err();
    assert!(
        failure.message.starts_with("`notify` was called by a thread that is not inside"),
        "{}",
        failure.message
    );
}

#[test]
fn a_loop_that_never_ends_may_be_a_deadlock() {
    assert_maybe_deadlock(2, |sched| {
        let flag = sched.share(AtomicBool::new(false));
        sched.thread(|| while !step("read flag", || flag.load(SeqCst)) {});
        sched.thread(|| step("write nothing", || ()));
    });
}

#[test]
#[should_panic(expected = "expected deadlock, but none of 10000 schedules failed")]
fn a_test_that_does_not_deadlock_says_so() {
    assert_deadlock(1, |sched| _ = sched.thread(|| ()));
}

#[test]
#[should_panic(expected = "the test has 1 threads, but is said to have 2")]
fn the_number_of_threads_is_checked() {
    test_many_schedules(2, |sched| _ = sched.thread(|| ()));
}

#[test]
fn a_sequential_test_has_one_schedule() {
    let report = test_sequential(|| {
        let queue = Queue::new(2, Wake::All);
        queue.put(1);
        queue.put(2);
        (queue.take() == 1, "the first comes first")
    });
    assert_eq!((report.schedules, report.calls.notify_all), (1, 3));
}

#[test]
#[should_panic(expected = "the first comes last")]
fn a_sequential_test_fails() {
    test_sequential(|| Err::<(), _>("the first comes last"));
}

#[test]
fn the_same_seed_finds_the_same_failure() {
    let run = |seed: u64| {
        let test = |sched: &Scheduler| {
            let count = sched.share(AtomicU32::new(0));
            for _ in 0..3 {
                sched.thread(|| {
                    let read = step("read", || count.load(SeqCst));
                    step("write", || count.store(read + 1, SeqCst));
                });
            }
            sched.validate(|_| (count.load(SeqCst) == 3, "lost"));
        };
        let failure = ScheduleTest::new(3).only_marked().seed(seed).try_run(test).unwrap_err();
        (failure.found_by.execution, failure.found_by.strategy)
    };
    assert_eq!(run(1), run(1));
    // However it is found, the smallest schedule has one context switch between a read and a write, and back.
    let (_, strategy) = run(7);
    assert!(strategy.parse::<raddle::Strategy>().is_ok());
    let smallest: Schedule = strategy.strip_prefix("turns:").unwrap().parse().unwrap();
    assert!(smallest.switches() <= 2, "{smallest}");
}

#[test]
fn exhaustively_the_queue_is_right_and_its_mistake_is_found() {
    let test = |wake: Wake| {
        move |sched: &Scheduler| {
            let queue = sched.share(Queue::new(1, wake));
            sched.thread(|| queue.put(1));
            sched.thread(|| queue.put(2));
            let taken = sched.thread(|| queue.take() + queue.take());
            sched.validate(move |results| results[taken] == 3);
        }
    };
    let report = ScheduleTest::new(3).exhaustively().run(test(Wake::All));
    let spurious = "spurious wake-ups of `park` and `Condvar::wait`";
    assert_eq!(report.left_out, [spurious], "{report:?}");
    assert!(report.schedules > 10, "{report:?}");
}

#[test]
fn time_is_limited() {
    let begin = std::time::Instant::now();
    let report = ScheduleTest::new(1)
        .schedules(u64::MAX)
        .budget(Duration::from_millis(200))
        .run(|sched| _ = sched.thread(|| ()));
    assert!(report.schedules > 0 && begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn std_mutexes_interlock_too() {
    let failure = assert_deadlock(2, |sched| {
        let [a, b] = [0; 2].map(|_| sched.share(Mutex::new(())));
        sched.thread(|| {
            let _a = a.lock().unwrap();
            step("take b", || ());
            drop(b.lock().unwrap());
        });
        sched.thread(|| {
            let _b = b.lock().unwrap();
            step("take a", || ());
            drop(a.lock().unwrap());
        });
    });
    assert!(
        failure.message.contains("interlocked: thread 1 waits for mutex") || !cfg!(raddle),
        "{}",
        failure.message
    );
}
