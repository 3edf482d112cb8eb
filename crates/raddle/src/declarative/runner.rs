//! The run of a test: its scenarios in order, the effort for each, and the minimisation of a failure.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Once;
use std::time::{Duration, Instant};

use raddle_engine::SearchReport;
use raddle_engine::exploration::{Effort, turn};
use raddle_engine::platform::global::GLOBAL;
use raddle_report::{Failure, Kind};
use raddle_stress::quietly;

use super::coverage::{Coverage, ScenarioCoverage};
use super::definition::Definition;
use super::generation::Generation;
use super::machine::{FailingExecution, Machine, with_effort};
use super::minimise::minimise;
use super::mistakes;
use super::mode::Mode;
use super::persist::{self, Regressions};
use super::report::describe_stressed;
use super::scenario::Plan;
use super::stress::{self, StressFailure, Stressed};
use super::subject::Operation;
use super::verify::Verification;
use crate::explored;
use crate::options::{AUTO_BUDGET, COUNTED_BUDGET, Memory, Options, Strategy};
use crate::output::{say, tell_passed};
use crate::search::config::override_by_environment;
use crate::search::coverage::send_coverage;
use crate::search::exploration::Exploration;
use crate::search::reach::Reach;
use crate::{build, expected, replay};

/// The number of generated scenarios, unless the test chooses another.
const ITERATIONS: usize = 100;

/// Runs a test. With `keep`, a failing scenario is saved and tried first the next time.
pub(crate) fn run(
    mut definition: Definition,
    at: &'static Location<'static>,
    keep: bool,
) -> Result<Coverage, Box<Failure>> {
    // Real threads need no turn.
    let _turn = (GLOBAL.instrumented.get() && definition.mode != Mode::Stress).then(turn::take);
    raddle_intercept::link();
    let spec_of = std::mem::replace(&mut definition.spec, Box::new(|_| unreachable!("taken once")));
    if definition.chooses_threads && definition.subject.operations.iter().any(Operation::may_suspend) {
        definition.size.threads = 3;
    }
    let prepared = mistakes::check(&definition)
        .and_then(|()| Ok((spec_of(&definition.subject)?, mistakes::plans(&definition)?)));
    let (spec, custom) = prepared.unwrap_or_else(|mistake| panic!("raddle: {mistake}"));
    let mut options = definition.explorer.options.clone();
    override_by_environment(&mut options);
    assert!(
        options.strategy != Strategy::Exhaustive || !definition.demands.any(),
        "raddle: strategy `exhaustive` cannot tell whether operations wait for each other: use `bounded` with `obstruction_free` and \
         `lock_free`"
    );
    if definition.mode != Mode::Stress && !explored::is_instrumented(&options) {
        say_stress_only();
    }
    let subject = &definition.subject;
    let verification = Verification::new(subject, &*spec, definition.contract);
    if let Some(refusal) = quietly(|| verification.refusal()) {
        panic!("raddle: contract `{}` does not go with this test: {refusal}", definition.contract);
    }
    let machine = Machine {
        subject,
        demands: definition.demands,
        exploration: Exploration::begin(at, None),
        verification: RefCell::new(verification),
        options: options.clone(),
    };
    let given: Vec<_> = custom.iter().flat_map(Plan::calls).cloned().collect();
    if let Some(request) = replay::requested()
        && request.failure.found_by.exploration == machine.exploration.number
        && let Some(scenario) = &request.failure.scenario
        && let Some(plan) = persist::plan(subject, scenario, &given)
    {
        machine.replay(&plan, request);
    }
    let regressions = Regressions::of(at, &build::test_name(at));
    let mut runner = Runner {
        definition: &definition,
        machine,
        stressed: Verification::new(subject, &*spec, definition.contract),
        stuck: false,
        begin: Instant::now(),
        limit: time_limit(&definition, &options),
        steps: 0,
    };
    let known = regressions.as_ref().filter(|_| keep).map(|file| file.read(subject, &given));
    let result = runner.run(known.unwrap_or_default(), custom);
    if let Ok(coverage) = &result {
        let all = coverage.complete() == coverage.scenarios.len();
        let report = SearchReport {
            executions: coverage.executions(),
            steps: runner.steps,
            complete: all,
            ..SearchReport::default()
        };
        expected::check(coverage.executions() + coverage.stress());
        send_coverage(at, &report);
        tell_passed(&coverage.to_string());
        if runner.machine.options.strategy == Strategy::Auto {
            println!("raddle: {coverage}");
        }
    }
    if let (Err(failure), true, Some(file)) = (&result, keep, &regressions)
        && let Some(scenario) = &failure.scenario
    {
        // A source tree that cannot be written is no reason to hide the failure.
        let _ = file.keep(scenario);
    }
    if runner.stuck {
        drop(runner);
        std::mem::forget(definition);
    }
    result
}

