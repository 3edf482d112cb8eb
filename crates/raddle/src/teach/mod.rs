//! Explicit schedules: tests for teaching, in the manner of Muscat (EPFL, Scala 2016).
//!
//! A test says which threads there are and what their results must be. It is run under many schedules: lists of threads that take
//! [turns](Schedule), sampled uniformly among those with few context switches. A failure shows the log of what each thread did, indented
//! by thread, the reason of a deadlock, and a minimised schedule to paste back into a test.
//!
//! ```
//! use raddle::monitor::{Field, Monitor};
//! use raddle::teach::test_many_schedules;
//!
//! test_many_schedules(2, |sched| {
//!     let counter = sched.share(Monitor::new(Field::new("count", 0)));
//!     let increment = || counter.synchronized(|count| count.update(|count| count + 1));
//!     sched.thread(increment);
//!     sched.thread(increment);
//!     sched.validate(|_| match counter.synchronized(|count| count.get()) {
//!         2 => Ok(()),
//!         count => Err(format!("the count is {count} after two increments")),
//!     });
//! });
//! ```
//!
//! Under `cargo raddle test` every atomic access is a turn, and so are operations of monitors and of std's locks. Under plain `cargo
//! test`, the turns are operations of [monitors](crate::monitor), [marked operations](crate::step) and whatever blocks.

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod minimise;
mod output;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod run;
mod schedule;
mod scheduler;
mod space;
mod test;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "unsupported.rs"
)]
mod try_run;
mod verdict;

pub use schedule::Schedule;
pub use scheduler::{Handle, Results, Scheduler};
pub use space::ScheduleSpace;
pub use test::{ScheduleTest, TestReport};
pub use verdict::Verdict;

use raddle_report::{Failure, Kind};

/// Runs a test of so many threads under 10,000 schedules, as [`ScheduleTest`] does by default.
///
/// # Panics
/// With the report of the failure, if a schedule fails: a thread panics, the validator rejects the results, or threads wait or spin for
/// ever.
#[track_caller]
pub fn test_many_schedules(threads: usize, test: impl Fn(&Scheduler)) -> TestReport {
    ScheduleTest::new(threads).run(test)
}

/// Runs a test of one thread, once.
///
/// ```
/// raddle::teach::test_sequential(|| {
///     let queue = std::collections::VecDeque::from([1]);
///     (queue.front() == Some(&1), "the first is 1")
/// });
/// ```
///
/// # Panics
/// If the test panics, its verdict is a failure, or it never ends.
#[track_caller]
pub fn test_sequential<V: Verdict>(test: impl Fn() -> V) -> TestReport {
    ScheduleTest::new(1).schedules(1).run(|sched| {
        let verdict = test().failure();
        sched.thread(|| ());
        sched.validate(move |_| verdict.map_or(Ok(()), Err));
    })
}

/// Runs a test that must deadlock under some schedule, and returns how.
///
/// # Panics
/// If no schedule fails, or one fails in another way.
#[track_caller]
pub fn assert_deadlock(threads: usize, test: impl Fn(&Scheduler)) -> Box<Failure> {
    ScheduleTest::new(threads).assert_fails(&[Kind::Deadlock], test)
}

/// Runs a test under some schedule of which threads must wait, spin or run for ever, and returns how.
///
/// # Panics
/// If no schedule fails, or one fails in another way.
#[track_caller]
pub fn assert_maybe_deadlock(threads: usize, test: impl Fn(&Scheduler)) -> Box<Failure> {
    ScheduleTest::new(threads).assert_fails(&[Kind::Deadlock, Kind::Livelock, Kind::TimeLimit], test)
}
