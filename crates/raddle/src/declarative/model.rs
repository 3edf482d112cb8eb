//! The specification as `raddle-check` wants it: states, calls and results are numbers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use raddle_check::{Model, Value as Part};

use super::history::Step;
use super::scenario::{Invocation, Origin};
use super::spec::{Act, Called, Specification, State, Ticket};
use super::subject::Subject;
use super::value::{Answer, Args, ErasedValue, Value};

/// One step of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// A step of the call.
    Step { call: CallId, ticket: Ticket, step: Step },
    /// Nothing can happen any more, and these calls wait: those with a request behind them (true) and those without.
    AtRest(Box<[(CallId, Ticket, bool)]>),
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    /// It returned, or panicked.
    Result(ResultId),
    Suspended,
    Cancelled,
    /// As it should be.
    AtRest,
}

pub(crate) type CallId = u32;
pub(crate) type ResultId = u32;
type StateId = u32;

/// The model of one test. Clones share everything.
#[derive(Clone)]
pub(crate) struct ObjectModel<'d> {
    subject: &'d Subject,
    spec: &'d dyn Specification,
    tables: Rc<RefCell<Tables>>,
}

#[derive(Default)]
struct Tables {
    calls: Vec<KnownCall>,
    call_ids: HashMap<(usize, Origin), CallId>,
    states: Vec<Rc<dyn State>>,
    /// What a step may come to, and the state after it.
    steps: HashMap<(StateId, Act, CallId, Ticket), Rc<[(Seen, StateId)]>>,
    results: Results,
}

struct KnownCall {
    operation: usize,
    args: Args,
}

/// An answer of the specification.
enum Seen {
    /// The value, if it has one, and its number.
    Result(Option<Rc<Value>>, ResultId),
    Suspended,
    Cancelled,
}

/// Results by number. Equal results may have different numbers; different ones never have the same.
#[derive(Default)]
struct Results {
    by_text: HashMap<(usize, String), ResultId>,
    texts: Vec<String>,
    /// Values that the specification returned, by operation.
    expected: HashMap<usize, Vec<(Rc<Value>, ResultId)>>,
    /// The values of the execution that is being verified: they are compared where texts differ.
    live: Vec<(ResultId, *const dyn ErasedValue)>,
}

/// With how many expected values a result is compared before it is printed.
const FEW: usize = 32;

/// Of how many states each new one is compared with: those that came last. Missing one costs time, nothing else.
const COMPARED: usize = 1 << 10;