/// Warns, once in a process, that plain `cargo test` cannot control threads.
fn say_stress_only() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        say("raddle: built without instrumentation: scenarios only run on real threads; run `cargo raddle test` for \
             model checking");
    });
}

/// Whether failures of these kinds may have one cause. Real threads that do not return may be deadlocked or spinning.
fn same_class(found: Kind, stressed: Kind) -> bool {
    match stressed {
        Kind::TimeLimit => matches!(found, Kind::Deadlock | Kind::Livelock | Kind::TimeLimit),
        _ => found == stressed,
    }
}

/// The time for the whole test: what was asked for; else a little, or more for a number of scenarios that was asked for.
fn time_limit(definition: &Definition, options: &Options) -> Duration {
    let asked = definition.iterations.is_some() || !definition.scenarios.is_empty();
    options.budget.unwrap_or(if asked { COUNTED_BUDGET } else { AUTO_BUDGET })
}

struct Runner<'d> {
    definition: &'d Definition,
    machine: Machine<'d>,
    /// The verifier of executions on real threads, which does not use the engine's memory.
    stressed: Verification<'d>,
    /// Whether threads are left that never end.
    stuck: bool,
    begin: Instant,
    limit: Duration,
    /// Events of all executions by model checking.
    steps: u64,
}

/// The time for which a scenario is stressed after model checking.
const BESIDE: Duration = Duration::from_millis(20);

/// The time for which a scenario is stressed without model checking.
const ALONE: Duration = Duration::from_millis(200);

/// The time for minimising the scenario of a failure on real threads.
const MINIMISING: Duration = Duration::from_secs(5);

