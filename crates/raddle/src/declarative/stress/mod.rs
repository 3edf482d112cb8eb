//! Executions of a plan on real threads: without control, but with real timing and real memory.
//!
//! The plan is a program of the stress harness: an instance is an object after the init part, each thread of the plan is an actor, and
//! the post part is the arbiter. Results are logs, so that the harness counts equal executions, and each is verified once
//! ([`execution`]).
//!
//! Half of the runs use a clock that all threads share and that records the real-time order of calls. The clock also orders
//! memory accesses between calls, so the other half goes without a clock, and is verified by the order within threads only.

mod execution;
mod rest;

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::exploration::Effort;
use raddle_report::failure::Kind;
use raddle_stress::{Outcomes, quietly};

use self::execution::Part;
use super::encode::Order;
use super::history::Log;
use super::scenario::Plan;
use super::subject::Subject;
use super::verify::{Verdict, Verification};

/// The result of stressing a plan.
#[derive(Debug, Default)]
pub(crate) struct Stressed {
    pub(crate) executions: u64,
    pub(crate) failure: Option<StressFailure>,
    /// Whether threads are left that never end, and that use the subject.
    pub(crate) stuck: bool,
}

/// An execution on real threads that failed.
#[derive(Clone, Debug)]
pub(crate) struct StressFailure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) results: Vec<Option<String>>,
    pub(crate) reasons: Vec<String>,
    pub(crate) execution: u64,
}

/// The executions of the first run. Later ones have twice as many each: an early failure is found early, and later ones cost few threads.
const FIRST_RUN: u64 = 512;

/// The most executions between two verifications.
const LONGEST_RUN: u64 = 1 << 16;

/// Whether the plan can be stressed. Nothing shows whether a real thread that blocks does so rightly.
pub(crate) fn is_possible(subject: &Subject, plan: &Plan) -> bool {
    plan.calls().all(|call| {
        let operation = &subject.operations[call.operation];
        operation.is_future() || !operation.blocking
    })
}

/// Executes the plan on real threads until an execution fails or the effort is spent. A call that takes longer than `patience` is
/// stuck.
pub(crate) fn stress(
    subject: &Subject,
    plan: &Plan,
    verification: &mut Verification<'_>,
    effort: Effort,
    patience: Duration,
) -> Stressed {
    verification.begin_plan();
    let begin = Instant::now();
    // SAFETY: the harness drops the program before it returns, unless threads are stuck; then the caller is told, and keeps the subject.
    let subject: &'static Subject = unsafe { &*std::ptr::from_ref(subject) };
    let shared_plan = Arc::new(plan.clone());
    let mut stressed = Stressed::default();
    let (mut untimed, mut length) = (false, FIRST_RUN);
    loop {
        let time = effort.time.map_or(Duration::MAX, |time| time.saturating_sub(begin.elapsed()));
        let executions = length.min(effort.executions.saturating_sub(stressed.executions));
        if executions == 0 || time.is_zero() {
            return stressed;
        }
        length = (2 * length).min(LONGEST_RUN);
        let timed = !untimed || !verification.knows_program_order();
        untimed = timed;
        let program = execution::program(subject, &shared_plan, timed);
        let run =
            program.executions(executions).time(time).patience(patience).seed(stressed.executions).run();
        let order = if timed { Order::RealTime } else { Order::Program };
        stressed.failure = quietly(|| {
            let logs = run.counts.iter().map(|(parts, _)| execution::log(parts));
            logs.into_iter()
                .find_map(|log| judge(subject, plan, verification, &log, order, stressed.executions))
        });
        stressed.executions += run.executions;
        if stressed.failure.is_none() {
            stressed.failure = stuck(&run, patience, stressed.executions);
        }
        stressed.stuck = !run.stuck.is_empty();
        if stressed.failure.is_some() {
            return stressed;
        }
    }
}

/// The failure of calls that did not return.
fn stuck(run: &Outcomes<Part>, patience: Duration, execution: u64) -> Option<StressFailure> {
    let message = format!(
        "operations did not return within {patience:?} on real threads: they wait for each other, or loop for ever"
    );
    let failure =
        StressFailure { kind: Kind::TimeLimit, message, results: Vec::new(), reasons: Vec::new(), execution };
    (!run.stuck.is_empty()).then_some(failure)
}

fn judge(
    subject: &Subject,
    plan: &Plan,
    verification: &mut Verification<'_>,
    log: &Log,
    order: Order,
    execution: u64,
) -> Option<StressFailure> {
    let fail = |kind: Kind, message: String, reasons: Vec<String>| {
        Some(StressFailure { kind, message, reasons, results: log.results(plan.len()), execution })
    };
    if let Some(said) = &log.broken {
        return fail(Kind::Panic, said.clone(), Vec::new());
    }
    if let Some(said) = &log.invalid {
        return fail(Kind::Validation, said.clone(), Vec::new());
    }
    match verification.verify(plan, log, order) {
        Verdict::Right => None,
        verdict => {
            let (kind, message) = verdict.in_words(subject, plan, log);
            fail(kind, message, verification.explain(plan, log, order))
        }
    }
}
