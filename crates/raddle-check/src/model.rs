//! What an object should do when its operations run one after another.
//!
//! Implement [`Model`] for your own object, or take one of the built-in ones; [`catalog`] lists those that history
//! files can name.

#[cfg(feature = "models")]
mod builtin;

#[cfg(feature = "models")]
pub use builtin::*;

use std::fmt::Debug;
use std::hash::Hash;

use crate::contract::{Cost, Domain};
use crate::history::Operation;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// The sequential specification of an object.
///
/// Two methods make a model:
///
/// ```
/// use raddle_check::{History, Model, check};
///
/// struct Counter;
///
/// impl Model for Counter {
///     type State = u64;
///     type Input = &'static str;
///     type Output = u64;
///
///     fn init(&self) -> u64 {
///         0
///     }
///
///     fn step(&self, state: &u64, input: &&'static str, output: Option<&u64>) -> impl IntoIterator<Item = u64> {
///         let next = if *input == "inc" { state + 1 } else { *state };
///         output.is_none_or(|&seen| seen == next).then_some(next)
///     }
/// }
///
/// let mut history = History::new();
/// let (a, b) = (history.invoke(0, "inc"), history.invoke(1, "inc"));
/// history.respond(a, 1);
/// history.respond(b, 1); // The other increment is lost.
/// assert!(check(&history, &Counter).is_violation());
/// ```
pub trait Model {
    /// What the object remembers. Equal states must behave alike: the checker keeps only one of them.
    type State: Clone + Eq + Hash + Debug;
    /// An operation with its arguments.
    type Input: Clone + Eq + Hash + Debug;
    /// What an operation returns.
    type Output: Clone + Eq + Hash + Debug;

    /// The state before any operation.
    fn init(&self) -> Self::State;

    /// The states in which `input` may leave the object if it runs in `state` and returns `output`; none if it
    /// cannot return that there. `output` is absent when nobody saw it: then every result counts.
    ///
    /// Return an `Option` for an object that leaves no choice, and any other collection for one that does.
    fn step(
        &self,
        state: &Self::State,
        input: &Self::Input,
        output: Option<&Self::Output>,
    ) -> impl IntoIterator<Item = Self::State>;

    /// The part of the object that `input` touches, if it touches only one and the parts are independent.
    /// A history whose operations all name a part is checked part by part.
    fn partition(&self, input: &Self::Input) -> Option<Value> {
        let _ = input;
        None
    }

    /// Whether this operation with this output leaves *every* state in which it is possible as it was.
    /// Saying so is optional and makes checking much faster; the checker panics when it sees it proven wrong.
    fn is_read_only(&self, input: &Self::Input, output: Option<&Self::Output>) -> bool {
        let _ = (input, output);
        false
    }

    /// The operation in words, for explanations.
    fn describe(&self, input: &Self::Input, output: Option<&Self::Output>) -> String {
        match output {
            Some(output) => format!("{input:?} -> {output:?}"),
            None => format!("{input:?} -> ?"),
        }
    }

    /// The state in words, for explanations.
    fn describe_state(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }

    /// About how many bytes `state` takes, for memory limits. Override it when states own memory.
    fn state_bytes(&self, state: &Self::State) -> usize {
        size_of_val(state)
    }

    /// What `input` may return in `state`, so that explanations can say what was expected; empty if that is not known.
    fn results(&self, state: &Self::State, input: &Self::Input) -> Vec<Self::Output> {
        let _ = (state, input);
        Vec::new()
    }

    /// Whether the operation is one of those to which [`Contract::Quiescent`](crate::Contract::Quiescent) and
    /// [`Contract::Relaxed`](crate::Contract::Relaxed) give freedom. See [`Marked`](marked::Marked).
    fn is_relaxed(&self, input: &Self::Input) -> bool {
        let _ = input;
        true
    }

    /// Whether [`step_with_cost`](Model::step_with_cost) knows more than [`step`](Model::step).
    fn has_costs(&self) -> bool {
        false
    }

    /// Like [`step`](Model::step), with the steps that the object should not take and how far each is from one that it
    /// should: for [`Measure::OutOfOrder`](crate::Measure::OutOfOrder).
    fn step_with_cost(
        &self,
        state: &Self::State,
        input: &Self::Input,
        output: Option<&Self::Output>,
    ) -> impl IntoIterator<Item = (Self::State, Cost)> {
        self.step(state, input, output).into_iter().map(|next| (next, Cost::Of(0))).collect::<Vec<_>>()
    }

    /// The sets of operations within which [`Contract::Quasi(k)`](crate::Contract::Quasi) counts places, as far as this
    /// operation is in them. Unless a model says otherwise there is one, of all operations, with bound `k`.
    fn domains(&self, input: &Self::Input, k: usize) -> Vec<Domain> {
        let _ = input;
        vec![Domain { number: 0, bound: k }]
    }

    /// The states in which `operations` may leave the object if they take effect together, for
    /// [`Contract::SetLinearizable`](crate::Contract::SetLinearizable). Unless a model says otherwise, only one at a
    /// time can.
    fn step_together(
        &self,
        state: &Self::State,
        operations: &[(&Self::Input, Option<&Self::Output>)],
    ) -> impl IntoIterator<Item = Self::State> {
        match operations {
            [(input, output)] => self.step(state, input, *output).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The states in which a moment may leave the object at which operations with the inputs `begun` begin to take effect
    /// and those in `ended`, which begin now or began before, return; for
    /// [`Contract::IntervalLinearizable`](crate::Contract::IntervalLinearizable). The state has to remember what has
    /// begun. Unless a model says otherwise, operations begin and end at the same moment.
    fn step_interval(
        &self,
        state: &Self::State,
        begun: &[&Self::Input],
        ended: &[(&Self::Input, Option<&Self::Output>)],
    ) -> impl IntoIterator<Item = Self::State> {
        match begun.len() == ended.len() {
            true => self.step_together(state, ended).into_iter().collect(),
            false => Vec::new(),
        }
    }

    /// A model that gives the same verdict on these operations and has fewer states, if there is one: what no
    /// operation can observe need not be told apart.
    fn focus(&self, operations: &[&Operation<Self::Input, Self::Output>]) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = operations;
        None
    }

    /// The collection this object is, if one of the near-linear [`monitor`](crate::monitor)s knows it.
    fn collection(&self) -> Option<Collection> {
        None
    }

    /// What the operation is to a monitor of [`collection`](Model::collection); `None` if monitors do not know it.
    fn role(&self, input: &Self::Input, output: Option<&Self::Output>) -> Option<Role> {
        let _ = (input, output);
        None
    }
}
