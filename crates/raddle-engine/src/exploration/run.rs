//! The loop of a search: executions until one fails, there are no more, or the budget is spent.

use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Instant;

use super::estimate::{self, Prospect};
use super::workers::exhaustive::{Forked, PoolResult, WorkerPool};
use super::workers::isolated;
use super::{Effort, Found, Progress, Search, SearchReport};
use crate::execution::recognition::Recognised;
use crate::execution::{ChildResult, ChoiceLog, Judge};
use crate::interface::signals;
use crate::left_out::Reason;
use crate::outcome::{Discarded, Outcome};
use crate::platform::file_pages;

/// Interval of progress reports, in ticks of the watchdog.
const PROGRESS_TICKS: u64 = (250 / signals::TICK_MS) as u64;

/// The number of executions after which most of the code under test is known.
const SETTLED: u64 = 256;

/// A search of no more executions is over before memory counts.
const FEW: u64 = 16;

/// A search while it runs, in one process.
struct Run<'r, 's, 'a> {
    search: &'r mut Search<'a>,
    body: &'r mut dyn FnMut(),
    judge: &'r mut Judge<'s>,
    begin: Instant,
    report: SearchReport,
    /// The processes that share the search, if it is exhaustive and may be shared.
    pool: &'r mut Option<WorkerPool>,
    /// The choices of executions in child processes.
    choice_log: Option<ChoiceLog>,
    /// The number of events at which the next estimate is due. None if this process does not estimate.
    estimate_due: Option<u64>,
    /// Whether the search may take the extended effort, because it is estimated to end within it.
    is_extended: bool,
    /// Ticks of the watchdog at the last check of the budget, and at the last progress report.
    ticks: u64,
    ticks_reported: u64,
}

/// The next step of a search.
enum Next {
    /// Make the execution that was begun.
    Execute,
    /// The model checker pauses: ask it again.
    Pause,
    /// There are no more executions.
    None,
}

impl Search<'_> {
    /// Runs the search, in as many processes as it may use, until it has a result.
    pub(super) fn run_to_end(
        &mut self,
        begin: Instant,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> SearchReport {
        loop {
            let can_share = self.config.exhaustive && !self.config.fork && self.config.workers > 1;
            let mut pool = can_share.then(|| WorkerPool::new(self.config.workers, self.config.alone));
            let mut report = Run::new(self, body, judge, begin, &mut pool).run();
            let Some(pool) = pool else { return report };
            let mut polls = 0u64;
            let left = pool.leave(&mut report, &self.outcome_counts, |executions| {
                polls += 1;
                if polls.is_multiple_of(1000) {
                    self.report_progress(executions, 0);
                }
            });
            match left {
                PoolResult::Done(outcomes) => {
                    report.failure = self.count_remote(outcomes, body, judge);
                    return report;
                }
                PoolResult::Failed(schedule) => {
                    let execution = report.executions.saturating_sub(1);
                    if report.failure.is_none() {
                        let mut found = Found { execution, ..self.rerun(&schedule, body, judge) };
                        if found.outcome == Outcome::Passed {
                            // It failed in the process that found it.
                            found.outcome = Outcome::Diverged { choice: schedule.threads.len() };
                        }
                        report.failure = Some(found);
                    }
                    return report;
                }
                PoolResult::MustRestart(refinement) => {
                    self.outcome_counts.clear();
                    if let Some(checker) = self.checker() {
                        checker.refine(refinement);
                        checker.take_refinement();
                    }
                }
            }
        }
    }

    /// Makes one execution in this process.
    pub(super) fn execute_here(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        execution: u64,
        report: &mut SearchReport,
    ) -> Option<Found> {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &mut *self.engine };
        if let Some(recognised) = engine.recognise(execution) {
            let Recognised { counts, outcome_class } = recognised;
            engine.exploration.strategy.end(counts.choices as usize);
            engine.execution.outcome_class.set(outcome_class);
            report.steps += u64::from(counts.steps);
            report.switches += u64::from(counts.switches);
            report.recognised += 1;
            return None;
        }
        let outcome = self.execute(body, judge);
        // SAFETY: as above.
        let engine = unsafe { &mut *self.engine };
        engine.exploration.strategy.end(engine.execution.schedule.len());
        // An execution that differs from its simulation counts when it is made again.
        let is_repeated =
            outcome == Outcome::Discarded(Discarded::Repeat) && engine.exploration.checker.is_none();
        if !is_repeated {
            report.steps += engine.execution.steps;
            report.steps_made += engine.execution.steps - engine.execution.begun_at;
            report.switches += engine.execution.switches;
        }
        if let Outcome::Discarded(why) = outcome {
            report.executions -= 1;
            match why {
                Discarded::Repeat | Discarded::BoundExceeded => {}
                Discarded::Blocked => report.blocked += 1,
                Discarded::Restart => {
                    self.outcome_counts.clear();
                    (report.executions, report.blocked, report.restarted) = (0, 0, true);
                }
            }
            return None;
        }
        let passed = outcome == Outcome::Passed;
        let failure = self.failure(outcome, execution, body, judge);
        if passed && failure.is_none() {
            // SAFETY: as above.
            unsafe { (*self.engine).record_end() };
        }
        failure
    }

    /// Makes one execution in a child. A failing one is repeated in this process, which is still as it was.
    fn execute_in_child(
        &mut self,
        choice_log: &mut ChoiceLog,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        execution: u64,
        report: &mut SearchReport,
    ) -> Option<Found> {
        choice_log.clear();
        isolated::in_child(|| {
            if let Some(handlers) = &mut self.handlers {
                handlers.start_watchdog();
            }
            // SAFETY: the engine lives as long as `self`.
            unsafe { (*self.engine).exploration.choice_log = Some(*choice_log) };
            let outcome = self.execute(body, judge);
            // SAFETY: as above.
            let log = unsafe { (*self.engine).exploration.choice_log.take() };
            let passed = self.failure(outcome, execution, body, judge).is_none();
            if let Some(log) = log {
                // SAFETY: as above.
                let engine = unsafe { &*self.engine };
                log.report(ChildResult {
                    passed,
                    steps: engine.execution.steps,
                    switches: engine.execution.switches,
                    choices: engine.execution.schedule.len(),
                    left_out: engine.exploration.left_out,
                    fair_since: engine.fair_since(),
                });
            }
        });
        // SAFETY: as above.
        let engine = unsafe { &mut *self.engine };
        let reported = choice_log.receive(&mut *engine.exploration.strategy);
        report.steps += reported.steps;
        report.switches += reported.switches;
        engine.exploration.left_out.join(reported.left_out);
        if reported.passed {
            return None;
        }
        Some(Found { execution, ..self.rerun(&choice_log.schedule(), body, judge) })
    }

    pub(super) fn report_progress(&self, executions: u64, depth: usize) {
        let estimate = self.estimated();
        (self.config.progress)(&Progress { config: self.config, executions, estimate, depth });
    }
}

