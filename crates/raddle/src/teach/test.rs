//! Tests under many schedules, with options.

use std::time::Duration;

use raddle_options::Values;
use raddle_report::{Failure, Kind};

use super::output::{fail, say_otherwise};
use super::schedule::Schedule;
use super::scheduler::Scheduler;
use crate::monitor::Calls;
use crate::options::{Also, Memory, Options, Strategy};

/// Defaults of Muscat.
const SCHEDULES: u64 = 10_000;
pub(super) const TURNS_PER_THREAD: usize = 20;
const SWITCHES: usize = 10;
const BUDGET: Duration = Duration::from_secs(120);
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// A test under many schedules.
///
/// By default it makes 10,000 schedules with 20 entries per thread and at most 10 context switches, for at most 120 seconds, of which one
/// schedule may take 15: the numbers of Muscat. They are sampled uniformly, by a seed. Memory is sequentially consistent, and a
/// notification may wake any thread that waits.
///
/// ```
/// use raddle::teach::{Schedule, ScheduleTest};
///
/// let report = ScheduleTest::new(2).only([Schedule::from([1, 2]), Schedule::from([2, 1])]).run(|sched| {
///     let one = sched.thread(|| raddle::step("one", || 1));
///     let two = sched.thread(|| raddle::step("two", || 2));
///     sched.validate(move |results| results[one] + results[two] == 3);
/// });
/// assert_eq!(report.schedules, 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a test does nothing until `run` or `try_run`"]
pub struct ScheduleTest {
    pub(super) threads: usize,
    pub(super) options: Options,
    pub(super) length: Option<usize>,
    pub(super) switches: usize,
    pub(super) schedules: Option<Vec<Schedule>>,
    pub(super) enumerated: bool,
    pub(super) strict: bool,
}

impl ScheduleTest {
    /// A test of so many threads.
    pub fn new(threads: usize) -> ScheduleTest {
        let values = Values {
            strategy: Strategy::Turns(Vec::new()),
            executions: Some(SCHEDULES),
            budget: Some(BUDGET),
            time_limit: TIME_LIMIT,
            memory: Some(Memory::Sc),
            also: vec![Also::WakeOrders],
            ..Values::default()
        };
        let options = Options::from(values);
        let (length, schedules) = (None, None);
        ScheduleTest {
            threads,
            options,
            length,
            switches: SWITCHES,
            schedules,
            enumerated: false,
            strict: false,
        }
    }

    /// Samples this many schedules.
    pub fn schedules(mut self, schedules: u64) -> ScheduleTest {
        self.options.executions = Some(schedules);
        self
    }

    /// The number of entries of a schedule.
    pub fn length(mut self, length: usize) -> ScheduleTest {
        self.length = Some(length);
        self
    }

    /// The largest number of context switches of a schedule.
    pub fn switches(mut self, switches: usize) -> ScheduleTest {
        self.switches = switches;
        self
    }

    /// The numbers of the published evaluation: 10,000 schedules with 20 entries and at most 10 context switches.
    pub fn as_evaluated(self) -> ScheduleTest {
        self.schedules(SCHEDULES).length(20).switches(10)
    }

    /// Runs these schedules and no others.
    pub fn only(mut self, schedules: impl IntoIterator<Item = Schedule>) -> ScheduleTest {
        let schedules: Vec<Schedule> = schedules.into_iter().collect();
        self.options.executions = Some(schedules.len() as u64);
        self.schedules = Some(schedules);
        self
    }

    /// Runs all schedules of the [length](Self::length) within the [bound](Self::switches), those with fewer context switches first, as
    /// far as the time goes.
    pub fn enumerated(mut self) -> ScheduleTest {
        self.options.executions = None;
        self.enumerated = true;
        self
    }

    /// Takes a schedule that cannot be followed for an error, which says where and why.
    pub fn strict(mut self) -> ScheduleTest {
        self.strict = true;
        self
    }

    /// Explores every execution instead of schedules: by [`Strategy::Exhaustive`], or, with [`only_marked`](Self::only_marked) and in code
    /// that is not instrumented, every interleaving of turns.
    pub fn exhaustively(mut self) -> ScheduleTest {
        self.options.strategy = Strategy::Exhaustive;
        self.options.executions = None;
        self
    }

    /// Takes only [marked operations](crate::step), locks and operations of monitors for turns; a marked operation then is atomic as a
    /// whole.
    pub fn only_marked(mut self) -> ScheduleTest {
        self.options.only_marked = true;
        self
    }

    /// The seed of the sample.
    pub fn seed(mut self, seed: u64) -> ScheduleTest {
        self.options.seed = seed;
        self
    }

    /// Limits the time of one schedule.
    pub fn time_limit(mut self, limit: Duration) -> ScheduleTest {
        self.options.time_limit = limit;
        self
    }

    /// Limits the time of all schedules.
    pub fn budget(mut self, budget: Duration) -> ScheduleTest {
        self.options.budget = Some(budget);
        self
    }

    /// Limits the events of one schedule. One that makes more goes on fairly, and is a livelock if it does not end even so.
    pub fn max_steps(mut self, steps: u64) -> ScheduleTest {
        self.options.max_steps = steps;
        self
    }

    /// Lets something else happen, too, such as spurious wake-ups.
    pub fn also(mut self, also: Also) -> ScheduleTest {
        self.options.also.push(also);
        self
    }

    /// Which values a read may see.
    pub fn memory(mut self, memory: Memory) -> ScheduleTest {
        self.options.memory = Some(memory);
        self
    }

    /// Whether to look for data races. They are looked for unless this says otherwise.
    pub fn races(mut self, races: bool) -> ScheduleTest {
        self.options.races = races;
        self
    }

    /// Makes schedules in this many processes at once.
    pub fn workers(mut self, workers: usize) -> ScheduleTest {
        self.options.workers = Some(workers.max(1));
        self
    }

    /// Runs the test.
    ///
    /// # Panics
    /// With the report of the failure, if there is one.
    #[track_caller]
    pub fn run(self, test: impl Fn(&Scheduler)) -> TestReport {
        match self.try_run(test) {
            Ok(report) => report,
            Err(failure) => fail(&failure),
        }
    }

    /// Runs the test, which must fail in one of these ways, and returns how.
    ///
    /// # Panics
    /// If no schedule fails, or one fails in another way.
    #[track_caller]
    pub fn assert_fails(self, kinds: &[Kind], test: impl Fn(&Scheduler)) -> Box<Failure> {
        match self.try_run(test) {
            Err(failure) if kinds.contains(&failure.kind) => failure,
            otherwise => say_otherwise(kinds, otherwise),
        }
    }
}

/// What a test without failure says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestReport {
    /// Executions made: one for each schedule.
    pub schedules: u64,
    /// Whether every execution was made, which only [`ScheduleTest::exhaustively`] can say.
    pub complete: bool,
    /// What was not tried although it is possible.
    pub left_out: Vec<&'static str>,
    /// How often monitors were used, in all executions of this process together.
    pub calls: Calls,
    /// Events of all executions together.
    pub events: u64,
    /// Changes of thread in all executions together.
    pub switches: u64,
    /// How long the test took.
    pub elapsed: Duration,
    /// The seed that makes the same test again.
    pub seed: u64,
}
