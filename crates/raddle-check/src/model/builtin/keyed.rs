//! Many independent objects of one kind, each under a key.

use std::collections::BTreeMap;

use super::{Model, Named};
use crate::contract::{Cost, Domain};
use crate::history::Operation;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// One `M` under every key. Histories of it are checked key by key.
#[derive(Clone, Debug, Default)]
pub struct Keyed<M>(pub M);

/// An operation on the object under `key`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct At<I> {
    /// Which object.
    pub key: Value,
    /// What was called on it.
    pub op: I,
}

impl<M: Model> Model for Keyed<M> {
    /// The objects that are not as they were at first.
    type State = BTreeMap<Value, M::State>;
    type Input = At<M::Input>;
    type Output = M::Output;

    fn init(&self) -> Self::State {
        BTreeMap::new()
    }

    fn step(
        &self,
        state: &Self::State,
        input: &Self::Input,
        output: Option<&M::Output>,
    ) -> impl IntoIterator<Item = Self::State> {
        let initial = self.0.init();
        let before = state.get(&input.key).unwrap_or(&initial);
        let objects = self.0.step(before, &input.op, output).into_iter();
        objects.map(|object| replaced(state, input, object, &initial)).collect::<Vec<_>>()
    }

    fn partition(&self, input: &Self::Input) -> Option<Value> {
        Some(input.key.clone())
    }

    fn is_read_only(&self, input: &Self::Input, output: Option<&M::Output>) -> bool {
        self.0.is_read_only(&input.op, output)
    }

    fn describe(&self, input: &Self::Input, output: Option<&M::Output>) -> String {
        format!("{}: {}", input.key, self.0.describe(&input.op, output))
    }

    fn describe_state(&self, state: &Self::State) -> String {
        let objects: Vec<String> =
            state.iter().map(|(key, object)| format!("{key}: {}", self.0.describe_state(object))).collect();
        format!("{{{}}}", objects.join(", "))
    }

    fn state_bytes(&self, state: &Self::State) -> usize {
        let each = |(key, object)| 40 + Value::heap_bytes(key) + self.0.state_bytes(object);
        size_of_val(state) + state.iter().map(each).sum::<usize>()
    }

    fn results(&self, state: &Self::State, input: &Self::Input) -> Vec<M::Output> {
        let initial = self.0.init();
        self.0.results(state.get(&input.key).unwrap_or(&initial), &input.op)
    }

    fn is_relaxed(&self, input: &Self::Input) -> bool {
        self.0.is_relaxed(&input.op)
    }

    fn has_costs(&self) -> bool {
        self.0.has_costs()
    }

    fn step_with_cost(
        &self,
        state: &Self::State,
        input: &Self::Input,
        output: Option<&M::Output>,
    ) -> impl IntoIterator<Item = (Self::State, Cost)> {
        let initial = self.0.init();
        let before = state.get(&input.key).unwrap_or(&initial);
        let objects = self.0.step_with_cost(before, &input.op, output).into_iter();
        objects.map(|(object, cost)| (replaced(state, input, object, &initial), cost)).collect::<Vec<_>>()
    }

    fn domains(&self, input: &Self::Input, k: usize) -> Vec<Domain> {
        self.0.domains(&input.op, k)
    }

    fn focus(&self, operations: &[&Operation<Self::Input, Self::Output>]) -> Option<Self> {
        let first = &operations.first()?.input.key;
        if operations.iter().any(|operation| operation.input.key != *first) {
            return None;
        }
        let inner: Vec<Operation<M::Input, M::Output>> = operations
            .iter()
            .map(|operation| Operation {
                process: operation.process,
                call: operation.call,
                input: operation.input.op.clone(),
                outcome: operation.outcome.clone(),
            })
            .collect();
        self.0.focus(&inner.iter().collect::<Vec<_>>()).map(Keyed)
    }

    fn collection(&self) -> Option<Collection> {
        self.0.collection()
    }

    fn role(&self, input: &Self::Input, output: Option<&M::Output>) -> Option<Role> {
        self.0.role(&input.op, output)
    }
}

/// The objects in `state` with the one that `input` is about replaced.
fn replaced<I, S: Clone + Eq>(
    state: &BTreeMap<Value, S>,
    input: &At<I>,
    object: S,
    initial: &S,
) -> BTreeMap<Value, S> {
    let mut next = state.clone();
    if object == *initial {
        next.remove(&input.key);
    } else {
        next.insert(input.key.clone(), object);
    }
    next
}

impl<M: Named> Named for Keyed<M> {
    fn operation(&self, name: &str, argument: &Value) -> Result<Self::Input, String> {
        match argument.as_pair() {
            Some((key, argument)) => Ok(At { key: key.clone(), op: self.0.operation(name, argument)? }),
            None => {
                Err(format!("`{name}` has no key: its value should be a pair [key value], or name a `key`"))
            }
        }
    }
}
