//! Contracts under a given partial order: happens-before under a weak memory model, and whatever else an engine knows
//! better than a clock. It takes the place of real time in the definition of every contract.

use super::interval::{self, Stretch};
use super::order::Precedence;
use super::{Contract, Finding, Problem, Rejected, quasi};
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
    let (operations, model) = (problem.operations, problem.model);
    let has_returned = |op: usize| operations[op].output().is_some();
    let order = Precedence::of_contract(
        contract,
        operations.len(),
        has_returned,
        &before,
        |i, j| operations[i].process == operations[j].process && before(i, j),
        |op| model.is_relaxed(&operations[op].input),
    );
    if let Some(order) = order {
        return extend(problem, &order);
    }
    let given = || Precedence::new(operations.len(), has_returned, &before);
    match contract {
        // The model has been replaced by one that may deviate.
        Contract::Relaxed(_) => extend(problem, &given()),
        Contract::Quasi(k) => quasi::check_order(problem, k, given()),
        Contract::SetLinearizable => interval::check_order(problem, Stretch::One, &given()),
        Contract::IntervalLinearizable => interval::check_order(problem, Stretch::Any, &given()),
        Contract::Anything => Finding::Accepted,
        Contract::Durable(_) => panic!("a contract about crashes needs to know when they were: {contract}"),
        Contract::Linearizable
        | Contract::StrictlySerializable
        | Contract::Sequential
        | Contract::Serializable
        | Contract::Quiescent => unreachable!("their orders are all there is to them"),
    }
}

/// Checks whether some order that the model allows extends `order`.
fn extend<M: Model>(problem: &mut Problem<'_, M>, order: &Precedence) -> Finding {
    let operations = problem.operations;
    let mut chains = Chains::default();
    for (op, operation) in operations.iter().enumerate() {
        let class = problem.class(op);
        let optional = operation.output().is_none();
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
