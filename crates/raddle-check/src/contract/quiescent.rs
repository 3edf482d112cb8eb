//! Quiescent consistency (Aspnes, Herlihy and Shavit 1994): an order that the model allows, in which operations
//! separated by a quiescent point, an instant at which nothing is open, are in their order. An operation whose outcome
//! is unknown stays open: after its call there is no quiescent point any more.
//!
//! Only operations that [`Model::is_relaxed`] marks have that freedom, which is all of them unless the model says
//! otherwise; between two that are not marked, real time counts.

use rustc_hash::FxHashMap;

use super::order::Precedence;
use super::{Finding, Problem, partial_order};
use crate::engine::chains::{Chains, Item};
use crate::engine::lts::Class;
use crate::model::Model;
use crate::timeline::{Event, Span};

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
    let (operations, model) = (problem.operations, problem.model);
    check_periods(problem, |op| periods[op], |op| model.is_relaxed(&operations[op].input))
}

/// The order that is left of `order`.
pub(super) fn relax(order: Precedence, is_relaxed: impl Fn(usize) -> bool) -> Precedence {
    let count = order.len();
    let periods = order.clone().periods();
    let stays = |i: usize, j: usize| !is_relaxed(i) && !is_relaxed(j) && order.has(i, j);
    Precedence::new(count, |_| true, |i, j| periods[i] < periods[j] || stays(i, j))
}

/// Looks for an order in which all operations of a period come before those of later ones, and those that are not
/// relaxed are in real-time order.
pub(super) fn check_periods<M: Model>(
    problem: &mut Problem<'_, M>,
    period: impl Fn(usize) -> usize,
    is_relaxed: impl Fn(usize) -> bool,
) -> Finding {
    let operations = problem.operations;
    let is_required = |op: &usize| operations[*op].output().is_some();
    let spans = problem.timeline.spans(operations.len());
    let mut by_period: Vec<usize> = (0..operations.len()).collect();
    by_period.sort_by_key(|&op| (period(op), spans[op].call));

    let mut chains = Chains::default();
    // Equal operations of one period can take each other's places, so any one order of them will do.
    let mut equals: FxHashMap<(usize, Class), usize> = FxHashMap::default();
    let mut timed = Timed::default();
    let mut after = 0;
    for group in by_period.chunk_by(|&a, &b| period(a) == period(b)) {
        for &op in group {
            let (class, optional) = (problem.class(op), !is_required(&op));
            let (chain, needs) = if is_relaxed(op) {
                (*equals.entry((period(op), class)).or_insert(chains.chains.len()), Vec::new())
            } else {
                let needs = timed.needs(spans[op]);
                (
                    if optional { chains.chains.len() } else { timed.chain(spans[op], chains.chains.len()) },
                    needs,
                )
            };
            if chain == chains.chains.len() {
                chains.chains.push(Vec::new());
            }
            chains.chains[chain].push(Item { class, op, optional, after, needs });
        }
        after += group.iter().filter(|op| is_required(op)).count();
    }
    partial_order::search(problem, &chains)
}

/// Chains of operations each of which returned before the next was called: their numbers, and when each returned.
#[derive(Default)]
struct Timed(Vec<(usize, Vec<u32>)>);

impl Timed {
    /// How far each chain must have got before an operation that takes this time.
    fn needs(&self, span: Span) -> Vec<(usize, usize)> {
        let over = |returns: &Vec<u32>| returns.partition_point(|&at| at < span.call);
        self.0
            .iter()
            .map(|(chain, returns)| (*chain, over(returns)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The chain that an operation that takes this time continues; if there is none, the one called `new`.
    fn chain(&mut self, span: Span, new: usize) -> usize {
        let continued =
            self.0.iter().position(|(_, returns)| returns.last().is_some_and(|&at| at < span.call));
        let at = continued.unwrap_or_else(|| {
            self.0.push((new, Vec::new()));
            self.0.len() - 1
        });
        self.0[at].1.push(span.ret);
        self.0[at].0
    }
}
