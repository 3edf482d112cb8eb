//! Sequential consistency (Lamport 1979): an order that the model allows and that keeps the order in which each
//! process called its operations. Real time between processes does not count.

use rustc_hash::FxHashMap;

use super::{Finding, Problem, partial_order};
use crate::engine::chains::{Chains, Item};
use crate::model::Model;
use crate::timeline::Event;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>) -> Finding {
    let mut chains = Chains::default();
    let mut by_process: FxHashMap<u64, usize> = FxHashMap::default();
    for event in problem.timeline.events() {
        let Event::Call(op) = event else { continue };
        let class = problem.class(op);
        let chain = *by_process.entry(problem.operations[op].process).or_insert_with(|| {
            chains.chains.push(Vec::new());
            chains.chains.len() - 1
        });
        if problem.operations[op].output().is_some() {
            chains.chains[chain].push(Item { class, op, optional: false, after: 0, needs: Vec::new() });
        } else {
            // It comes after what its process did before, but nothing waits for it: it may never have happened.
            let needs = vec![(chain, chains.chains[chain].len())];
            chains.chains.push(vec![Item { class, op, optional: true, after: 0, needs }]);
        }
    }
    partial_order::search(problem, &chains)
}
