//! From the attempts of a search to a violation that can be read.

use std::time::{Duration, Instant};

use crate::contract::{Finding, Problem, Rejected, linearizable};
use crate::engine::Attempt;
use crate::engine::limits::{Budget, Limits};
use crate::engine::lts::Lts;
use crate::history::Operation;
use crate::model::Model;
use crate::monitor::Complaint;
use crate::timeline::Event;
use crate::verdict::{PartialOrder, Rejection, Violation};

/// What a monitor's complaint is worth explaining with.
const EXPLANATION: Limits = Limits { time: Some(Duration::from_millis(300)), memory: Some(64 << 20) };

/// A core of more operations is not searched for the orders it allows.
const MOST_CORE: usize = 64;

/// How many states at the end of an attempt are shown.
const STATES: usize = 12;

/// How many attempts are shown.
const ATTEMPTS: usize = 3;

/// The violation that `rejected` is; `indices` are the operations' indices in the history.
pub(crate) fn violation<M: Model>(
    problem: &Problem<'_, M>,
    rejected: Rejected,
    indices: &[usize],
) -> Violation {
    let Rejected { operation, prefix, core, summary, attempts } = rejected;
    let considered = considered(problem, prefix, &core);
    let mut orders: Vec<PartialOrder> =
        attempts.iter().map(|attempt| partial_order(problem, attempt, &considered)).collect();
    // Where something still fits, another attempt went further.
    if orders.iter().any(|order| order.rejected.iter().all(|rejection| !rejection.fits)) {
        orders.retain(|order| order.rejected.iter().all(|rejection| !rejection.fits));
    }
    orders.truncate(ATTEMPTS);
    for order in &mut orders {
        order.order.iter_mut().for_each(|op| *op = indices[*op]);
        order.rejected.iter_mut().for_each(|rejection| rejection.operation = indices[rejection.operation]);
    }
    let describe = |op: usize| {
        let operation = problem.operations[op];
        problem.model.describe(&operation.input, operation.output())
    };
    let summary = summary.unwrap_or_else(|| match operation {
        Some(op) => {
            format!("no order of the operations has a place for {} by the time it returns", describe(op))
        }
        None => "no order of the operations fits".into(),
    });
    Violation {
        operation: operation.map(|op| indices[op]),
        prefix,
        core: core.iter().map(|&op| indices[op]).collect(),
        summary,
        attempts: orders,
    }
}

/// What a monitor complains about, with the orders that its core allows and the earliest proof if that is soon found.
pub(crate) fn of_complaint<M: Model>(problem: &mut Problem<'_, M>, complaint: Complaint) -> Finding {
    let Complaint { summary, core } = complaint;
    let all: Vec<usize> = (0..problem.operations.len()).collect();
    let earliest = search_again(problem, &all);
    let mut rejected = match (core.len(), earliest) {
        (1..=MOST_CORE, earliest) => {
            let mut found = search_again(problem, &core).unwrap_or_default();
            if let Some(earliest) = earliest {
                (found.operation, found.prefix) = (earliest.operation, earliest.prefix);
            } else {
                found.prefix = rank_of_return(problem, found.operation);
            }
            found
        }
        (_, Some(earliest)) => earliest,
        (_, None) => Rejected { prefix: problem.timeline.len(), ..Rejected::default() },
    };
    (rejected.core, rejected.summary) = (core, Some(summary));
    Finding::Rejected(rejected)
}

/// Searches some of the operations as if there were no others, for a short time.
fn search_again<M: Model>(problem: &mut Problem<'_, M>, chosen: &[usize]) -> Option<Rejected> {
    let operations: Vec<&Operation<_, _>> = chosen.iter().map(|&op| problem.operations[op]).collect();
    let timeline = problem.timeline.restricted_to(chosen, problem.operations.len());
    let mut budget = Budget::new(EXPLANATION, Instant::now());
    let mut lts = Lts::new();
    let mut part = Problem {
        operations: &operations,
        timeline: &timeline,
        model: problem.model,
        lts: &mut lts,
        budget: &mut budget,
        explain: true,
        widest: 0,
    };
    let Finding::Rejected(mut found) = linearizable::check(&mut part) else { return None };
    found.operation = found.operation.map(|op| chosen[op]);
    for attempt in &mut found.attempts {
        // States are numbered by system; this one is about to be dropped.
        attempt.state = problem.lts.adopt(problem.model, lts.state(attempt.state).clone());
        attempt.order.iter_mut().for_each(|op| *op = chosen[*op]);
    }
    Some(found)
}

