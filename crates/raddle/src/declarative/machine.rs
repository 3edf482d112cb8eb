//! Model checking of one plan: its executions on the engine.

use std::cell::{Cell, RefCell};

use raddle_engine::exploration::{Effort, Found};
use raddle_engine::strategy::PinMainThread;
use raddle_engine::{Config, EndedExecution, Outcome};
use raddle_reflect::Program;
use raddle_report::failure::{Failure, Kind};

use super::definition::Demands;
use super::execution::execute;
use super::judge::PlanJudge;
use super::real_time_orders::real_time_orders;
use super::report::decorate;
use super::scenario::Plan;
use super::subject::Subject;
use super::verify::Verification;
use crate::explain::explain;
use crate::options::Options;
use crate::search::attempt::{Attempt, Searched, Workload, gives_up, may_give_up};
use crate::search::config::{config, strategy};
use crate::search::exploration::Exploration;
use crate::search::portfolio::{self, Explored, Scope};
use crate::suppressions::suppress;
use crate::{build, replay};

/// The engine, set up for a test.
pub(crate) struct Machine<'d> {
    pub(crate) subject: &'d Subject,
    pub(crate) options: Options,
    pub(crate) demands: Demands,
    pub(crate) exploration: Exploration,
    pub(crate) verification: RefCell<Verification<'d>>,
}

/// An execution of a plan that fails, and the search that found it.
#[derive(Clone, Debug)]
pub(crate) struct FailingExecution {
    pub(crate) kind: Kind,
    pub(crate) found: Found,
    pub(crate) switches: u64,
    /// The options of the search.
    pub(crate) options: Options,
}

impl<'d> Machine<'d> {
    /// Searches the executions of a plan for one that fails, with all strategies that the test asks for.
    pub(crate) fn search(&self, plan: &Plan, effort: Effort) -> Explored<FailingExecution> {
        let options = with_effort(&self.options, effort);
        portfolio::explore(&options, Some(self.scope(plan)), |options| self.search_once(plan, options))
    }

    /// What the portfolio has to know about a plan.
    fn scope(&self, plan: &Plan) -> Scope {
        let mut lengths: Vec<usize> = plan.threads.iter().map(Vec::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let orders = match lengths[..] {
            [longest, next, ..] => real_time_orders(longest, next),
            _ => 1,
        };
        Scope {
            orders,
            weak: self.verification.borrow().knows_program_order(),
            // Progress is measured along interleavings.
            exhaustible: !self.demands.any(),
        }
    }

    /// Searches the executions of a plan for one that fails, with one strategy.
    pub(crate) fn search_once(&self, plan: &Plan, options: &Options) -> Searched<FailingExecution> {
        let config = self.config(options);
        let judge = self.judge(plan, &config);
        let (switches, helped) = (Cell::new(0), Cell::new(false));
        let mut verdict = |ended: &EndedExecution<'_>| {
            helped.set(helped.get() | (ended.threads > plan.threads.len() + 1));
            switches.set(ended.switches);
            judge.judge(ended)
        };
        let mut run = || execute(self.subject, plan, &judge.log);
        let kind = |outcome: &Outcome| judge.kind(outcome);
        let mut work = Workload { run: &mut run, judge: &mut verdict, kind: &kind };
        let mut attempt = attempt(&config, options);
        let mut report = attempt.run(&mut work);
        let switches = switches.get();
        // If the object has threads of its own, preemptions of the main thread matter, and only the exhaustive search makes them.
        report.complete &= config.exhaustive || !helped.get();
        if gives_up(options, &report) {
            return Searched::new(options, report, true, None);
        }
        let Some(found) = report.failure.take() else { return Searched::new(options, report, false, None) };
        let Some(kind) = judge.kind(&found.outcome) else {
            let replay = attempt.record(None, &found, &mut work);
            attempt.diverge(None, &found, &replay, &mut work)
        };
        if may_give_up(options) && !attempt.is_reproducible(kind, &found, &mut work) {
            return Searched::new(options, report, true, None);
        }
        drop(attempt);
        let failure = FailingExecution { kind, found, switches, options: options.clone() };
        Searched::new(options, report, false, Some(failure))
    }

