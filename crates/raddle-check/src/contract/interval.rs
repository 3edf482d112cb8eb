//! Set-linearizability (Neiger 1994) and interval-linearizability (Castañeda, Rajsbaum and Raynal 2018): operations that
//! overlap may take effect together.
//!
//! Wanted is a sequence of *classes*. Under set-linearizability each operation is in one class, and what a class does is up
//! to [`Model::step_together`]. Under interval-linearizability an operation begins in one class and ends in the same or a
//! later one, and what a class does is up to [`Model::step_interval`]. In both, an operation that is over before another is
//! called ends in an earlier class than the other begins.

use rustc_hash::FxHashSet;

use super::order::Precedence;
use super::{Finding, Problem, Rejected};
use crate::engine::Attempt;
use crate::engine::limits::Exhausted;
use crate::engine::mask::{Mask, Words};
use crate::model::Model;

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

/// How many classes an operation may stretch over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch {
    /// One: set-linearizability.
    One,
    /// Any number: interval-linearizability.
    Any,
}

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>, stretch: Stretch) -> Finding {
    let spans = problem.timeline.spans(problem.operations.len());
    let order = Precedence::new(spans.len(), |_| true, |i, j| spans[i].ret < spans[j].call);
    check_order(problem, stretch, &order)
}

pub(super) fn check_order<M: Model>(
    problem: &mut Problem<'_, M>,
    stretch: Stretch,
    order: &Precedence,
) -> Finding {
    let mut longest = Vec::new();
    match search(problem, stretch, order, &mut longest) {
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

/// What has been put into classes so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed<S> {
    begun: Words,
    ended: Words,
    state: S,
}

/// Depth-first over which class comes next, each configuration once.
fn search<M: Model>(
    problem: &mut Problem<'_, M>,
    stretch: Stretch,
    order: &Precedence,
    longest: &mut Vec<(Vec<usize>, M::State)>,
) -> Result<bool, Exhausted> {
    let (operations, model) = (problem.operations, problem.model);
    let all = 0..operations.len();
    let start = Placed { begun: Words::default(), ended: Words::default(), state: model.init() };
    let mut memo: FxHashSet<Placed<M::State>> = FxHashSet::default();
    let mut stack = vec![(start, Vec::new())];
    while let Some((placed, path)) = stack.pop() {
        let each = size_of::<Placed<M::State>>() * 2 + operations.len() / 4;
        problem.budget.spend(|| memo.len() * (each + model.state_bytes(&placed.state)))?;
        if !memo.insert(placed.clone()) {
            continue;
        }
        if all.clone().all(|op| placed.ended.contains(op) || operations[op].output().is_none()) {
            return Ok(true);
        }
        let at = longest.partition_point(|(other, _)| other.len() >= path.len());
        longest.insert(at, (path.clone(), placed.state.clone()));
        longest.truncate(ATTEMPTS);
        // None of these is before another, so any of them may come together.
        let may_begin =
            |op: &usize| !placed.begun.contains(*op) && order.before(*op).is_subset(&placed.ended);
        let may_begin: Vec<usize> = all.clone().filter(may_begin).collect();
        for begun in subsets(&may_begin) {
            let open = all.clone().filter(|op| placed.begun.contains(*op) && !placed.ended.contains(*op));
            let ends = match stretch {
                Stretch::One => vec![begun.clone()],
                Stretch::Any => subsets(&open.chain(begun.iter().copied()).collect::<Vec<_>>()).collect(),
            };
            for ended in ends.into_iter().filter(|ended| !(begun.is_empty() && ended.is_empty())) {
                let labels: Vec<_> =
                    ended.iter().map(|&op| (&operations[op].input, operations[op].output())).collect();
                let states: Vec<M::State> = match stretch {
                    Stretch::One => model.step_together(&placed.state, &labels).into_iter().collect(),
                    Stretch::Any => {
                        let inputs: Vec<_> = begun.iter().map(|&op| &operations[op].input).collect();
                        model.step_interval(&placed.state, &inputs, &labels).into_iter().collect()
                    }
                };
                for state in states {
                    let mut next = Placed { state, ..placed.clone() };
                    begun.iter().for_each(|&op| next.begun.insert(op));
                    ended.iter().for_each(|&op| next.ended.insert(op));
                    stack.push((next, [path.as_slice(), &ended].concat()));
                }
            }
        }
    }
    Ok(false)
}

/// All subsets, the empty one first.
fn subsets(items: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    assert!(items.len() < 32, "over 31 operations overlap: too many to try all sets of them");
    (0..1u32 << items.len())
        .map(|chosen| (0..items.len()).filter(|bit| chosen >> bit & 1 == 1).map(|bit| items[bit]).collect())
}