impl<'r, 's, 'a> Run<'r, 's, 'a> {
    fn new(
        search: &'r mut Search<'a>,
        body: &'r mut dyn FnMut(),
        judge: &'r mut Judge<'s>,
        begin: Instant,
        pool: &'r mut Option<WorkerPool>,
    ) -> Run<'r, 's, 'a> {
        if let Some(checker) = search.checker() {
            // The checkpoints belong to executions of another body.
            checker.discard_checkpoints();
        }
        let is_forked = search.config.fork;
        // SAFETY: the engine lives as long as the search.
        let engine = unsafe { &mut *search.engine };
        engine.forget_prefixes();
        let samples = engine.exploration.checker.is_none() && !is_forked;
        engine.exploration.recognition = (search.config.recognises && samples).then(Box::default);
        Run {
            search,
            body,
            judge,
            begin,
            report: SearchReport::default(),
            pool,
            choice_log: is_forked.then(ChoiceLog::map),
            estimate_due: (!is_forked).then_some(estimate::FIRST),
            is_extended: false,
            ticks: 0,
            ticks_reported: 0,
        }
    }

    fn run(mut self) -> SearchReport {
        while self.spend_budget().is_continue() {
            match self.begin_execution() {
                Next::Execute => {}
                Next::Pause => continue,
                Next::None => break,
            }
            if self.execute().is_break() || self.share_work().is_break() {
                break;
            }
        }
        if self.report.executions > FEW {
            // What is said of the search is not the work of the code that made it.
            file_pages::give_back();
        }
        self.into_report()
    }

    /// Estimates the search if that is due, and reports progress. Breaks if the budget is spent.
    fn spend_budget(&mut self) -> ControlFlow<()> {
        // SAFETY: the engine lives as long as the search; references end with each statement.
        let engine = unsafe { &*self.search.engine };
        let (ticks, depth) = (engine.exploration.watchdog.total, engine.execution.schedule.len());
        let has_ticked = std::mem::replace(&mut self.ticks, ticks) != ticks;
        let executions = self.pool.as_ref().map_or(self.report.executions, WorkerPool::executions);
        let effort = self.effort();
        let is_spent = |parts: u32| {
            let is_late = || effort.time.is_some_and(|time| self.begin.elapsed() >= time / parts);
            executions >= effort.executions / u64::from(parts) || (has_ticked && is_late())
        };
        let events = self.search.events_for_estimates(&self.report);
        let wants_estimate = |due: &u64| self.search.wants_estimate(*due, events, is_spent(2));
        match self.estimate_due.filter(wants_estimate) {
            Some(due) => self.estimate(due, executions)?,
            None if is_spent(1) || (has_ticked && signals::interrupted()) => return Break(()),
            None => {}
        }
        if has_ticked && self.ticks >= self.ticks_reported + PROGRESS_TICKS {
            self.ticks_reported = self.ticks;
            self.search.report_progress(executions, depth);
        }
        Continue(())
    }

    /// The effort that the search may take.
    fn effort(&self) -> Effort {
        let config = self.search.config;
        let first = Effort { executions: config.executions, time: config.budget };
        config.extended_effort.filter(|_| self.is_extended).unwrap_or(first)
    }

    /// Estimates the size of the search. Breaks if an execution fails, or if the end is far.
    fn estimate(&mut self, due: u64, executions: u64) -> ControlFlow<()> {
        let events = self.search.events_for_estimates(&self.report);
        self.estimate_due = Some(due.max(events) * estimate::TIMES_MORE);
        self.report.failure = self.search.estimate(self.body, self.judge, &mut self.report);
        let prospect = self.search.prospect(executions, self.begin.elapsed());
        if let Some(pool) = self.pool {
            pool.announce(prospect);
        }
        if self.report.failure.is_some() || prospect == Prospect::Far {
            return Break(());
        }
        self.is_extended |= prospect == Prospect::Near;
        Continue(())
    }

    /// Asks the model checker or the strategy for the next execution.
    fn begin_execution(&mut self) -> Next {
        let execution = self.report.executions;
        // SAFETY: the engine lives as long as the search.
        let exploration = unsafe { &mut (*self.search.engine).exploration };
        let (has_more, claims_all) = match &mut exploration.checker {
            Some(checker) => (checker.begin(), true),
            None => (exploration.strategy.begin(execution), exploration.strategy.is_exhaustive()),
        };
        if has_more {
            return Next::Execute;
        }
        let pauses = exploration.checker.as_mut().is_some_and(|checker| checker.take_paused());
        let is_late = || self.effort().time.is_some_and(|time| self.begin.elapsed() >= time);
        if pauses && !is_late() && !signals::interrupted() {
            return Next::Pause;
        }
        self.report.complete = claims_all && !pauses;
        Next::None
    }

    /// Makes the execution that was begun. Breaks if it fails, or if the search is inconclusive and has to be
    /// conclusive.
    fn execute(&mut self) -> ControlFlow<()> {
        let Run { search, body, judge, report, choice_log, .. } = self;
        let execution = report.executions;
        report.executions += 1;
        if execution == 0 || execution == SETTLED {
            // What took the process over, and then what looked at its code, is not needed any more.
            file_pages::give_back();
        }
        // SAFETY: the engine lives as long as the search.
        unsafe { (*search.engine).number(execution) };
        report.failure = match choice_log {
            Some(choice_log) => search.execute_in_child(choice_log, body, judge, execution, report),
            None => search.execute_here(body, judge, execution, report),
        };
        if report.failure.is_some() {
            return Break(());
        }
        search.count_outcome();
        let is_inconclusive = search.config.stop_when_inconclusive
            && search.checker().is_some_and(|c| c.saw_uninstrumented_writes());
        if is_inconclusive { Break(()) } else { Continue(()) }
    }

    /// Shares the rest of the search with other processes, if it may be shared and is worth it. Breaks if this process
    /// must end.
    fn share_work(&mut self) -> ControlFlow<()> {
        let Search { engine, config, .. } = *self.search;
        // SAFETY: the engine lives as long as the search.
        let exploration = unsafe { &mut (*engine).exploration };
        let executions = self.report.executions;
        if let (Some(pool), Some(checker)) = (&mut *self.pool, &mut exploration.checker) {
            if !pool.publish_progress(executions, checker.take_refinement()) {
                return Break(());
            }
            self.is_extended |= pool.is_extended();
            if pool.share(executions, checker) == Forked::Child {
                self.estimate_due = None;
                self.report = SearchReport::default();
                self.search.outcome_counts.forget_counts();
                if let Some(handlers) = &mut self.search.handlers {
                    handlers.start_watchdog();
                }
            }
        }
        let is_worth_it = self.report.executions >= config.alone.max(1) && config.workers > 1;
        if is_worth_it && !config.fork && exploration.strategy.is_indexed() && self.pool.is_none() {
            self.search.run_workers(self.body, self.judge, self.begin, &mut self.report);
            return Break(());
        }
        Continue(())
    }

    fn into_report(self) -> SearchReport {
        let Run { search, mut report, choice_log, begin, .. } = self;
        if let Some(choice_log) = choice_log {
            choice_log.unmap();
        }
        // SAFETY: the engine lives as long as the search.
        let exploration = unsafe { &(*search.engine).exploration };
        report.left_out = exploration.left_out;
        if let Some(checker) = &exploration.checker {
            report.inconclusive = checker.saw_uninstrumented_writes();
            report.exceeded = checker.graphs_beyond_bound();
            if checker.has_unproven_spins() {
                report.left_out.add(Reason::YieldingLoops);
            }
        }
        report.estimate = search.estimated();
        report.elapsed = begin.elapsed();
        report
    }
}
