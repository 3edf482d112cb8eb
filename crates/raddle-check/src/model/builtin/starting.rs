//! Objects that are not empty at first.

use super::{Model, Named};
use crate::contract::{Cost, Domain};
use crate::history::{Operation, Outcome};
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// `M` after some operations.
///
/// ```
/// use raddle_check::model::stack::{Stack, StackOp};
/// use raddle_check::model::starting::Starting;
/// use raddle_check::{History, check};
///
/// let full = Starting::with(Stack::new(), vec![StackOp::Push(1.into())]).unwrap();
/// let mut history = History::new();
/// let pop = history.invoke(0, StackOp::Pop);
/// history.respond(pop, 1.into());
/// assert!(check(&history, &full).is_accepted());
/// assert!(check(&history, &Stack::new()).is_violation());
/// ```
#[derive(Clone, Debug)]
pub struct Starting<M: Model> {
    model: M,
    /// The operations before any other.
    before: Vec<M::Input>,
    /// The state in which they leave the object.
    state: M::State,
}

impl<M: Model> Starting<M> {
    /// `model` as it is.
    pub fn empty(model: M) -> Starting<M> {
        Starting { before: Vec::new(), state: model.init(), model }
    }

    /// `model` after `operations`, in their order; none if one of them changes nothing, as where there is no room, or is
    /// impossible. Where they leave a choice, the first one is taken.
    pub fn with(model: M, operations: Vec<M::Input>) -> Option<Starting<M>> {
        let mut starting = Starting::empty(model);
        for operation in operations {
            let next = starting.model.step(&starting.state, &operation, None).into_iter().next()?;
            if next == starting.state && !starting.model.is_read_only(&operation, None) {
                return None;
            }
            starting.state = next;
            starting.before.push(operation);
        }
        Some(starting)
    }
}

impl<M: Model> Model for Starting<M> {
    type State = M::State;
    type Input = M::Input;
    type Output = M::Output;

    fn init(&self) -> M::State {
        self.state.clone()
    }

    fn step(
        &self,
        state: &M::State,
        input: &M::Input,
        output: Option<&M::Output>,
    ) -> impl IntoIterator<Item = M::State> {
        self.model.step(state, input, output)
    }

    fn partition(&self, input: &M::Input) -> Option<Value> {
        self.model.partition(input)
    }

    fn is_read_only(&self, input: &M::Input, output: Option<&M::Output>) -> bool {
        self.model.is_read_only(input, output)
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

    fn results(&self, state: &M::State, input: &M::Input) -> Vec<M::Output> {
        self.model.results(state, input)
    }

    fn is_relaxed(&self, input: &M::Input) -> bool {
        self.model.is_relaxed(input)
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

    fn domains(&self, input: &M::Input, k: usize) -> Vec<Domain> {
        self.model.domains(input, k)
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

    /// The first operations belong to the history, as far as the model is concerned.
    fn focus(&self, operations: &[&Operation<M::Input, M::Output>]) -> Option<Self> {
        let first = |input: &M::Input| Operation {
            process: 0,
            call: 0,
            input: input.clone(),
            outcome: Outcome::Unknown,
        };
        let first: Vec<Operation<M::Input, M::Output>> = self.before.iter().map(first).collect();
        let all: Vec<_> = first.iter().chain(operations.iter().copied()).collect();
        let model = self.model.focus(&all)?;
        Some(Starting { model, before: self.before.clone(), state: self.state.clone() })
    }

    /// Monitors know collections that are empty at first.
    fn collection(&self) -> Option<Collection> {
        self.model.collection().filter(|_| self.before.is_empty())
    }

    fn role(&self, input: &M::Input, output: Option<&M::Output>) -> Option<Role> {
        self.model.role(input, output)
    }
}

impl<M: Named> Named for Starting<M> {
    fn operation(&self, name: &str, argument: &Value) -> Result<M::Input, String> {
        self.model.operation(name, argument)
    }
}
