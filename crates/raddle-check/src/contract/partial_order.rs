//! Contracts under a given partial order: happens-before under a weak memory model, and whatever else an engine knows
//! better than a clock. It takes the place of real time in the definition of every contract.

use super::order::Precedence;
use super::{Contract, Finding, Problem, Rejected, quasi, quiescent, serializable, set_linearizable};
use crate::engine::chains::{self, Chains, Item};
use crate::model::Model;

/// Checks `contract` on operations of which `i` is over before `j` begins wherever `before(i, j)`.
///
/// # Panics
/// If crashes matter to the contract: nothing says where in a partial order they are.
pub(crate) fn check<M: Model>(
    contract: Contract,
    problem: &mut Problem<'_, M>,
    before: impl Fn(usize, usize) -> bool,
) -> Finding {
    let operations = problem.operations;
    let given = |before: &dyn Fn(usize, usize) -> bool| {
        Precedence::new(operations.len(), |op| operations[op].output().is_some(), before)
    };
    let is_same_process = |i: usize, j: usize| operations[i].process == operations[j].process;
    match contract {
        // The model has been replaced by one that may deviate.
        Contract::Linearizable | Contract::StrictlySerializable | Contract::Relaxed(_) => {
            extend(problem, &given(&before))
        }
        Contract::Sequential => extend(problem, &given(&|i, j| is_same_process(i, j) && before(i, j))),
        Contract::Serializable => serializable::check(problem),
        Contract::Quiescent => {
            let order =
                quiescent::relax(given(&before), |op| problem.model.is_relaxed(&operations[op].input));
            extend(problem, &order)
        }
        Contract::Quasi(k) => quasi::check_order(problem, k, given(&before)),
        Contract::SetLinearizable => set_linearizable::check_order(problem, &given(&before)),
        Contract::Anything => Finding::Accepted,
        Contract::Durable(_) => panic!("a contract about crashes needs to know when they were: {contract}"),
    }
}

/// Checks whether some order that the model allows extends `order`.
fn extend<M: Model>(problem: &mut Problem<'_, M>, order: &Precedence) -> Finding {
    let operations = problem.operations;
    let mut chains = Chains::default();
    for op in 0..operations.len() {
        let class = problem.class(op);
        let optional = operations[op].output().is_none();
        let needs = order.before(op).iter().map(|before| (before, 1)).collect();
        chains.chains.push(vec![Item { class, op, optional, after: 0, needs }]);
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
