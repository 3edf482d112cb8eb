//! The five threads and the queue with room for one value of the paper's Figure 4: `notify` wakes a thread that cannot use the
//! notification, and threads wait for ever.

use raddle::Kind;
use raddle::teach::{Schedule, ScheduleTest, Scheduler, assert_deadlock, test_many_schedules};
use raddle_report::{Style, render_log};
use teaching::monitor_queue::{Queue, Wake};

/// A log: thread 4 notifies a thread that puts, thread 5 comes first and waits, and the thread that puts notifies another one
/// that puts, which finds no room.
const LOG: &str = "\
1:synchronized → enter
1:Read count → 0
1:Read count → 0
1:Write count = 1
1:notify → nobody
1:synchronized → exit
  2:synchronized → enter
  2:Read count → 1
  2:wait
    3:synchronized → enter
    3:Read count → 1
    3:wait
      4:synchronized → enter
      4:Read count → 1
      4:Read count → 1
      4:Write count = 0
      4:notify → thread 2
      4:synchronized → exit
        5:synchronized → enter
        5:Read count → 0
        5:wait
  2:wait → enter
  2:Read count → 0
  2:Read count → 0
  2:Write count = 1
  2:notify → thread 3
  2:synchronized → exit
    3:wait → enter
    3:Read count → 1
    3:wait";

/// Three threads put, two take.
fn five_threads(sched: &Scheduler, wake: Wake) {
    let queue = sched.share(Queue::new(1, wake));
    for value in [1, 2] {
        sched.thread(move || queue.put(value));
    }
    sched.thread(move || queue.put(3));
    let takers = [0; 2].map(|_| sched.thread(move || queue.take()));
    sched.validate(move |results| {
        let [first, second] = takers.map(|taker| results[taker]);
        (first != second && queue.count() == 1, format!("{first} and {second} were taken"))
    });
}

#[test]
fn notify_instead_of_notify_all_is_a_deadlock() {
    let failure = assert_deadlock(5, |sched| five_threads(sched, Wake::One));
    let reason = "are waiting to be notified, but all others have ended and cannot notify them";
    assert!(
        failure.message.starts_with("Deadlock: threads ") && failure.message.ends_with(reason),
        "{}",
        failure.message
    );
}

#[test]
fn the_log_is_indented_by_thread() {
    // Without entries, the threads take turns in order.
    let test = ScheduleTest::new(5).only([Schedule::default()]);
    let failure = test.assert_fails(&[Kind::Deadlock], |sched| five_threads(sched, Wake::One));
    let reason =
        "Deadlock: threads 3, 5 are waiting to be notified, but all others have ended and cannot notify them";
    assert_eq!(failure.message, reason);
    let text = render_log(&failure, Style { width: 120, colour: false, unicode: true }, None);
    let log = text.lines().skip_while(|line| !line.is_empty()).skip(1).take_while(|line| !line.is_empty());
    assert_eq!(log.collect::<Vec<_>>().join("\n"), LOG);
}

#[test]
fn notify_all_is_right() {
    let report = test_many_schedules(5, |sched| five_threads(sched, Wake::All));
    assert_eq!((report.schedules, report.calls.notify), (10_000, 0));
}
