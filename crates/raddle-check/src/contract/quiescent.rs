//! Quiescent consistency (Aspnes, Herlihy and Shavit 1994): an order that the model allows, in which operations
//! separated by a quiescent point, an instant at which nothing is open, are in their order. An operation whose outcome
//! is unknown stays open: after its call there is no quiescent point any more.

use rustc_hash::FxHashMap;

use super::{Finding, Problem, partial_order};
use crate::engine::chains::{Chains, Item};
use crate::engine::lts::Class;
use crate::model::Model;
use crate::timeline::Event;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>) -> Finding {
    let mut periods = vec![0; problem.operations.len()];
    let (mut period, mut open) = (0, 0);
    for event in problem.timeline.events() {
        match event {
            Event::Call(op) => {
                periods[op] = period;
                open += 1;
            }
            Event::Return(_) => {
                open -= 1;
                period += usize::from(open == 0);
            }
        }
    }
    check_periods(problem, |op| periods[op])
}

/// Looks for an order in which all operations of a period come before those of later ones.
pub(super) fn check_periods<M: Model>(
    problem: &mut Problem<'_, M>,
    period: impl Fn(usize) -> usize,
) -> Finding {
    let operations = problem.operations;
    let is_required = |op: &usize| operations[*op].output().is_some();
    let mut by_period: Vec<usize> = (0..operations.len()).collect();
    by_period.sort_by_key(|&op| period(op));

    let mut chains = Chains::default();
    // Equal operations of one period can take each other's places, so any one order of them will do.
    let mut equals: FxHashMap<(usize, Class), usize> = FxHashMap::default();
    let mut before = 0;
    for group in by_period.chunk_by(|&a, &b| period(a) == period(b)) {
        for &op in group {
            let class = problem.class(op);
            let chain = *equals.entry((period(op), class)).or_insert_with(|| {
                chains.chains.push(Vec::new());
                chains.chains.len() - 1
            });
            let optional = !is_required(&op);
            chains.chains[chain].push(Item { class, op, optional, after: before, needs: Vec::new() });
        }
        before += group.iter().filter(|op| is_required(op)).count();
    }
    partial_order::search(problem, &chains)
}