fn rank_of_return<M: Model>(problem: &Problem<'_, M>, operation: Option<usize>) -> usize {
    let rank = problem
        .timeline
        .events()
        .position(|event| matches!(event, Event::Return(op) if Some(op) == operation));
    rank.map_or(problem.timeline.len(), |rank| rank + 1)
}

/// The operations that an order of the first `prefix` events, or of the core, is about.
fn considered<M: Model>(problem: &Problem<'_, M>, prefix: usize, core: &[usize]) -> Vec<usize> {
    if !core.is_empty() {
        return core.to_vec();
    }
    let called = problem.timeline.events().take(prefix).filter_map(|event| match event {
        Event::Call(op) => Some(op),
        Event::Return(_) => None,
    });
    called.collect()
}

/// More operations than this that could come next are not listed.
const MOST_REJECTED: usize = 12;

fn partial_order<M: Model>(
    problem: &Problem<'_, M>,
    attempt: &Attempt,
    considered: &[usize],
) -> PartialOrder {
    let state = problem.lts.state(attempt.state);
    let next = attempt.next.clone().unwrap_or_else(|| next_in_time(problem, &attempt.order, considered));
    let rejected = next.into_iter().take(MOST_REJECTED).map(|op| {
        let operation = problem.operations[op];
        let mut steps = problem.model.step(state, &operation.input, operation.output()).into_iter();
        let fits = steps.next().is_some();
        let results = if fits { Vec::new() } else { problem.model.results(state, &operation.input) };
        let expected = results.iter().map(|result| problem.model.describe(&operation.input, Some(result)));
        Rejection { operation: op, fits, expected: expected.collect() }
    });
    PartialOrder {
        rejected: rejected.collect(),
        states: states_along(problem, &attempt.order, state),
        order: attempt.order.clone(),
    }
}

/// The operations that real time would allow after these.
fn next_in_time<M: Model>(problem: &Problem<'_, M>, order: &[usize], considered: &[usize]) -> Vec<usize> {
    let mut placed = vec![false; problem.operations.len()];
    order.iter().for_each(|&op| placed[op] = true);
    let left: Vec<usize> = considered.iter().copied().filter(|&op| !placed[op]).collect();
    let first_return = left.iter().filter_map(|&op| problem.operations[op].returned_at()).min();
    let next = left.into_iter().filter(|&op| {
        let operation = problem.operations[op];
        operation.output().is_some() && first_return.is_none_or(|first| operation.call <= first)
    });
    next.collect()
}

/// The states after the last operations of `order`, which ends in `last`.
fn states_along<M: Model>(problem: &Problem<'_, M>, order: &[usize], last: &M::State) -> Vec<String> {
    let step = |state: &M::State, op: usize| {
        let operation = problem.operations[op];
        problem.model.step(state, &operation.input, operation.output()).into_iter().collect::<Vec<_>>()
    };
    // Where the model leaves a choice, all states are followed and those that lead to the last one are kept.
    let mut layers = vec![vec![problem.model.init()]];
    for &op in order {
        let mut next: Vec<M::State> = Vec::new();
        for state in layers.last().into_iter().flatten() {
            for to in step(state, op) {
                if !next.contains(&to) {
                    next.push(to);
                }
            }
        }
        layers.push(next);
        if layers.len() > STATES + 1 {
            layers.remove(0);
        }
    }
    let first = order.len() + 1 - layers.len();
    let mut target = last.clone();
    let mut states = vec![problem.model.describe_state(&target)];
    for (i, layer) in layers.iter().enumerate().rev().skip(1) {
        let op = order[first + i];
        let Some(from) = layer.iter().find(|state| step(state, op).contains(&target)) else { break };
        target = from.clone();
        states.push(problem.model.describe_state(&target));
    }
    states.reverse();
    // The state before the first operation shown is not one after an operation.
    if states.len() > order.len().min(STATES) {
        states.remove(0);
    }
    states
}
