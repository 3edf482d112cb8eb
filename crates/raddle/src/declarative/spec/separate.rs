//! A specification of its own: a simple type with an operation for each of the object's.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Act, Called, Specification, State, Ticket};
use crate::declarative::calls::{Arguments, Call, CallMut};
use crate::declarative::operation::{Type, arguments_of};
use crate::declarative::subject::Subject;
use crate::declarative::value::{Answer, Args, Value};

/// What the object should do when its operations run one after another, as a simple type with operations of the same names.
///
/// ```
/// use raddle::Spec;
/// use std::collections::VecDeque;
///
/// let queue = Spec::new(VecDeque::<i32>::new)
///     .operation("push", |queue: &mut VecDeque<i32>, value: i32| queue.push_back(value))
///     .operation("pop", |queue: &mut VecDeque<i32>| queue.pop_front());
/// # let _ = queue;
/// ```
#[must_use = "give it to `Test::spec`"]
pub struct Spec<S> {
    initial: Box<dyn Fn() -> S>,
    operations: HashMap<String, Operation<S>>,
}

struct Operation<S> {
    arguments: Type,
    result: Type,
    step: StepOf<S>,
}

/// All that an operation may do in a state.
type StepOf<S> = Box<dyn Fn(&S, &Args) -> Vec<(Answer, S)>>;

impl<S: Clone + PartialEq + Debug + 'static> Spec<S> {
    /// A specification that begins in this state.
    pub fn new(initial: impl Fn() -> S + 'static) -> Spec<S> {
        Spec { initial: Box::new(initial), operations: HashMap::new() }
    }

    /// What the operation of this name does. It takes the same arguments, and returns the same type.
    pub fn operation<A: Arguments, R: PartialEq + Debug + Send + 'static>(
        self,
        name: impl Into<String>,
        call: impl CallMut<S, A, R>,
    ) -> Spec<S> {
        self.add::<A, R>(name.into(), move |state, args| {
            let mut next = state.clone();
            let answer = rehearse(|| call.call(&mut next, arguments_of::<A>(args)));
            vec![(answer, next)]
        })
    }

    /// What the operation of this name does, and when it may: while it returns `None`, it has to wait.
    pub fn blocking<A: Arguments, R: PartialEq + Debug + Send + 'static>(
        self,
        name: impl Into<String>,
        call: impl CallMut<S, A, Option<R>>,
    ) -> Spec<S> {
        self.add::<A, R>(name.into(), move |state, args| {
            let mut next = state.clone();
            let result = catch_unwind(AssertUnwindSafe(|| call.call(&mut next, arguments_of::<A>(args))));
            match result.map(|value| value.map(|value| Box::new(value) as Value)) {
                Ok(None) => vec![(Answer::Suspended, state.clone())],
                Ok(Some(value)) => vec![(Answer::Returned(value), next)],
                Err(payload) => vec![(Answer::of(Err(payload)), next)],
            }
        })
    }

    /// All that the operation of this name may do: each result with the state after it. If there is none, it has to wait.
    pub fn choices<A, R, I>(self, name: impl Into<String>, call: impl Call<S, A, I>) -> Spec<S>
    where
        A: Arguments,
        R: PartialEq + Debug + Send + 'static,
        I: IntoIterator<Item = (R, S)>,
    {
        self.add::<A, R>(name.into(), move |state, args| {
            let choices = call.call(state, arguments_of::<A>(args)).into_iter();
            let mut choices: Vec<(Answer, S)> =
                choices.map(|(value, next)| (Answer::Returned(Box::new(value)), next)).collect();
            if choices.is_empty() {
                choices.push((Answer::Suspended, state.clone()));
            }
            choices
        })
    }

    fn add<A: 'static, R: 'static>(
        mut self,
        name: String,
        step: impl Fn(&S, &Args) -> Vec<(Answer, S)> + 'static,
    ) -> Spec<S> {
        let operation =
            Operation { arguments: Type::of::<A>(), result: Type::of::<R>(), step: Box::new(step) };
        let again = self.operations.insert(name.clone(), operation);
        assert!(again.is_none(), "raddle: the specification has two operations `{name}`: remove one");
        self
    }

    /// The specification of the subject's operations, by their numbers; the error says what does not go together.
    pub(crate) fn fit(self, subject: &Subject) -> Result<Box<dyn Specification>, String> {
        let mut operations = self.operations;
        let mut fitted = Vec::new();
        for wanted in &subject.operations {
            let name = &wanted.name;
            let Some(operation) = operations.remove(name) else {
                return Err(format!(
                    "the specification has no operation `{name}`: add one with `.operation({name:?}, ..)`"
                ));
            };
            for (what, has, needs) in [
                ("takes", operation.arguments, wanted.arguments),
                ("returns", operation.result, wanted.result),
            ] {
                if has != needs {
                    return Err(format!(
                        "operation `{name}` {what} `{}`, but in the specification it {what} `{}`: make them equal",
                        needs.name, has.name
                    ));
                }
            }
            fitted.push(operation);
        }
        if let Some(name) = operations.keys().min() {
            return Err(format!(
                "the specification has an operation `{name}` that the test does not have: there are {}",
                subject.names()
            ));
        }
        Ok(Box::new(Fitted { initial: self.initial, operations: fitted }))
    }
}