impl Runner<'_> {
    fn run(&mut self, known: Vec<Plan>, custom: Vec<Plan>) -> Result<Coverage, Box<Failure>> {
        let budget = self.machine.options.budget;
        let iterations = self.definition.iterations.unwrap_or(match budget {
            Some(_) => usize::MAX,
            None => ITERATIONS,
        });
        let seed = self.machine.options.seed;
        let contract = self.definition.contract;
        let mut coverage = Coverage {
            seed,
            contract,
            scenarios: Vec::new(),
            elapsed: Duration::ZERO,
            reach: Reach::default(),
        };
        raddle_engine::coverage::begin();
        let mut generation =
            Generation::new(&self.definition.subject, self.definition.size, iterations, seed);
        let mut plans = Vec::new();
        let given: Vec<Plan> = known.into_iter().chain(custom).collect();
        let mut left = given.len().saturating_add(iterations);
        for plan in given {
            if !generation.has_seen(&plan) {
                coverage.scenarios.push(self.cover(&plan, left)?);
                plans.push(plan);
            }
            left -= 1;
        }
        for made in 0..iterations {
            // By itself, stress takes its time from each scenario; there is no point in more than that allows.
            let planned = ALONE * plans.len() as u32;
            if self.is_out_of_time(true) || !self.model_checks() && self.time_left() < planned {
                break;
            }
            let Some(plan) = generation.next() else { break };
            coverage.scenarios.push(self.cover(&plan, iterations - made)?);
            plans.push(plan);
        }
        coverage.reach = Reach::current();
        // Real threads leave traces in memory that virtual ones would see: they come last.
        for (covered, plan) in coverage.scenarios.iter_mut().zip(plans) {
            if self.stresses(&plan) && !self.is_out_of_time(false) {
                let stressed = self.stress(&plan, self.stress_effort(covered.complete));
                covered.stress = stressed.executions;
                if let Some(failure) = stressed.failure {
                    return Err(self.fail_stressed(plan, failure));
                }
            }
        }
        coverage.elapsed = self.begin.elapsed();
        Ok(coverage)
    }

    /// Whether the budget is spent, or the part of it that model checking may take before stress follows.
    fn is_out_of_time(&self, model_checking: bool) -> bool {
        let share = if model_checking && self.definition.mode == Mode::Both { 0.8 } else { 1.0 };
        self.begin.elapsed() >= self.limit.mul_f64(share)
    }

    fn time_left(&self) -> Duration {
        self.limit.saturating_sub(self.begin.elapsed())
    }

    /// Model checks a scenario, one of `left` that are still to come.
    fn cover(&mut self, plan: &Plan, left: usize) -> Result<ScenarioCoverage, Box<Failure>> {
        // A large scenario must not take the time of all others, most of which need little.
        let time = self.time_left() / left.clamp(1, 32) as u32;
        let effort = Effort { executions: self.definition.executions, time: Some(time) };
        let mut covered = ScenarioCoverage {
            scenario: plan.text(&self.definition.subject),
            executions: 0,
            complete: false,
            searches: Vec::new(),
            stress: 0,
            contract: self.definition.contract,
        };
        if self.model_checks() {
            let searched = self.machine.search(plan, effort);
            self.steps += searched.report.steps;
            covered.executions = searched.report.executions;
            covered.complete = searched.report.complete;
            covered.searches = searched.searches;
            if let Some(failing) = searched.failure {
                return Err(self.fail(plan.clone(), failing));
            }
        }
        Ok(covered)
    }

    fn stress(&mut self, plan: &Plan, effort: Effort) -> Stressed {
        let patience = self.machine.options.time_limit;
        let stressed = stress::stress(&self.definition.subject, plan, &mut self.stressed, effort, patience);
        if stressed.stuck {
            // Threads are left that nobody can end: memory is no longer ours alone.
            self.machine.exploration.owned = false;
            self.stuck = true;
        }
        stressed
    }

    /// Whether a scenario is stressed. On one core, real threads take turns, and virtual threads do that with more control.
    fn stresses(&self, plan: &Plan) -> bool {
        let parallel = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let wanted = match self.definition.mode {
            Mode::Both => parallel || !GLOBAL.instrumented.get(),
            Mode::ModelChecking => false,
            Mode::Stress => true,
        };
        wanted && !self.stuck && stress::is_possible(&self.definition.subject, plan)
    }

    /// The effort for stressing a scenario: less after model checking, least after complete model checking.
    fn stress_effort(&self, complete: bool) -> Effort {
        let most = match (self.model_checks(), complete) {
            (true, true) => BESIDE / 4,
            (true, false) => BESIDE,
            (false, _) => ALONE,
        };
        let time = self.time_left().min(most);
        Effort { executions: self.definition.executions, time: Some(time) }
    }

    /// The report of a failure on real threads. Virtual threads search for the same failure first, because their executions can be
    /// explained.
    fn fail_stressed(&mut self, plan: Plan, failure: StressFailure) -> Box<Failure> {
        if self.model_checks() {
            let effort = Effort { executions: 4 * self.definition.executions.max(10_000), time: None };
            // Only the same: what real threads left in memory may lead to other failures.
            let found = self.machine.search(&plan, effort).failure;
            if let Some(found) = found.filter(|found| same_class(found.kind, failure.kind)) {
                return self.fail(plan, found);
            }
        }
        let kind = failure.kind;
        let begin = Instant::now();
        let (plan, failure) = match self.definition.minimize && !self.stuck {
            true => minimise(&self.definition.subject, plan, failure, |candidate| {
                // Whether a candidate fails is a matter of luck: none is tried for long, and not too many.
                if begin.elapsed() > MINIMISING || self.stuck {
                    return None;
                }
                let effort = Effort { executions: 20_000, time: Some(BESIDE) };
                self.stress(candidate, effort).failure.filter(|failure| failure.kind == kind)
            }),
            false => (plan, failure),
        };
        let Machine { subject, options, exploration, .. } = &self.machine;
        let mut failure = describe_stressed(subject, &plan, options, exploration, &failure);
        failure.file = failure.write_new(&build::failures_directory()).ok();
        Box::new(failure)
    }

    /// Whether scenarios are model checked. Without instrumentation, atomic accesses are no scheduling points.
    fn model_checks(&self) -> bool {
        self.definition.mode != Mode::Stress && GLOBAL.instrumented.get()
    }

    /// Minimises a failure and reports it.
    fn fail(&self, plan: Plan, failing: FailingExecution) -> Box<Failure> {
        let kind = failing.kind;
        // What fails in a large scenario after some executions should fail in a small one after not many more.
        let executions =
            (4 * (failing.found.execution + 1)).clamp(2000, self.definition.executions.max(2000));
        let effort = Effort { executions, time: None };
        let options = with_effort(&failing.options, effort);
        let (plan, failing) = match self.definition.minimize {
            true => minimise(&self.definition.subject, plan, failing, |candidate| {
                // The search that found the failure finds it again.
                let searched = self.machine.search_once(candidate, &options);
                searched.failure.filter(|failing| failing.kind == kind)
            }),
            false => (plan, failing),
        };
        let failing = self.as_interleaving(&plan, failing);
        let refining = Effort { executions: 2 * (failing.found.execution + 1) + 500, time: None };
        let failing = match self.definition.minimize {
            true => self.machine.refine(&plan, failing, refining),
            false => failing,
        };
        let mut failure = self.machine.report(&plan, &failing);
        failure.file = failure.write_new(&build::failures_directory()).ok();
        Box::new(failure)
    }

    /// The same failure as an interleaving with few switches, which is easier to read than one of an execution graph.
    fn as_interleaving(&self, plan: &Plan, failing: FailingExecution) -> FailingExecution {
        if failing.options.strategy != Strategy::Exhaustive || failing.options.memory() != Memory::Sc {
            return failing;
        }
        let effort = Effort { executions: self.definition.executions.max(2000), time: None };
        let mut options = with_effort(&failing.options, effort);
        options.strategy = Strategy::Bounded(usize::MAX);
        let found = self.machine.search_once(plan, &options).failure;
        found.filter(|found| found.kind == failing.kind).unwrap_or(failing)
    }
}