impl<'d> ObjectModel<'d> {
    pub(crate) fn new(subject: &'d Subject, spec: &'d dyn Specification) -> ObjectModel<'d> {
        ObjectModel { subject, spec, tables: Rc::default() }
    }

    /// The number of a call. Its arguments are copied: the model may outlive the execution.
    pub(crate) fn call(&self, invocation: &Invocation) -> CallId {
        let tables = &mut *self.tables.borrow_mut();
        let key = (invocation.operation, invocation.origin.clone());
        if let Some(&id) = tables.call_ids.get(&key) {
            return id;
        }
        let id = tables.calls.len() as CallId;
        tables
            .calls
            .push(KnownCall { operation: invocation.operation, args: invocation.args.duplicate() });
        tables.call_ids.insert(key, id);
        id
    }

    /// The number of a result of an operation.
    pub(crate) fn result(&self, operation: usize, answer: &Answer) -> Output {
        let results = &mut self.tables.borrow_mut().results;
        match answer {
            Answer::Returned(value) => Output::Result(results.seen(operation, &**value)),
            Answer::Panicked(panic) => {
                Output::Result(results.named(operation, format!("panic: {}", panic.kind())))
            }
            Answer::Suspended => Output::Suspended,
            Answer::Cancelled => Output::Cancelled,
        }
    }

    /// Forgets the values of the last execution, which are gone.
    pub(crate) fn forget_values(&self) {
        self.tables.borrow_mut().results.live.clear();
    }

    /// How much has been seen.
    pub(crate) fn size(&self) -> usize {
        let tables = self.tables.borrow();
        tables.states.len() + tables.steps.len() + tables.results.texts.len()
    }

    /// Whether different calls may lead to the same state.
    pub(crate) fn states_merge(&self) -> bool {
        self.tables.borrow().states.first().is_some_and(|state| state.is_comparable())
    }

    /// What a step would come to in this state, printed.
    pub(crate) fn expected(&self, state: StateId, input: &Input) -> Vec<String> {
        let Input::Step { call, ticket, step } = *input else { return Vec::new() };
        let answers = self.answers(state, act(step), call, ticket);
        let mut texts: Vec<String> = answers
            .iter()
            .map(|(seen, _)| match seen {
                Seen::Result(_, id) => self.tables.borrow().results.texts[*id as usize].clone(),
                Seen::Suspended => "suspended".to_owned(),
                Seen::Cancelled => "cancelled".to_owned(),
            })
            .collect();
        texts.dedup();
        texts
    }

    fn answers(&self, from: StateId, act: Act, call: CallId, ticket: Ticket) -> Rc<[(Seen, StateId)]> {
        let key = (from, act, call, ticket);
        if let Some(known) = self.tables.borrow().steps.get(&key) {
            return Rc::clone(known);
        }
        let (state, operation, args) = {
            let tables = self.tables.borrow();
            let call = &tables.calls[call as usize];
            (Rc::clone(&tables.states[from as usize]), call.operation, Args::clone(&call.args))
        };
        let called = Called { operation, args: &args, ticket };
        // The specification may be the object itself, and is run without holding on to anything.
        let answers = self.spec.step(self.subject, &*state, act, called);
        let tables = &mut *self.tables.borrow_mut();
        let seen = answers.into_iter().map(|(answer, next)| {
            let next = intern(&mut tables.states, next);
            (tables.results.expect(operation, answer), next)
        });
        let seen: Rc<[(Seen, StateId)]> = seen.collect();
        tables.steps.insert(key, Rc::clone(&seen));
        seen
    }

    /// Whether the step is done as soon as it is tried.
    fn stays_suspended(&self, state: StateId, (call, ticket, requested): (CallId, Ticket, bool)) -> bool {
        let act = if requested { Act::FollowUp } else { Act::Request };
        let answers = self.answers(state, act, call, ticket);
        answers.iter().all(|(seen, _)| matches!(seen, Seen::Suspended))
    }

    fn is_future(&self, call: CallId) -> bool {
        let operation = self.tables.borrow().calls[call as usize].operation;
        self.subject.operations[operation].is_future()
    }

    fn fits(&self, seen: &Seen, output: Output) -> bool {
        match (seen, output) {
            (Seen::Result(value, id), Output::Result(seen)) => {
                *id == seen
                    || value
                        .as_ref()
                        .is_some_and(|value| self.tables.borrow().results.equals_live(&***value, seen))
            }
            (Seen::Suspended, Output::Suspended) | (Seen::Cancelled, Output::Cancelled) => true,
            _ => false,
        }
    }
}

fn act(step: Step) -> Act {
    match step {
        Step::Request => Act::Request,
        Step::FollowUp => Act::FollowUp,
        Step::Cancel => Act::Cancel,
    }
}

fn intern(states: &mut Vec<Rc<dyn State>>, state: Box<dyn State>) -> StateId {
    if state.is_comparable() {
        let recent = states.len().saturating_sub(COMPARED);
        // The state before any operation is where most things begin.
        let candidates = (recent..states.len()).rev().chain((recent > 0).then_some(0));
        if let Some(known) = candidates.into_iter().find(|&known| states[known].same(&*state)) {
            return known as StateId;
        }
    }
    states.push(Rc::from(state));
    (states.len() - 1) as StateId
}

impl Results {
    fn named(&mut self, operation: usize, text: String) -> ResultId {
        let next = self.texts.len() as ResultId;
        let id = *self.by_text.entry((operation, text.clone())).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        id
    }

    /// The number of a value of the execution that is being verified.
    fn seen(&mut self, operation: usize, value: &dyn ErasedValue) -> ResultId {
        // Comparing is faster than printing, and most values are among the first that were expected.
        if let Some(id) = self.find(operation, value, FEW) {
            return id;
        }
        let text = value.text();
        let known = self.by_text.get(&(operation, text.clone())).copied();
        if let Some(id) = known.or_else(|| self.find(operation, value, usize::MAX)) {
            self.live.push((id, without_lifetime(value)));
            return id;
        }
        let id = self.named(operation, text);
        self.live.push((id, without_lifetime(value)));
        id
    }