impl<S> Debug for Spec<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Spec").field(&self.operations.keys()).finish()
    }
}

fn rehearse<R: PartialEq + Debug + Send + 'static>(call: impl FnOnce() -> R) -> Answer {
    Answer::of(catch_unwind(AssertUnwindSafe(|| Box::new(call()) as Value)))
}

struct Fitted<S> {
    initial: Box<dyn Fn() -> S>,
    operations: Vec<Operation<S>>,
}

struct Held<S> {
    state: S,
    /// Calls that wait, in order of their tickets.
    waiting: Vec<Ticket>,
}

impl<S: Clone + PartialEq + Debug + 'static> State for Held<S> {
    fn same(&self, other: &dyn State) -> bool {
        other
            .as_any()
            .downcast_ref::<Held<S>>()
            .is_some_and(|other| self.waiting == other.waiting && self.state == other.state)
    }

    fn is_comparable(&self) -> bool {
        true
    }

    fn text(&self) -> Option<String> {
        Some(format!("{:?}", self.state))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<S: Clone + PartialEq + Debug + 'static> Specification for Fitted<S> {
    fn initial(&self, _: &Subject) -> Box<dyn State> {
        Box::new(Held { state: (self.initial)(), waiting: Vec::new() })
    }

    fn step(
        &self,
        subject: &Subject,
        state: &dyn State,
        act: Act,
        call: Called<'_>,
    ) -> Vec<(Answer, Box<dyn State>)> {
        let held = state.as_any().downcast_ref::<Held<S>>().expect("a state of this specification");
        let place = held.waiting.binary_search(&call.ticket);
        let mut waiting = held.waiting.clone();
        match act {
            Act::Request => {}
            Act::Defer => {
                waiting.insert(place.unwrap_or_else(|place| place), call.ticket);
                let next = Held { state: held.state.clone(), waiting };
                return vec![(Answer::Suspended, Box::new(next))];
            }
            Act::FollowUp | Act::Cancel => {
                let Ok(place) = place else { return Vec::new() };
                waiting.remove(place);
            }
        }
        if act == Act::Cancel {
            return vec![(Answer::Cancelled, Box::new(Held { state: held.state.clone(), waiting }))];
        }
        let future = subject.operations[call.operation].is_future();
        let all = (self.operations[call.operation].step)(&held.state, call.args);
        all.into_iter()
            .map(|(answer, state)| {
                let mut waiting = waiting.clone();
                if future && matches!(answer, Answer::Suspended) {
                    let place = waiting.partition_point(|&other| other < call.ticket);
                    waiting.insert(place, call.ticket);
                }
                (answer, Box::new(Held { state, waiting }) as Box<dyn State>)
            })
            .collect()
    }
}
