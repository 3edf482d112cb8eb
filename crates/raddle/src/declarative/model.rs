//! The model that `raddle-check` verifies against: the specification with states, calls and results as numbers.

use std::cell::RefCell;
use std::rc::Rc;

use raddle_check::{Model, Value as Part};
use rustc_hash::FxHashMap as HashMap;

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
    /// The second half of a step of a future: a suspended future resumes. No effect on a future that is not suspended.
    Rest { call: CallId, ticket: Ticket },
    /// The end of the execution with these calls waiting: true for calls whose request has taken effect.
    AtRest(Box<[(CallId, Ticket, bool)]>),
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    /// The step returned or panicked.
    Result(ResultId),
    /// The step returned this result, in its first or second half.
    Eventually(ResultId),
    Suspended,
    Cancelled,
    /// The expected result, whichever it is.
    AtRest,
}

pub(crate) type CallId = u32;
pub(crate) type ResultId = u32;
type StateId = u32;

/// A state of the specification, and the steps whose second half is still to come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    state: StateId,
    settled: Box<[Ticket]>,
}

impl Position {
    fn at(&self, state: StateId) -> Position {
        Position { state, settled: self.settled.clone() }
    }

    fn settle(&self, state: StateId, ticket: Ticket) -> Position {
        let mut settled = self.settled.to_vec();
        settled.insert(settled.partition_point(|&other| other < ticket), ticket);
        Position { state, settled: settled.into() }
    }

    fn unsettle(&self, ticket: Ticket) -> Option<Position> {
        let place = self.settled.binary_search(&ticket).ok()?;
        let mut settled = self.settled.to_vec();
        settled.remove(place);
        Some(Position { state: self.state, settled: settled.into() })
    }
}

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
    /// The possible results of a step in a state, each with the next state.
    steps: HashMap<(StateId, Act, CallId, Ticket), Answers>,
    results: Results,
}

/// The possible results of a step, each with the next state.
type Answers = Rc<[(Seen, StateId)]>;

struct KnownCall {
    operation: usize,
    args: Args,
}

/// An answer of the specification.
enum Seen {
    /// The value, if there is one, and its number.
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
    expected: Vec<Vec<(Rc<Value>, ResultId)>>,
    /// The values of the execution that is being verified: they are compared where texts differ.
    live: Vec<(ResultId, *const dyn ErasedValue)>,
}

/// The number of expected values that a result is compared with before it is printed.
const FEW: usize = 32;

/// The number of latest states that a new state is compared with. An equal state that is missed costs time only.
const COMPARED: usize = 1 << 10;

impl<'d> ObjectModel<'d> {
    pub(crate) fn new(subject: &'d Subject, spec: &'d dyn Specification) -> ObjectModel<'d> {
        ObjectModel { subject, spec, tables: Rc::default() }
    }

    /// The number of a call. The arguments are copied, because the model may outlive the execution.
    pub(crate) fn call(&self, invocation: &Invocation) -> CallId {
        let tables = &mut *self.tables.borrow_mut();
        let key = (invocation.operation, invocation.origin.clone());
        if let Some(&id) = tables.call_ids.get(&key) {
            return id;
        }
        let id = tables.calls.len() as CallId;
        tables.calls.push(KnownCall { operation: invocation.operation, args: invocation.args.duplicate() });
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

    /// Forgets the values of the last execution, whose memory is freed.
    pub(crate) fn forget_values(&self) {
        self.tables.borrow_mut().results.live.clear();
    }

    /// The number of states and results so far.
    pub(crate) fn size(&self) -> usize {
        let tables = self.tables.borrow();
        tables.states.len() + tables.steps.len() + tables.results.texts.len()
    }

    /// Whether different calls may lead to the same state.
    pub(crate) fn states_merge(&self) -> bool {
        self.tables.borrow().states.first().is_some_and(|state| state.is_comparable())
    }

    /// The printed result that a step would have in a state.
    pub(crate) fn expected(&self, position: &Position, input: &Input) -> Vec<String> {
        let (act, call, ticket) = match *input {
            Input::Step { call, ticket, step } => (act(step), call, ticket),
            Input::Rest { call, ticket } => (Act::FollowUp, call, ticket),
            Input::AtRest(_) => return Vec::new(),
        };
        let answers = self.answers(position.state, act, call, ticket);
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

    fn answers(&self, from: StateId, act: Act, call: CallId, ticket: Ticket) -> Answers {
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
        // The specification may be the object under test, so no table is borrowed while it runs.
        let answers = self.spec.step(self.subject, &*state, act, called);
        let tables = &mut *self.tables.borrow_mut();
        let seen = answers.into_iter().map(|(answer, next)| {
            let next = intern(&mut tables.states, next);
            (tables.results.expect(operation, answer), next)
        });
        let seen: Answers = seen.collect();
        tables.steps.insert(key, Rc::clone(&seen));
        seen
    }

    /// Whether the step ends with its first half.
    fn stays_suspended(&self, state: StateId, (call, ticket, requested): (CallId, Ticket, bool)) -> bool {
        let act = if requested { Act::FollowUp } else { Act::Request };
        let answers = self.answers(state, act, call, ticket);
        answers.iter().all(|(seen, _)| matches!(seen, Seen::Suspended))
    }

    /// The positions after a step.
    fn take(
        &self,
        from: &Position,
        call: CallId,
        ticket: Ticket,
        step: Step,
        output: Option<Output>,
    ) -> Vec<Position> {
        let answers = self.answers(from.state, act(step), call, ticket);
        let fitting = answers.iter().filter(|(seen, _)| output.is_none_or(|output| self.fits(seen, output)));
        let mut next: Vec<Position> = fitting
            .map(|(seen, next)| match (seen, output) {
                (Seen::Result(..), Some(Output::Eventually(_))) => from.settle(*next, ticket),
                _ => from.at(*next),
            })
            .collect();
        // A future may be suspended although it could complete, as long as it is not suspended for ever.
        let waits = output == Some(Output::Suspended) && step != Step::Cancel && self.is_future(call);
        if waits && next.is_empty() && !answers.is_empty() {
            match step {
                Step::Request => {
                    let deferred = self.answers(from.state, Act::Defer, call, ticket);
                    next.extend(deferred.iter().map(|(_, next)| from.at(*next)));
                }
                _ => next.push(from.clone()),
            }
        }
        next
    }

    /// The positions after the second half of a step.
    fn go_on(&self, from: &Position, call: CallId, ticket: Ticket, output: Option<Output>) -> Vec<Position> {
        if let Some(settled) = from.unsettle(ticket) {
            return vec![settled];
        }
        let answers = self.answers(from.state, Act::FollowUp, call, ticket);
        let fitting = answers.iter().filter(|(seen, _)| output.is_none_or(|output| self.fits(seen, output)));
        fitting.map(|(_, next)| from.at(*next)).collect()
    }

    /// Whether the operation of the call is a future.
    pub(crate) fn is_future(&self, call: CallId) -> bool {
        let operation = self.tables.borrow().calls[call as usize].operation;
        self.subject.operations[operation].is_future()
    }

    fn fits(&self, seen: &Seen, output: Output) -> bool {
        match (seen, output) {
            (Seen::Result(value, id), Output::Result(seen) | Output::Eventually(seen)) => {
                *id == seen
                    || value
                        .as_ref()
                        .is_some_and(|value| self.tables.borrow().results.equals_live(&***value, seen))
            }
            (Seen::Suspended, Output::Suspended | Output::Eventually(_)) => true,
            (Seen::Cancelled, Output::Cancelled) => true,
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
        // Most searches begin with the initial state.
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
        // Comparing is faster than printing, and most values equal one of the first expected values.
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
        let expected = self.expected.get(operation)?;
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
                    if self.expected.len() <= operation {
                        self.expected.resize(operation + 1, Vec::new());
                    }
                    self.expected[operation].push((Rc::clone(&value), id));
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
            // SAFETY: the value belongs to the execution that is verified now, whose memory is intact.
            id == seen && unsafe { &*live }.same(value)
        })
    }
}

