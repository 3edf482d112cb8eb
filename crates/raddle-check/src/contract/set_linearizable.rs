//! Set-linearizability (Neiger 1994): a sequence of *sets* of operations that overlap, each of which takes effect at
//! once, in an order that real time does not contradict. What a set does is up to [`Model::step_together`].

use rustc_hash::FxHashSet;

use super::order::Precedence;
use super::{Finding, Problem, Rejected};
use crate::engine::Attempt;
use crate::engine::limits::Exhausted;
use crate::engine::mask::{Mask, Words};
use crate::model::Model;

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>) -> Finding {
    let spans = problem.timeline.spans(problem.operations.len());
    let order = Precedence::new(spans.len(), |_| true, |i, j| spans[i].ret < spans[j].call);
    check_order(problem, &order)
}

pub(super) fn check_order<M: Model>(problem: &mut Problem<'_, M>, order: &Precedence) -> Finding {
    let mut longest = Vec::new();
    match search(problem, order, &mut longest) {
        Ok(true) => Finding::Accepted,
        Ok(false) => {
            let attempt = |(order, state)| Attempt {
                order,
                state: problem.lts.adopt(problem.model, state),
                next: None,
            };
            let attempts = longest.into_iter().map(attempt).collect();
            Finding::Rejected(Rejected { prefix: problem.timeline.len(), attempts, ..Rejected::default() })
        }
        Err(limit) => Finding::Unknown { limit, events: 0 },
    }
}

/// Depth-first over which set comes next, each configuration once.
fn search<M: Model>(
    problem: &mut Problem<'_, M>,
    order: &Precedence,
    longest: &mut Vec<(Vec<usize>, M::State)>,
) -> Result<bool, Exhausted> {
    let (operations, model) = (problem.operations, problem.model);
    let mut memo: FxHashSet<(Words, M::State)> = FxHashSet::default();
    let mut stack = vec![(Words::default(), model.init(), Vec::new())];
    while let Some((placed, state, path)) = stack.pop() {
        let each = size_of::<(Words, M::State)>() * 2 + operations.len() / 8;
        problem.budget.spend(|| memo.len() * (each + model.state_bytes(&state)))?;
        let is_left = |op: &usize| !placed.contains(*op);
        if !(0..operations.len()).filter(is_left).any(|op| operations[op].output().is_some()) {
            return Ok(true);
        }
        if !memo.insert((placed.clone(), state.clone())) {
            continue;
        }
        let at = longest.partition_point(|(other, _)| other.len() >= path.len());
        longest.insert(at, (path.clone(), state.clone()));
        longest.truncate(ATTEMPTS);
        // Nothing is before anything else among them, so any of them may come together.
        let next: Vec<usize> =
            (0..operations.len()).filter(|&op| is_left(&op) && order.before(op).is_subset(&placed)).collect();
        assert!(next.len() < 32, "over 31 operations overlap: too many for sets of them");
        for chosen in 1..1u32 << next.len() {
            let set: Vec<usize> = next
                .iter()
                .enumerate()
                .filter(|(bit, _)| chosen >> bit & 1 == 1)
                .map(|(_, &op)| op)
                .collect();
            let labels: Vec<_> =
                set.iter().map(|&op| (&operations[op].input, operations[op].output())).collect();
            for next in model.step_together(&state, &labels) {
                let mut placed = placed.clone();
                set.iter().for_each(|&op| placed.insert(op));
                stack.push((placed, next, [path.as_slice(), &set].concat()));
            }
        }
    }
    Ok(false)
}
