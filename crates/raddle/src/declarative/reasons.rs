//! The reasons why a history is wrong: the longest order that explains results, and why no operation can come next.

use raddle_check::verdict::{Verdict as Checked, Violation};
use raddle_check::{Checker, Contract, History, Model};

use super::encode::{Encoding, Order, Steps};
use super::history::Log;
use super::model::{Input, ObjectModel, Output, Position};
use super::scenario::Plan;

/// The number of operations of an order that are shown: the last ones.
const MOST_SHOWN: usize = 12;

/// The reasons why the history breaks the contract, line by line.
pub(super) fn reasons(
    contract: Contract,
    of: Encoding<'_>,
    log: &Log,
    steps: &Steps,
    order: Order,
) -> Vec<String> {
    let encoded = steps.history_at_rest(of, false, &steps.waiting);
    let history = &encoded.history;
    let checker = Checker::new().contract(contract).search_only();
    let report = match order {
        Order::RealTime => checker.check(history, of.model),
        Order::Program | Order::HappensBefore => {
            checker.check_partial_order(history, of.model, steps.before(&encoded, log, order))
        }
    };
    let Checked::Violation(violation) = report.verdict() else { return Vec::new() };
    lines(of.model, of.plan, history, violation)
}

fn lines(
    model: &ObjectModel<'_>,
    plan: &Plan,
    history: &History<Input, Output>,
    violation: &Violation,
) -> Vec<String> {
    let operations = history.operations();
    let name = |op: usize| {
        let operation = &operations[op];
        let text = model.describe(&operation.input, operation.output());
        match operation.process {
            0 => text,
            thread if thread as usize <= plan.threads.len() => format!("T{thread} {text}"),
            _ => text,
        }
    };
    let mut lines = Vec::new();
    let Some(attempt) = violation.attempts.first() else { return vec![violation.summary.clone()] };
    let skipped = attempt.order.len().saturating_sub(MOST_SHOWN);
    let mut shown: Vec<String> = attempt.order[skipped..].iter().map(|&op| name(op)).collect();
    if skipped > 0 {
        shown.insert(0, "...".to_owned());
    }
    if shown.is_empty() {
        lines.push("no operation can come first:".to_owned());
    } else {
        lines.push(format!("the order that explains most: {}", shown.join(", ")));
        let state = attempt.states.last().filter(|state| !state.is_empty());
        let after = state.map_or_else(String::new, |state| format!(" (the state is then {state})"));
        lines.push(format!("what can come next does not fit{after}:"));
    }
    let state = along(model, history, &attempt.order);
    for rejection in &attempt.rejected {
        let operation = &operations[rejection.operation];
        if matches!(operation.input, Input::AtRest(_)) {
            lines.push("  an operation that waits could go on".to_owned());
            continue;
        }
        let expected = state.as_ref().map_or_else(Vec::new, |state| model.expected(state, &operation.input));
        let why = match (rejection.fits, expected.is_empty()) {
            (true, _) => "fits, but then others do not".to_owned(),
            (false, false) => format!("should be {}", expected.join(" or ")),
            (false, true) => "is not possible here".to_owned(),
        };
        lines.push(format!("  {}: {why}", name(rejection.operation)));
    }
    lines
}

/// The state after the operations in this order. None where the specification leaves a choice.
fn along(model: &ObjectModel<'_>, history: &History<Input, Output>, order: &[usize]) -> Option<Position> {
    order.iter().try_fold(model.init(), |state, &op| {
        let operation = &history.operations()[op];
        let mut next = model.step(&state, &operation.input, operation.output()).into_iter();
        next.next().filter(|_| next.next().is_none())
    })
}