    /// Searches on for an execution that fails in the same way with fewer switches, or as many and fewer events.
    pub(crate) fn refine(&self, plan: &Plan, failing: FailingExecution, effort: Effort) -> FailingExecution {
        let mut options = with_effort(&failing.options, effort);
        // The best execution is remembered in this process.
        options.workers = Some(1);
        let config = self.config(&options);
        let judge = self.judge(plan, &config);
        let mut best: Option<FailingExecution> = None;
        let mut executions = 0;
        let mut verdict = |ended: &EndedExecution<'_>| {
            executions += 1;
            let outcome = judge.judge(ended);
            let Some(kind) = judge.kind(&outcome) else { return outcome };
            let least = best.as_ref().unwrap_or(&failing);
            let better = (ended.switches, ended.steps) < (least.switches, least.found.steps);
            if better && kind == failing.kind {
                let found = Found {
                    outcome,
                    execution: executions - 1,
                    schedule: ended.schedule(),
                    steps: ended.steps,
                    panic: None,
                    threads: Vec::new(),
                };
                let switches = ended.switches;
                best = Some(FailingExecution { kind, found, switches, options: options.clone() });
            }
            Outcome::Passed
        };
        let mut attempt = attempt(&config, &options);
        attempt.search.run(&mut || execute(self.subject, plan, &judge.log), &mut verdict);
        drop(attempt);
        best.unwrap_or(failing)
    }

    /// The report of an execution that fails.
    pub(crate) fn report(&self, plan: &Plan, failing: &FailingExecution) -> Failure {
        let config = self.config(&failing.options);
        let judge = self.judge(plan, &config);
        let observed = RefCell::new(None);
        let mut verdict = |ended: &EndedExecution<'_>| {
            let outcome = judge.judge(ended);
            *observed.borrow_mut() = Some(judge.observe(ended, &outcome));
            outcome
        };
        let mut run = || execute(self.subject, plan, &judge.log);
        let kind = |outcome: &Outcome| judge.kind(outcome);
        let mut work = Workload { run: &mut run, judge: &mut verdict, kind: &kind };
        let mut attempt = attempt(&config, &failing.options);
        let replay = attempt.record(Some(failing.kind), &failing.found, &mut work);
        if !replay.reproduces {
            attempt.diverge(Some(failing.kind), &failing.found, &replay, &mut work);
        }
        drop(attempt);
        let test = build::test_name(self.exploration.at);
        let program = Program::current().ok();
        let mut failure = explain(&replay.found, &replay.trace, replay.snapshots, program.as_ref(), test);
        failure.found_by = self.exploration.found_by(&failing.options, failing.found.execution);
        let (complaint, observed) = (judge.complaint.borrow(), observed.borrow());
        decorate(&mut failure, self.subject, plan, complaint.as_ref(), observed.as_ref());
        failure
    }

    /// Replays a failure file whose scenario is the plan, prints the result, and ends the process.
    pub(crate) fn replay(&self, plan: &Plan, request: &replay::Request) -> ! {
        let config = self.config(&self.options);
        let judge = self.judge(plan, &config);
        let observed = RefCell::new(None);
        let mut verdict = |ended: &EndedExecution<'_>| {
            let outcome = judge.judge(ended);
            *observed.borrow_mut() = Some(judge.observe(ended, &outcome));
            outcome
        };
        let decorate = |failure: &mut Failure| {
            let (complaint, observed) = (judge.complaint.borrow(), observed.borrow());
            decorate(failure, self.subject, plan, complaint.as_ref(), observed.as_ref());
        };
        let mut run = || execute(self.subject, plan, &judge.log);
        let (suppressed, at) = (&self.options.suppressed, self.exploration.at);
        replay::replay(request, &config, suppressed, at, &mut run, &mut verdict, &decorate)
    }

    fn config(&self, options: &Options) -> Config {
        Config { prove_spins: self.demands.obstruction_free, ..config(options, &self.exploration) }
    }

    fn judge<'a>(&'a self, plan: &'a Plan, config: &Config) -> PlanJudge<'a, 'd> {
        PlanJudge::new(self.subject, plan, self.demands, &self.verification, config)
    }
}

/// A search whose strategy does not preempt the main thread, which only starts the others. Of suppressed failures, data races alone
/// concern tests of operations.
fn attempt<'c>(config: &'c Config, options: &'c Options) -> Attempt<'c> {
    let within = strategy(options);
    let mut attempt = Attempt::new(options, config, || Box::new(PinMainThread::new(within())));
    attempt.search.suppress(|| suppress(&options.suppressed, None));
    attempt
}

/// The options with another effort. Scenarios are short, and the failure that is reported must not depend on which of several workers
/// is faster: one worker searches unless the test asks for more.
pub(crate) fn with_effort(options: &Options, effort: Effort) -> Options {
    let mut options = options.with_effort(effort);
    options.workers.get_or_insert(1);
    options
}