    /// The number of an equal value among the first `most` that the specification returned.
    fn find(&self, operation: usize, value: &dyn ErasedValue, most: usize) -> Option<ResultId> {
        let expected = self.expected.get(&operation)?;
        expected.iter().take(most).find(|(known, _)| known.same(value)).map(|&(_, id)| id)
    }

    /// The number of an answer of the specification.
    fn expect(&mut self, operation: usize, answer: Answer) -> Seen {
        match answer {
            Answer::Returned(value) => {
                let known = self.find(operation, &*value, usize::MAX);
                let id = known.unwrap_or_else(|| self.named(operation, value.text()));
                let value = Rc::new(value);
                if known.is_none() {
                    self.expected.entry(operation).or_default().push((Rc::clone(&value), id));
                }
                Seen::Result(Some(value), id)
            }
            Answer::Panicked(panic) => {
                Seen::Result(None, self.named(operation, format!("panic: {}", panic.kind())))
            }
            Answer::Suspended => Seen::Suspended,
            Answer::Cancelled => Seen::Cancelled,
        }
    }

    fn equals_live(&self, value: &dyn ErasedValue, seen: ResultId) -> bool {
        self.live.iter().any(|&(id, live)| {
            // SAFETY: the execution whose value it is is being verified, and its memory is whole.
            id == seen && unsafe { &*live }.same(value)
        })
    }
}

/// The list of live values is cleared before they are gone.
fn without_lifetime(value: &dyn ErasedValue) -> *const dyn ErasedValue {
    // SAFETY: only the lifetime is left out.
    unsafe {
        std::mem::transmute::<*const (dyn ErasedValue + '_), *const (dyn ErasedValue + 'static)>(value)
    }
}

impl Model for ObjectModel<'_> {
    type State = StateId;
    type Input = Input;
    type Output = Output;

    fn init(&self) -> StateId {
        let mut tables = self.tables.borrow_mut();
        if tables.states.is_empty() {
            drop(tables);
            let initial = self.spec.initial(self.subject);
            tables = self.tables.borrow_mut();
            tables.states.push(Rc::from(initial));
        }
        0
    }

    fn step(
        &self,
        state: &StateId,
        input: &Input,
        output: Option<&Output>,
    ) -> impl IntoIterator<Item = StateId> {
        let &Input::Step { call, ticket, step } = input else {
            let Input::AtRest(waiting) = input else { unreachable!("there are two kinds of input") };
            let rests = waiting.iter().all(|&waiting| self.stays_suspended(*state, waiting));
            return if rests { vec![*state] } else { Vec::new() };
        };
        let answers = self.answers(*state, act(step), call, ticket);
        let fitting = answers.iter().filter(|(seen, _)| output.is_none_or(|&output| self.fits(seen, output)));
        let mut next: Vec<StateId> = fitting.map(|&(_, next)| next).collect();
        // A future may wait for no good reason, as long as it does not do so for ever.
        let waits = output == Some(&Output::Suspended) && step != Step::Cancel && self.is_future(call);
        if waits && next.is_empty() && !answers.is_empty() {
            match step {
                Step::Request => {
                    next.extend(self.answers(*state, Act::Defer, call, ticket).iter().map(|&(_, next)| next));
                }
                _ => next.push(*state),
            }
        }
        next
    }

    fn partition(&self, input: &Input) -> Option<Part> {
        let Input::Step { call, .. } = input else { return None };
        let tables = self.tables.borrow();
        let call = &tables.calls[*call as usize];
        let key = self.subject.operations[call.operation].key.as_ref()?;
        Some(key(&call.args).into())
    }

    fn describe(&self, input: &Input, output: Option<&Output>) -> String {
        let tables = self.tables.borrow();
        let Input::Step { call, step, .. } = input else { return "the end".to_owned() };
        let call = &tables.calls[*call as usize];
        let step = match step {
            Step::Request => "",
            Step::FollowUp => ", resumed",
            Step::Cancel => ", cancelled",
        };
        let result = match output {
            Some(Output::Result(id)) => tables.results.texts[*id as usize].as_str(),
            Some(Output::Suspended) => "suspended",
            Some(Output::Cancelled) => "cancelled",
            Some(Output::AtRest) | None => "?",
        };
        let name = &self.subject.operations[call.operation].name;
        format!("{name}({}){step} -> {result}", call.args.texts().join(", "))
    }

    fn describe_state(&self, state: &StateId) -> String {
        self.tables.borrow().states[*state as usize].text().unwrap_or_default()
    }
}
