//! The engine's part of a test: the strategy that lets threads take turns, and what becomes of a failure.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use raddle_engine::exploration::Found;
use raddle_engine::strategy::{Infeasible, TurnLog, TurnSource, Turns, Why};
use raddle_engine::thread::ThreadStatus;
use raddle_engine::{Judge, Outcome};
use raddle_report::{Failure, Kind, deadlock_sentence};

use super::minimise::minimise;
use super::schedule::Schedule;
use super::space::ScheduleSpace;
use crate::closure::{self, Client, Passed};
use crate::options::{Options, Strategy};
use crate::search::attempt::{Attempt, Workload};
use crate::search::config::strategy;

/// Where schedules come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Sampled(ScheduleSpace),
    All(ScheduleSpace),
    Given(Vec<Schedule>),
}

impl Source {
    fn into_turns(self, seed: u64) -> TurnSource {
        match self {
            Source::Sampled(space) => Box::new(move |execution, entries| {
                space.write_sample(seed, execution, entries);
                true
            }),
            Source::All(space) => Box::new(move |execution, entries| space.write(execution.into(), entries)),
            Source::Given(schedules) => Box::new(move |execution, entries| {
                let schedule = usize::try_from(execution).ok().and_then(|number| schedules.get(number));
                entries.extend(schedule.into_iter().flat_map(Schedule::threads));
                schedule.is_some()
            }),
        }
    }
}

/// Runs the test.
pub(super) fn run(
    options: Options,
    at: &'static Location<'static>,
    frame_pointer: usize,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    client: &TurnClient<'_>,
) -> Result<Passed, Box<Failure>> {
    closure::explore(options, at, frame_pointer, true, run, judge, client)
}

/// A test whose threads take turns by schedules.
pub(super) struct TurnClient<'a> {
    source: Source,
    strict: bool,
    /// What is wrong with the results of the execution that was judged last.
    rejected: &'a RefCell<String>,
    /// What became of the latest schedule, in memory of the engine.
    log: RefCell<Option<Rc<RefCell<TurnLog>>>>,
    /// The schedule of the failure.
    failing: RefCell<Option<Schedule>>,
}

impl<'a> TurnClient<'a> {
    pub(super) fn new(source: Source, strict: bool, rejected: &'a RefCell<String>) -> TurnClient<'a> {
        TurnClient { source, strict, rejected, log: RefCell::new(None), failing: RefCell::new(None) }
    }

    /// The schedules that the options ask for: those of the test, or one from the environment. None if they ask for another strategy.
    fn source_of(&self, options: &Options) -> Option<Source> {
        match &options.strategy {
            Strategy::Turns(threads) if threads.is_empty() => Some(self.source.clone()),
            Strategy::Turns(threads) => Some(Source::Given(vec![Schedule::from(&threads[..])])),
            _ => None,
        }
    }
}

impl Client for TurnClient<'_> {
    fn strategy(&self, options: &Options) -> Box<dyn FnOnce() -> Box<dyn raddle_engine::Strategy> + '_> {
        let Some(source) = self.source_of(options) else { return Box::new(strategy(options)) };
        let (seed, only_marked) = (options.seed, options.only_marked);
        let seed_of_rest = matches!(source, Source::Sampled(_)).then_some(seed);
        Box::new(move || {
            let log = Rc::<RefCell<TurnLog>>::default();
            self.log.replace(Some(Rc::clone(&log)));
            let turns = Turns::new(source.clone().into_turns(seed), log, seed_of_rest);
            Box::new(turns.strict(self.strict).only_marked(only_marked))
        })
    }

    fn simplify(
        &self,
        options: &Options,
        attempt: &mut Attempt<'_>,
        found: Found,
        work: &mut Workload<'_>,
    ) -> Result<Found, String> {
        let Some(log) = self.log.borrow().clone() else { return Ok(found) };
        if let (Outcome::Diverged { .. }, Some(infeasible)) = (&found.outcome, log.borrow().infeasible) {
            return Err(say_infeasible(infeasible));
        }
        if matches!(self.source_of(options), Some(Source::Given(_))) {
            // A schedule that was written by hand is the one to be shown.
            self.failing.replace(Some(Schedule::from(&log.borrow().made[..])));
            return Ok(found);
        }
        let Some((schedule, found_again)) = minimise(options, attempt, &found, &log, work) else {
            return Ok(found);
        };
        self.failing.replace(Some(schedule));
        Ok(Found { execution: found.execution, ..found_again })
    }

    fn decorate(&self, failure: &mut Failure) {
        if let Some(schedule) = &*self.failing.borrow() {
            failure.found_by.strategy = Strategy::Turns(schedule.threads().to_vec()).to_string();
        }
        match failure.kind {
            Kind::IncorrectResults => {
                failure.message = format!("this schedule leads to wrong results: {}", self.rejected.borrow());
            }
            Kind::Deadlock => {
                if let Some(sentence) = deadlock_sentence(failure) {
                    failure.message = sentence;
                }
            }
            _ => {}
        }
    }
}

/// Where a strict schedule could not be followed, and why.
fn say_infeasible(Infeasible { entry, thread, why }: Infeasible) -> String {
    let instead = match why {
        Why::Missing => "there is no such thread",
        Why::Waits(ThreadStatus::Lock { .. }) => "it waits for a lock that another thread holds",
        Why::Waits(ThreadStatus::Futex { .. }) => "it waits to be notified or woken",
        Why::Waits(ThreadStatus::Join(_) | ThreadStatus::JoinScope) => "it waits for a thread to end",
        Why::Waits(ThreadStatus::Sleeping) => "it sleeps",
        Why::Waits(ThreadStatus::Spinning) => "it spins until something changes",
        Why::Waits(ThreadStatus::Runnable) => "it yields to the others",
        Why::Waits(ThreadStatus::Finished) => "it has ended",
    };
    format!(
        "raddle: the schedule cannot be followed: entry {} is thread {thread}, but {instead}; change the schedule, or leave out `strict` to \
         follow it out of turn",
        entry + 1
    )
}
