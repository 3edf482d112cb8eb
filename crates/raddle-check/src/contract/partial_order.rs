//! Orders that extend a given partial order: happens-before under a weak memory model, and whatever else an engine
//! knows better than a clock.

use super::{Finding, Problem, Rejected};
use crate::engine::chains::{self, Chains, Item};
use crate::model::Model;

/// Checks whether some order of the operations that the model allows has `i` before `j` wherever `before(i, j)`.
pub(crate) fn check<M: Model>(
    problem: &mut Problem<'_, M>,
    before: impl Fn(usize, usize) -> bool,
) -> Finding {
    let operations = problem.operations;
    let mut chains = Chains::default();
    for op in 0..operations.len() {
        let class = problem.class(op);
        // Nothing waits for an operation that may never have happened.
        let needs =
            (0..operations.len()).filter(|&i| i != op && operations[i].output().is_some() && before(i, op));
        chains.chains.push(vec![Item {
            class,
            op,
            optional: operations[op].output().is_none(),
            after: 0,
            needs: needs.map(|i| (i, 1)).collect(),
        }]);
    }
    search(problem, &chains)
}

/// Runs the chain search on a problem that a contract has turned into chains.
pub(super) fn search<M: Model>(problem: &mut Problem<'_, M>, chains: &Chains) -> Finding {
    match chains::search(chains, problem.lts, problem.model, problem.budget) {
        Ok(Ok(_)) => Finding::Accepted,
        Ok(Err(attempts)) => {
            let prefix = problem.timeline.len();
            Finding::Rejected(Rejected { prefix, attempts, ..Rejected::default() })
        }
        Err(limit) => Finding::Unknown { limit, events: 0 },
    }
}
