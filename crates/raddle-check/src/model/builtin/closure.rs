//! Models from closures: what an operation does to a state, and nothing else.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::marker::PhantomData;

use super::Model;

/// A model that leaves no choice: a closure changes the state and gives the result.
///
/// ```
/// use raddle_check::model::closure::Deterministic;
/// use raddle_check::{History, check};
///
/// let stack = Deterministic::new(Vec::new(), |stack: &mut Vec<u8>, input: &Option<u8>| match input {
///     Some(pushed) => {
///         stack.push(*pushed);
///         None
///     }
///     None => stack.pop(),
/// });
/// let mut history = History::new();
/// let push = history.invoke(0, Some(7));
/// history.respond(push, None);
/// let pop = history.invoke(1, None);
/// history.respond(pop, Some(8));
/// assert!(check(&history, &stack).is_violation());
/// ```
pub struct Deterministic<S, I, O, F> {
    initial: S,
    apply: F,
    operation: PhantomData<fn(&I) -> O>,
}

impl<S, I, O, F: Fn(&mut S, &I) -> O> Deterministic<S, I, O, F> {
    /// The object that is `initial` at first and whose operations `apply` runs.
    pub fn new(initial: S, apply: F) -> Self {
        Deterministic { initial, apply, operation: PhantomData }
    }
}

impl<S: Debug, I, O, F> Debug for Deterministic<S, I, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deterministic").field(&self.initial).finish()
    }
}

impl<S, I, O, F> Model for Deterministic<S, I, O, F>
where
    S: Clone + Eq + Hash + Debug,
    I: Clone + Eq + Hash + Debug,
    O: Clone + Eq + Hash + Debug,
    F: Fn(&mut S, &I) -> O,
{
    type State = S;
    type Input = I;
    type Output = O;

    fn init(&self) -> S {
        self.initial.clone()
    }

    fn step(&self, state: &S, input: &I, output: Option<&O>) -> impl IntoIterator<Item = S> {
        let mut next = state.clone();
        let result = (self.apply)(&mut next, input);
        output.is_none_or(|seen| *seen == result).then_some(next)
    }

    fn results(&self, state: &S, input: &I) -> Vec<O> {
        vec![(self.apply)(&mut state.clone(), input)]
    }
}

/// A model that leaves a choice: a closure gives every result that is allowed, each with the state that follows.
///
/// ```
/// use raddle_check::model::closure::Nondeterministic;
/// use raddle_check::{History, check};
///
/// // A bag: a removal takes any element.
/// let bag = Nondeterministic::new(Vec::new(), |bag: &Vec<u8>, input: &Option<u8>| match input {
///     Some(added) => vec![(None, [bag.as_slice(), &[*added]].concat())],
///     None if bag.is_empty() => vec![(None, Vec::new())],
///     None => (0..bag.len())
///         .map(|i| {
///             let mut rest = bag.clone();
///             (Some(rest.remove(i)), rest)
///         })
///         .collect(),
/// });
/// let mut history = History::new();
/// for added in [1, 2, 3] {
///     let add = history.invoke(0, Some(added));
///     history.respond(add, None);
/// }
/// let remove = history.invoke(1, None);
/// history.respond(remove, Some(2));
/// assert!(check(&history, &bag).is_accepted());
/// let again = history.invoke(1, None);
/// history.respond(again, Some(2));
/// assert!(check(&history, &bag).is_violation());
/// ```
pub struct Nondeterministic<S, I, O, F> {
    initial: S,
    choices: F,
    operation: PhantomData<fn(&I) -> O>,
}

impl<S, I, O, C: IntoIterator<Item = (O, S)>, F: Fn(&S, &I) -> C> Nondeterministic<S, I, O, F> {
    /// The object that is `initial` at first; `choices` gives the results that an operation may have in a state, each
    /// with the state that it leaves.
    pub fn new(initial: S, choices: F) -> Self {
        Nondeterministic { initial, choices, operation: PhantomData }
    }
}

impl<S: Debug, I, O, F> Debug for Nondeterministic<S, I, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nondeterministic").field(&self.initial).finish()
    }
}

impl<S, I, O, C, F> Model for Nondeterministic<S, I, O, F>
where
    S: Clone + Eq + Hash + Debug,
    I: Clone + Eq + Hash + Debug,
    O: Clone + Eq + Hash + Debug,
    C: IntoIterator<Item = (O, S)>,
    F: Fn(&S, &I) -> C,
{
    type State = S;
    type Input = I;
    type Output = O;

    fn init(&self) -> S {
        self.initial.clone()
    }

    fn step(&self, state: &S, input: &I, output: Option<&O>) -> impl IntoIterator<Item = S> {
        let allowed = (self.choices)(state, input).into_iter();
        let fitting = allowed.filter(|(result, _)| output.is_none_or(|seen| seen == result));
        fitting.map(|(_, next)| next).collect::<Vec<_>>()
    }

    fn results(&self, state: &S, input: &I) -> Vec<O> {
        let mut results = Vec::new();
        for (result, _) in (self.choices)(state, input) {
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results
    }
}