/// Extends the lifetime of a value of the execution. The list of such values is cleared before the execution's memory is.
fn without_lifetime(value: &dyn ErasedValue) -> *const dyn ErasedValue {
    // SAFETY: only the lifetime changes.
    unsafe { std::mem::transmute::<*const (dyn ErasedValue + '_), *const (dyn ErasedValue + 'static)>(value) }
}

impl Model for ObjectModel<'_> {
    type State = Position;
    type Input = Input;
    type Output = Output;

    fn init(&self) -> Position {
        if self.tables.borrow().states.is_empty() {
            let initial = self.spec.initial(self.subject);
            self.tables.borrow_mut().states.push(Rc::from(initial));
        }
        Position { state: 0, settled: Box::default() }
    }

    fn step(
        &self,
        position: &Position,
        input: &Input,
        output: Option<&Output>,
    ) -> impl IntoIterator<Item = Position> {
        match input {
            &Input::Step { call, ticket, step } => self.take(position, call, ticket, step, output.copied()),
            &Input::Rest { call, ticket } => self.go_on(position, call, ticket, output.copied()),
            Input::AtRest(waiting) => {
                let rests = waiting.iter().all(|&waiting| self.stays_suspended(position.state, waiting));
                if rests { vec![position.clone()] } else { Vec::new() }
            }
        }
    }

    fn partition(&self, input: &Input) -> Option<Part> {
        let (Input::Step { call, .. } | Input::Rest { call, .. }) = input else { return None };
        let tables = self.tables.borrow();
        let call = &tables.calls[*call as usize];
        let key = self.subject.operations[call.operation].key.as_ref()?;
        Some(key(&call.args).into())
    }

    fn is_relaxed(&self, input: &Input) -> bool {
        let (Input::Step { call, .. } | Input::Rest { call, .. }) = input else { return false };
        let operation = self.tables.borrow().calls[*call as usize].operation;
        // No mark means all operations.
        let operations = &self.subject.operations;
        operations[operation].relaxed || operations.iter().all(|operation| !operation.relaxed)
    }

    fn describe(&self, input: &Input, output: Option<&Output>) -> String {
        let tables = self.tables.borrow();
        let (call, step) = match input {
            Input::Step { call, step: Step::Request, .. } => (call, ""),
            Input::Step { call, step: Step::FollowUp, .. } | Input::Rest { call, .. } => (call, ", resumed"),
            Input::Step { call, step: Step::Cancel, .. } => (call, ", cancelled"),
            Input::AtRest(_) => return "the end".to_owned(),
        };
        let call = &tables.calls[*call as usize];
        let result = match output {
            Some(Output::Result(id) | Output::Eventually(id)) => tables.results.texts[*id as usize].as_str(),
            Some(Output::Suspended) => "suspended",
            Some(Output::Cancelled) => "cancelled",
            Some(Output::AtRest) | None => "?",
        };
        let name = &self.subject.operations[call.operation].name;
        format!("{name}({}){step} -> {result}", call.args.texts().join(", "))
    }

    fn describe_state(&self, position: &Position) -> String {
        self.tables.borrow().states[position.state as usize].text().unwrap_or_default()
    }
}
