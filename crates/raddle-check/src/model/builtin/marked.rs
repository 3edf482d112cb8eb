//! Contracts for some operations of an object only.

use std::fmt;

use super::Model;
use crate::contract::{Cost, Domain};
use crate::value::Value;

/// `M` with a say in which operations [`Contract::Quiescent`](crate::Contract::Quiescent) and
/// [`Contract::Relaxed`](crate::Contract::Relaxed) give freedom to, and by how much each may be out of place under
/// [`Contract::Quasi`](crate::Contract::Quasi).
///
/// ```
/// use raddle_check::model::counter::{Counter, CounterOp};
/// use raddle_check::model::marked::Marked;
/// use raddle_check::{Checker, Contract, History};
///
/// // Two calls one after the other, while a third is open throughout: no quiescent point.
/// let mut history = History::new();
/// let open = history.invoke(0, CounterOp::Read);
/// let add = history.invoke(1, CounterOp::AddAndGet(1));
/// history.respond(add, 2.into());
/// let add = history.invoke(1, CounterOp::AddAndGet(1));
/// history.respond(add, 1.into());
/// history.respond(open, 0.into());
///
/// let quiescent = Checker::new().contract(Contract::Quiescent);
/// assert!(quiescent.check(&history, &Counter).is_accepted());
/// let reads_only = Marked::new(Counter, |op| *op == CounterOp::Read);
/// assert!(quiescent.check(&history, &reads_only).is_violation());
/// ```
pub struct Marked<M: Model> {
    model: M,
    is_relaxed: Box<Marks<M::Input>>,
    domains: Box<Domains<M::Input>>,
}

type Marks<I> = dyn Fn(&I) -> bool + Send + Sync;
type Domains<I> = dyn Fn(&I, usize) -> Vec<Domain> + Send + Sync;

impl<M: Model> Marked<M> {
    /// `model`, with the operations for which `is_relaxed` holds marked.
    pub fn new(model: M, is_relaxed: impl Fn(&M::Input) -> bool + Send + Sync + 'static) -> Marked<M> {
        let domains = Box::new(|_: &M::Input, k| vec![Domain { number: 0, bound: k }]);
        Marked { model, is_relaxed: Box::new(is_relaxed), domains }
    }

    /// With the domains that `domains` gives for an operation and the bound of the contract.
    pub fn domains(
        mut self,
        domains: impl Fn(&M::Input, usize) -> Vec<Domain> + Send + Sync + 'static,
    ) -> Marked<M> {
        self.domains = Box::new(domains);
        self
    }
}

impl<M: Model + fmt::Debug> fmt::Debug for Marked<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Marked").field(&self.model).finish()
    }
}

impl<M: Model> Model for Marked<M> {
    type State = M::State;
    type Input = M::Input;
    type Output = M::Output;

    fn is_relaxed(&self, input: &M::Input) -> bool {
        (self.is_relaxed)(input)
    }

    fn domains(&self, input: &M::Input, k: usize) -> Vec<Domain> {
        (self.domains)(input, k)
    }

    fn init(&self) -> M::State {
        self.model.init()
    }

    fn step(
        &self,
        state: &M::State,
        input: &M::Input,
        output: Option<&M::Output>,
    ) -> impl IntoIterator<Item = M::State> {
        self.model.step(state, input, output)
    }

    fn has_costs(&self) -> bool {
        self.model.has_costs()
    }

    fn step_with_cost(
        &self,
        state: &M::State,
        input: &M::Input,
        output: Option<&M::Output>,
    ) -> impl IntoIterator<Item = (M::State, Cost)> {
        self.model.step_with_cost(state, input, output)
    }

    fn step_together(
        &self,
        state: &M::State,
        operations: &[(&M::Input, Option<&M::Output>)],
    ) -> impl IntoIterator<Item = M::State> {
        self.model.step_together(state, operations)
    }

    fn step_interval(
        &self,
        state: &M::State,
        begun: &[&M::Input],
        ended: &[(&M::Input, Option<&M::Output>)],
    ) -> impl IntoIterator<Item = M::State> {
        self.model.step_interval(state, begun, ended)
    }

    fn partition(&self, input: &M::Input) -> Option<Value> {
        self.model.partition(input)
    }

    fn is_read_only(&self, input: &M::Input, output: Option<&M::Output>) -> bool {
        self.model.is_read_only(input, output)
    }

    fn results(&self, state: &M::State, input: &M::Input) -> Vec<M::Output> {
        self.model.results(state, input)
    }

    fn describe(&self, input: &M::Input, output: Option<&M::Output>) -> String {
        self.model.describe(input, output)
    }

    fn describe_state(&self, state: &M::State) -> String {
        self.model.describe_state(state)
    }

    fn state_bytes(&self, state: &M::State) -> usize {
        self.model.state_bytes(state)
    }
}
