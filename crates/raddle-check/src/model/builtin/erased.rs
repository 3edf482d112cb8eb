//! A model whose type is known only while the program runs.
//!
//! The checker is compiled for each type of model. Behind [`Erased`] all models of the [`catalog`](super::catalog) are one
//! type, so it is compiled once. The checker numbers states and remembers transitions, so an indirect call for each new
//! transition costs little; clones of erased states and inputs share them.

use std::any::Any;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Model, Named};
use crate::contract::{Cost, Domain};
use crate::history::Operation;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// Any model whose operations a history file can spell.
#[derive(Clone)]
pub struct Erased(Arc<dyn Object>);

/// A state or an input of an erased model.
#[derive(Clone)]
pub struct Datum(Arc<dyn Data>);

type Results<'a> = [(&'a Datum, Option<&'a Value>)];

impl Erased {
    /// Hides the type of `model`.
    pub fn new<M>(model: M) -> Erased
    where
        M: Named<State: Send + Sync, Input: Send + Sync> + Send + Sync + 'static,
    {
        Erased(Arc::new(model))
    }
}

/// [`Model`] and [`Named`] with types that do not depend on the model.
trait Object: Send + Sync {
    fn init(&self) -> Datum;
    fn step(&self, state: &Datum, input: &Datum, output: Option<&Value>) -> Vec<Datum>;
    fn partition(&self, input: &Datum) -> Option<Value>;
    fn is_read_only(&self, input: &Datum, output: Option<&Value>) -> bool;
    fn describe(&self, input: &Datum, output: Option<&Value>) -> String;
    fn describe_state(&self, state: &Datum) -> String;
    fn state_bytes(&self, state: &Datum) -> usize;
    fn results(&self, state: &Datum, input: &Datum) -> Vec<Value>;
    fn is_relaxed(&self, input: &Datum) -> bool;
    fn has_costs(&self) -> bool;
    fn step_with_cost(&self, state: &Datum, input: &Datum, output: Option<&Value>) -> Vec<(Datum, Cost)>;
    fn domains(&self, input: &Datum, k: usize) -> Vec<Domain>;
    fn step_together(&self, state: &Datum, operations: &Results<'_>) -> Vec<Datum>;
    fn step_interval(&self, state: &Datum, begun: &[&Datum], ended: &Results<'_>) -> Vec<Datum>;
    fn focus(&self, operations: &[&Operation<Datum, Value>]) -> Option<Erased>;
    fn collection(&self) -> Option<Collection>;
    fn role(&self, input: &Datum, output: Option<&Value>) -> Option<Role>;
    fn operation(&self, name: &str, argument: &Value) -> Result<Datum, String>;
}

impl<M> Object for M
where
    M: Named<State: Send + Sync, Input: Send + Sync> + Send + Sync + 'static,
{
    fn init(&self) -> Datum {
        Datum::new(Model::init(self))
    }

    fn step(&self, state: &Datum, input: &Datum, output: Option<&Value>) -> Vec<Datum> {
        erase(Model::step(self, state.get::<M::State>(), input.get::<M::Input>(), output))
    }

    fn partition(&self, input: &Datum) -> Option<Value> {
        Model::partition(self, input.get())
    }

    fn is_read_only(&self, input: &Datum, output: Option<&Value>) -> bool {
        Model::is_read_only(self, input.get(), output)
    }

    fn describe(&self, input: &Datum, output: Option<&Value>) -> String {
        Model::describe(self, input.get(), output)
    }

    fn describe_state(&self, state: &Datum) -> String {
        Model::describe_state(self, state.get())
    }

    fn state_bytes(&self, state: &Datum) -> usize {
        size_of::<Datum>() + Model::state_bytes(self, state.get())
    }

    fn results(&self, state: &Datum, input: &Datum) -> Vec<Value> {
        Model::results(self, state.get(), input.get())
    }

    fn is_relaxed(&self, input: &Datum) -> bool {
        Model::is_relaxed(self, input.get())
    }

    fn has_costs(&self) -> bool {
        Model::has_costs(self)
    }

    fn step_with_cost(&self, state: &Datum, input: &Datum, output: Option<&Value>) -> Vec<(Datum, Cost)> {
        let next = Model::step_with_cost(self, state.get(), input.get(), output).into_iter();
        next.map(|(state, cost)| (Datum::new(state), cost)).collect()
    }

    fn domains(&self, input: &Datum, k: usize) -> Vec<Domain> {
        Model::domains(self, input.get(), k)
    }

    fn step_together(&self, state: &Datum, operations: &Results<'_>) -> Vec<Datum> {
        erase(Model::step_together(self, state.get(), &typed::<M>(operations)))
    }

    fn step_interval(&self, state: &Datum, begun: &[&Datum], ended: &Results<'_>) -> Vec<Datum> {
        let begun: Vec<&M::Input> = begun.iter().map(|input| input.get()).collect();
        erase(Model::step_interval(self, state.get(), &begun, &typed::<M>(ended)))
    }

    fn focus(&self, operations: &[&Operation<Datum, Value>]) -> Option<Erased> {
        let typed = |operation: &&Operation<Datum, Value>| Operation {
            process: operation.process,
            call: operation.call,
            input: operation.input.get::<M::Input>().clone(),
            outcome: operation.outcome.clone(),
        };
        let operations: Vec<Operation<M::Input, Value>> = operations.iter().map(typed).collect();
        Model::focus(self, &operations.iter().collect::<Vec<_>>()).map(Erased::new)
    }

    fn collection(&self) -> Option<Collection> {
        Model::collection(self)
    }

    fn role(&self, input: &Datum, output: Option<&Value>) -> Option<Role> {
        Model::role(self, input.get(), output)
    }

    fn operation(&self, name: &str, argument: &Value) -> Result<Datum, String> {
        Named::operation(self, name, argument).map(Datum::new)
    }
}

fn erase<S: Data>(states: impl IntoIterator<Item = S>) -> Vec<Datum> {
    states.into_iter().map(Datum::new).collect()
}

fn typed<'a, M: Named<Input: 'static>>(operations: &Results<'a>) -> Vec<(&'a M::Input, Option<&'a Value>)> {
    operations.iter().map(|(input, output)| (input.get(), *output)).collect()
}

impl Model for Erased {
    type State = Datum;
    type Input = Datum;
    type Output = Value;

    fn init(&self) -> Datum {
        self.0.init()
    }

    fn step(&self, state: &Datum, input: &Datum, output: Option<&Value>) -> impl IntoIterator<Item = Datum> {
        self.0.step(state, input, output)
    }

    fn partition(&self, input: &Datum) -> Option<Value> {
        self.0.partition(input)
    }

    fn is_read_only(&self, input: &Datum, output: Option<&Value>) -> bool {
        self.0.is_read_only(input, output)
    }

    fn describe(&self, input: &Datum, output: Option<&Value>) -> String {
        self.0.describe(input, output)
    }

    fn describe_state(&self, state: &Datum) -> String {
        self.0.describe_state(state)
    }

    fn state_bytes(&self, state: &Datum) -> usize {
        self.0.state_bytes(state)
    }

    fn results(&self, state: &Datum, input: &Datum) -> Vec<Value> {
        self.0.results(state, input)
    }

    fn is_relaxed(&self, input: &Datum) -> bool {
        self.0.is_relaxed(input)
    }

    fn has_costs(&self) -> bool {
        self.0.has_costs()
    }

    fn step_with_cost(
        &self,
        state: &Datum,
        input: &Datum,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = (Datum, Cost)> {
        self.0.step_with_cost(state, input, output)
    }

    fn domains(&self, input: &Datum, k: usize) -> Vec<Domain> {
        self.0.domains(input, k)
    }

    fn step_together(
        &self,
        state: &Datum,
        operations: &[(&Datum, Option<&Value>)],
    ) -> impl IntoIterator<Item = Datum> {
        self.0.step_together(state, operations)
    }

    fn step_interval(
        &self,
        state: &Datum,
        begun: &[&Datum],
        ended: &[(&Datum, Option<&Value>)],
    ) -> impl IntoIterator<Item = Datum> {
        self.0.step_interval(state, begun, ended)
    }

    fn focus(&self, operations: &[&Operation<Datum, Value>]) -> Option<Erased> {
        self.0.focus(operations)
    }

    fn collection(&self) -> Option<Collection> {
        self.0.collection()
    }

    fn role(&self, input: &Datum, output: Option<&Value>) -> Option<Role> {
        self.0.role(input, output)
    }
}

impl Named for Erased {
    fn operation(&self, name: &str, argument: &Value) -> Result<Datum, String> {
        self.0.operation(name, argument)
    }
}

/// What the checker asks of states and inputs.
trait Data: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn Data) -> bool;
    fn add_to_hash(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + Debug + Send + Sync + Eq + Hash> Data for T {
    fn equals(&self, other: &dyn Data) -> bool {
        (other as &dyn Any).downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn add_to_hash(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl Datum {
    fn new(data: impl Data) -> Datum {
        Datum(Arc::new(data))
    }

    /// The state or input itself.
    fn get<T: Any>(&self) -> &T {
        let data: &dyn Any = &*self.0;
        data.downcast_ref().expect("a model gets the states and inputs that it made itself")
    }
}

impl Debug for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl Eq for Datum {}

impl Hash for Datum {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.add_to_hash(hasher);
    }
}
