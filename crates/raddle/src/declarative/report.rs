//! Reports of failures of a plan: the scenario with its results, and messages that name operations.

use raddle_reflect::Program;
use raddle_report::failure::{self, Failure, Kind};

use super::judge::{Complaint, Observed};
use super::persist::recipe;
use super::scenario::{Invocation, Plan};
use super::stress::StressFailure;
use super::subject::Subject;
use crate::build;
use crate::options::Options;
use crate::search::exploration::Exploration;

/// Adds to the report of an execution what only the test knows: the verdict on its results, and its scenario.
pub(crate) fn decorate(
    failure: &mut Failure,
    subject: &Subject,
    plan: &Plan,
    complaint: Option<&Complaint>,
    observed: Option<&Observed>,
) {
    if let Some(complaint) = complaint {
        failure.kind = complaint.kind;
        failure.message = complaint.message.clone();
        failure.thread = None;
        failure.certainty = match complaint.kind {
            Kind::NotLockFree => {
                let reason =
                    "threads that go on without completing an operation may complete one after more events";
                failure::Certainty::Limit { reason: reason.to_owned() }
            }
            _ => failure::Certainty::Proven,
        };
    }
    for event in &mut failure.trace.events {
        // Raddle calls the operations: there is no line of the test to show.
        if matches!(event.action, failure::Action::Call { .. } | failure::Action::Return { .. }) {
            event.at = None;
        }
    }
    if failure.kind == Kind::NotObstructionFree
        && let Some(message) = blocking_event(failure)
    {
        failure.message = message;
    }
    let observed = observed.cloned().unwrap_or_default();
    failure.reasons = observed.reasons;
    // The trace has the results of an execution whose memory was not whole.
    let traced = failure.scenario.take().filter(|_| observed.results.is_empty());
    let mut scenario = describe(subject, plan, &observed.results);
    if let Some(traced) = traced {
        take_results(&mut scenario, &traced);
    }
    failure.scenario = Some(scenario);
}

/// The report of a failure on real threads, which has no trace.
pub(crate) fn describe_stressed(
    subject: &Subject,
    plan: &Plan,
    options: &Options,
    exploration: &Exploration,
    found: &StressFailure,
) -> Failure {
    Failure {
        format: failure::FORMAT,
        test: build::test_name(exploration.at),
        kind: found.kind,
        message: found.message.clone(),
        certainty: failure::Certainty::Proven,
        thread: None,
        build: build::identity(Program::current().ok().as_ref()),
        found_by: failure::FoundBy {
            strategy: failure::FoundBy::STRESS.to_owned(),
            ..exploration.found_by(options, found.execution)
        },
        schedule: failure::Schedule::default(),
        look_back: failure::Schedule::default(),
        counts: failure::Schedule::default(),
        fair_since: None,
        random: None,
        threads: Vec::new(),
        scenario: Some(describe(subject, plan, &found.results)),
        reasons: found.reasons.clone(),
        fault: None,
        trace: failure::Trace::default(),
        objects: None,
        point_of_no_return: None,
        nearest_pass: None,
        file: None,
    }
}

/// The scenario of a report, with the results by the number of the call.
pub(crate) fn describe(subject: &Subject, plan: &Plan, results: &[Option<String>]) -> failure::Scenario {
    let mut call = 0;
    let mut operation = |invocation: &Invocation| {
        let result = results.get(call).cloned().flatten();
        call += 1;
        failure::Operation {
            call: invocation.text(subject),
            result,
            recipe: Some(recipe(subject, invocation)),
        }
    };
    let init = plan.init.iter().map(&mut operation).collect();
    let parallel = plan.threads.iter().map(|calls| calls.iter().map(&mut operation).collect()).collect();
    let post = plan.post.iter().map(&mut operation).collect();
    failure::Scenario { init, parallel, post, code: Some(plan.code(subject)) }
}

/// The operation that waits and the memory location that it waits for: the first event at which a thread of the parallel part had
/// to wait.
fn blocking_event(failure: &Failure) -> Option<String> {
    use failure::{Action, Switch};
    let events = &failure.trace.events;
    let waits = |pair: &[failure::Event]| {
        pair[0].thread != 0 && matches!(pair[1].switch, Some(Switch::Blocked | Switch::Spinning))
    };
    let at = events.windows(2).position(waits)?;
    let thread = events[at].thread;
    let call = events[..at].iter().rev().find_map(|event| match &event.action {
        Action::Call { call } if event.thread == thread => Some(call),
        _ => None,
    })?;
    let (what, place) = match &events[at].action {
        Action::Wait { place, .. } => ("waits for", place),
        Action::Load { place, .. } | Action::Cas { place, .. } | Action::Rmw { place, .. } => {
            ("spins until another thread changes", place)
        }
        _ => return Some(format!("`{call}` of T{thread} gives way to other threads until one has gone on")),
    };
    let place =
        place.name.as_ref().map_or_else(|| format!("{:#x}", place.address), |name| format!("`{name}`"));
    Some(format!("`{call}` of T{thread} {what} {place}"))
}

fn take_results(scenario: &mut failure::Scenario, traced: &failure::Scenario) {
    let parts = scenario.parallel.iter_mut().zip(&traced.parallel);
    let sequences = parts.chain([(&mut scenario.init, &traced.init), (&mut scenario.post, &traced.post)]);
    for (to, from) in sequences {
        for (to, from) in to.iter_mut().zip(from) {
            to.result.clone_from(&from.result);
        }
    }
}
