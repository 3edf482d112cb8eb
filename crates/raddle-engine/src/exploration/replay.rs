//! Replay: executions made again by their schedules.

use std::mem;

use super::outcomes::RemoteOutcome;
use super::{Found, Search, ThreadReport};
use crate::execution::{Judge, RaceDetector};
use crate::model_checker::ModelChecker;
use crate::outcome::{Discarded, Outcome};
use crate::schedule::Schedule;
use crate::strategy::{Scripted, Strategy};
use crate::trace::{Namer, Observer, Trace};

impl Search<'_> {
    /// Makes the execution of a schedule again, without recording it.
    pub fn rerun(&mut self, schedule: &Schedule, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> Found {
        self.rerun_and(schedule, body, judge, &mut |_| {})
    }

    /// The same, and looks at the execution graph, if there is one.
    pub(super) fn rerun_and(
        &mut self,
        schedule: &Schedule,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        look: &mut dyn FnMut(Option<&ModelChecker>),
    ) -> Found {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            let graphs = (*self.engine).exploration.checker.take();
            if graphs.is_some() {
                let scripted = ModelChecker::replaying(self.config.memory, schedule.clone());
                (*self.engine).exploration.checker = Some(Box::new(scripted));
            }
            let script = || Box::new(Scripted::new(schedule.clone()));
            let strategy = mem::replace(&mut (*self.engine).exploration.strategy, script());
            let random = (*self.engine).follow(schedule);
            let mut outcome = Outcome::Discarded(Discarded::Repeat);
            while outcome == Outcome::Discarded(Discarded::Repeat) || (*self.engine).must_be_repeated() {
                (*self.engine).exploration.strategy = script();
                if let Some(script) = &mut (*self.engine).exploration.checker {
                    script.begin();
                }
                if let Some(trace) = &mut (*self.engine).exploration.trace {
                    trace.clear();
                }
                if let Some(observer) = &mut (*self.engine).exploration.observer {
                    observer.begin();
                }
                outcome = self.execute(body, judge);
            }
            (*self.engine).exploration.strategy = strategy;
            (*self.engine).follow_no_more(random);
            let found = self.found(outcome, 0);
            look((*self.engine).exploration.checker.as_deref());
            (*self.engine).exploration.checker = graphs;
            found
        }
    }

    /// Makes the execution with this number of another strategy than that of the search; its random bytes are those of a schedule. None if
    /// the search is exhaustive.
    pub fn execute_by(
        &mut self,
        strategy: impl Fn() -> Box<dyn Strategy>,
        schedule: &Schedule,
        number: u64,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Option<Found> {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            if (*self.engine).exploration.checker.is_some() {
                return None;
            }
            let begun = || {
                let mut strategy = strategy();
                strategy.begin(number);
                strategy
            };
            let strategy = mem::replace(&mut (*self.engine).exploration.strategy, begun());
            let random = (*self.engine).follow(schedule);
            // Beyond the schedule, the limits are those of a search.
            (*self.engine).exploration.scripted_limit = None;
            let mut outcome = Outcome::Discarded(Discarded::Repeat);
            while outcome == Outcome::Discarded(Discarded::Repeat) || (*self.engine).must_be_repeated() {
                (*self.engine).exploration.strategy = begun();
                outcome = self.execute(body, judge);
            }
            (*self.engine).exploration.strategy = strategy;
            (*self.engine).follow_no_more(random);
            Some(self.found(outcome, number))
        }
    }

    /// The failure of the latest execution, if it fails. It may fail only when it is repeated, because only now it is
    /// known which lines of stacks threads share, and whether threads are left. It may fail otherwise when it is repeated, because the
    /// race detector rested.
    pub(super) fn failure(
        &mut self,
        outcome: Outcome,
        execution: u64,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Option<Found> {
        // These outcomes end the search rather than the execution.
        let is_final = !matches!(
            outcome,
            Outcome::Asymmetric { .. } | Outcome::Unsupported { .. } | Outcome::Diverged { .. }
        );
        let failure = (outcome != Outcome::Passed).then(|| self.found(outcome, execution));
        // SAFETY: the engine lives as long as `self`.
        let has_learned = unsafe { (*self.engine).must_be_repeated() };
        // SAFETY: as above.
        let may_be_race = failure.is_some() && unsafe { (*self.engine).has_rested() };
        if !(has_learned || may_be_race) || !is_final {
            return failure;
        }
        // SAFETY: as above.
        let schedule = unsafe { (*self.engine).choices() };
        let again = Found { execution, ..self.rerun(&schedule, body, judge) };
        if again.outcome == Outcome::Passed { failure } else { Some(again) }
    }

    /// Replays a schedule, and records a trace, with names and an observer of memory.
    ///
    /// Recording takes long, so the time is limited only if the time limit is the failure.
    pub fn replay(
        &mut self,
        schedule: &Schedule,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        trace: Trace,
        (namer, observer): (Namer, Box<dyn Observer>),
        limit_time: bool,
    ) -> (Found, Trace) {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            // Which plain writes are seen is then a matter of this execution alone, which is repeated until all are.
            RaceDetector::begin_sharing(self.config.fork);
            (*self.engine).exploration.trace = Some(trace);
            let max_ticks = (*self.engine).exploration.limits.max_ticks;
            if !limit_time {
                (*self.engine).exploration.limits.max_ticks = u32::MAX;
            }
            (*self.engine).exploration.namer = Some(namer);
            (*self.engine).exploration.observer = Some(observer);
            let found = self.rerun(schedule, body, judge);
            (*self.engine).exploration.namer = None;
            (*self.engine).exploration.observer = None;
            (*self.engine).exploration.limits.max_ticks = max_ticks;
            let trace = (*self.engine).exploration.trace.take().expect("set above");
            (found, trace)
        }
    }

    pub(super) fn found(&self, outcome: Outcome, execution: u64) -> Found {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &*self.engine };
        let threads = engine.threads[..engine.execution.alive].iter();
        let outcome = match (&engine.exploration.checker, outcome) {
            (Some(graphs), outcome) => outcome.map_thread(|thread| graphs.spawn_number_of(thread)),
            (None, outcome) => outcome,
        };
        Found {
            outcome,
            execution,
            schedule: engine.choices(),
            steps: engine.execution.steps,
            panic: engine.execution.panic.clone(),
            threads: threads
                .map(|thread| ThreadReport {
                    name: thread.name.clone(),
                    state: thread.status,
                    panicked: thread.panicked,
                    paused_at: thread.paused_at.clone(),
                })
                .collect(),
        }
    }

    /// Counts the latest execution, if it has an outcome class.
    pub(super) fn count_outcome(&mut self) {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &*self.engine };
        if let Some(kind) = engine.execution.outcome_class.take() {
            self.outcome_counts.add(kind, 1, || engine.choices());
        }
    }

    /// Finds the outcome classes of other processes' executions, by replaying one of each. Returns an execution that
    /// ends otherwise here.
    pub(super) fn count_remote(
        &mut self,
        outcomes: Vec<RemoteOutcome>,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Option<Found> {
        for RemoteOutcome { count, schedule } in outcomes {
            let found = self.rerun(&schedule, body, judge);
            if found.outcome != Outcome::Passed {
                let outcome = Outcome::Diverged { choice: schedule.threads.len() };
                return Some(Found { outcome, schedule, ..found });
            }
            // SAFETY: the engine lives as long as `self`.
            if let Some(kind) = unsafe { (*self.engine).execution.outcome_class.take() } {
                self.outcome_counts.add(kind, count, || schedule);
            }
        }
        None
    }
}
