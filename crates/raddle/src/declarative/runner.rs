//! A whole test: which scenarios are tried, in which order, with how much effort, and what becomes of a failure.

use std::cell::RefCell;
use std::panic::Location;
use std::time::{Duration, Instant};

use raddle_check::Contract;
use raddle_engine::global::GLOBAL;
use raddle_report::Failure;

use super::coverage::{Coverage, Covered};
use super::generation::{Generation, Size};
use super::machine::{Demands, Effort, Machine, Wrong, strategy_of};
use super::minimise::minimise;
use super::mistakes;
use super::persist::{self, Regressions};
use super::scenario::{Plan, Scenario};
use super::spec::Specification;
use super::subject::Subject;
use super::test::Mode;
use super::verify::Verification;
use crate::Explorer;
use crate::explorer::{next_exploration, override_by_environment, say_what_is_missing};
use crate::{build, replay};

/// Everything that a test says.
pub(crate) struct Definition {
    pub(crate) subject: Subject,
    pub(crate) spec: SpecOf,
    pub(crate) has_spec: bool,
    pub(crate) contract: Contract,
    pub(crate) explorer: Explorer,
    pub(crate) size: Size,
    pub(crate) iterations: Option<usize>,
    pub(crate) executions: u64,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) mode: Mode,
    pub(crate) demands: Demands,
    pub(crate) minimize: bool,
}

/// Makes the specification of a subject; the error says what does not go together.
type SpecOf = Box<dyn FnOnce(&Subject) -> Result<Box<dyn Specification>, String>>;

/// Scenarios that are made up if nothing else is said.
const ITERATIONS: usize = 100;

/// Runs a test. `keep` says whether a failing scenario is kept for the next time.
pub(crate) fn run(
    mut definition: Definition,
    at: &'static Location<'static>,
    keep: bool,
) -> Result<Coverage, Box<Failure>> {
    raddle_intercept::link();
    let spec_of = std::mem::replace(&mut definition.spec, Box::new(|_| unreachable!("taken once")));
    let prepared = mistakes::check(&definition)
        .and_then(|()| Ok((spec_of(&definition.subject)?, mistakes::plans(&definition)?)));
    let (spec, custom) = prepared.unwrap_or_else(|mistake| panic!("raddle: {mistake}"));
    let mut options = definition.explorer.options.clone();
    override_by_environment(&mut options);
    let owned = build::owns_process();
    say_what_is_missing(owned);
    let subject = &definition.subject;
    let machine = Machine {
        subject,
        at,
        demands: definition.demands,
        owned,
        exploration: next_exploration(),
        verification: RefCell::new(Verification::new(subject, &*spec, definition.contract)),
        options,
    };
    let given: Vec<_> = custom.iter().flat_map(Plan::calls).cloned().collect();
    if let Some(request) = replay::requested()
        && request.failure.found_by.exploration == machine.exploration
        && let Some(scenario) = &request.failure.scenario
        && let Some(plan) = persist::plan(subject, scenario, &given)
    {
        machine.replay(&plan, request);
    }
    let regressions = Regressions::of(at, &build::test_name(at));
    let mut runner = Runner { definition: &definition, machine, begin: Instant::now() };
    let known = regressions.as_ref().filter(|_| keep).map(|file| file.read(subject, &given));
    let result = runner.run(known.unwrap_or_default(), custom);
    if let (Err(failure), true, Some(file)) = (&result, keep, &regressions)
        && let Some(scenario) = &failure.scenario
    {
        // A source tree that cannot be written is no reason to hide the failure.
        let _ = file.keep(scenario);
    }
    result
}

struct Runner<'d> {
    definition: &'d Definition,
    machine: Machine<'d>,
    begin: Instant,
}

impl Runner<'_> {
    fn run(&mut self, known: Vec<Plan>, custom: Vec<Plan>) -> Result<Coverage, Box<Failure>> {
        let budget = self.machine.options.budget;
        let iterations = self.definition.iterations.unwrap_or(match budget {
            Some(_) => usize::MAX,
            None => ITERATIONS,
        });
        let seed = self.machine.options.seed;
        let mut coverage = Coverage { seed, ..Coverage::default() };
        let mut generation =
            Generation::new(&self.definition.subject, self.definition.size, iterations, seed);
        for plan in known.into_iter().chain(custom) {
            if !generation.has_seen(&plan) {
                coverage.scenarios.push(self.cover(plan)?);
            }
        }
        for _ in 0..iterations {
            if self.time_left().is_some_and(|left| left.is_zero()) {
                break;
            }
            let Some(plan) = generation.next() else { break };
            coverage.scenarios.push(self.cover(plan)?);
        }
        coverage.elapsed = self.begin.elapsed();
        Ok(coverage)
    }

    fn time_left(&self) -> Option<Duration> {
        self.machine.options.budget.map(|budget| budget.saturating_sub(self.begin.elapsed()))
    }

    /// Tries a scenario.
    fn cover(&mut self, plan: Plan) -> Result<Covered, Box<Failure>> {
        let effort = Effort { executions: self.definition.executions, time: self.time_left() };
        let mut covered = Covered {
            scenario: plan.text(&self.definition.subject),
            executions: 0,
            complete: false,
            strategy: strategy_of(&self.machine.options, &plan).to_string(),
            stress: 0,
        };
        if self.model_checks() {
            let searched = self.machine.search(&plan, effort);
            covered.executions = searched.executions;
            covered.complete = searched.complete;
            if let Some(wrong) = searched.wrong {
                return Err(self.fail(plan, wrong));
            }
        }
        Ok(covered)
    }

    /// Without instrumentation, virtual threads would not be interrupted where it matters.
    fn model_checks(&self) -> bool {
        self.definition.mode != Mode::Stress && GLOBAL.instrumented.get()
    }

    /// Makes a failure small and says all about it.
    fn fail(&self, plan: Plan, wrong: Wrong) -> Box<Failure> {
        let kind = wrong.kind;
        // What fails in a large scenario after some executions should fail in a small one after not many more.
        let executions = (4 * (wrong.execution + 1)).clamp(2000, self.definition.executions.max(2000));
        let effort = Effort { executions, time: None };
        let (plan, wrong) = match self.definition.minimize {
            true => minimise(&self.definition.subject, plan, wrong, |candidate| {
                self.machine.search(candidate, effort).wrong.filter(|wrong| wrong.kind == kind)
            }),
            false => (plan, wrong),
        };
        let refining = Effort { executions: 2 * (wrong.execution + 1) + 500, time: None };
        let wrong = match self.definition.minimize {
            true => self.machine.refine(&plan, wrong, refining),
            false => wrong,
        };
        let mut failure = self.machine.report(&plan, &wrong);
        failure.file = failure.write_new(&build::failures_directory()).ok();
        Box::new(failure)
    }
}
