//! The object under test at run time: how one is made, and what can be called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::Note;
use crate::level::Level;
use crate::outcomes::{Oracle, Replay};
use crate::schema::{Invocation, Schema};
use crate::shown::Shown;

/// An object with methods and calls of them.
pub struct Subject<T> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    methods: Vec<MethodPromise>,
    calls: Vec<Call<T>>,
    state: Option<Look<T>>,
    /// Runs calls one after another, in place of the object itself.
    model: Option<Rehearsal>,
    /// Where sequential runs are made, and the object there.
    inside: Option<(Enter, Arc<Subject<T>>)>,
    /// Where calls of sequential runs are noted.
    note: Option<Note>,
}

/// What a method promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodPromise {
    /// Its name.
    pub name: String,
    /// Whether it leaves the object as it is.
    pub readonly: bool,
    /// Whether it is taken to be right.
    pub trusted: bool,
    /// How much it sees.
    pub level: Level,
}

/// One call with its arguments.
struct Call<T> {
    invocation: Invocation,
    run: Look<T>,
}

/// Something that is done to an object, and what it shows.
type Look<T> = Box<dyn Fn(&T) -> Shown + Send + Sync>;

/// Runs calls one after another.
type Rehearsal = Box<dyn Fn(&[usize]) -> Replay + Send + Sync>;

/// Runs something where objects can exist.
type Enter = Box<dyn Fn(Visit) + Send + Sync>;

/// What is run there.
pub type Visit = Box<dyn Fn() + Send + Sync>;

/// A schema whose invocations are numbers of calls.
pub type Numbered = Vec<Vec<Vec<usize>>>;

impl<T: Send + Sync + 'static> Subject<T> {
    /// An object that is made like this.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Subject<T> {
        Subject {
            make: Box::new(make),
            methods: Vec::new(),
            calls: Vec::new(),
            state: None,
            model: None,
            inside: None,
            note: None,
        }
    }

    /// What a method promises. A method of which nothing is said is complete and changes the object.
    pub fn method(mut self, name: &str, level: Level, readonly: bool, trusted: bool) -> Subject<T> {
        self.methods.push(MethodPromise { name: name.to_owned(), readonly, trusted, level });
        self
    }

    /// Changes what a method promises.
    pub fn change(mut self, name: &str, change: impl FnOnce(&mut MethodPromise)) -> Subject<T> {
        if let Some(method) = self.methods.iter_mut().find(|method| method.name == name) {
            change(method);
        }
        self
    }

    /// A call, as schemas write it, and what it does.
    ///
    /// # Panics
    /// If the text is no invocation.
    pub fn call(mut self, text: &str, run: impl Fn(&T) -> Shown + Send + Sync + 'static) -> Subject<T> {
        let invocation: Invocation = match text.parse() {
            Ok(invocation) => invocation,
            Err(error) => panic!("`{text}` is no invocation: {error}"),
        };
        if !self.methods.iter().any(|method| method.name == invocation.method) {
            let name = invocation.method.clone();
            self.methods.push(MethodPromise {
                name,
                readonly: false,
                trusted: false,
                level: Level::Complete,
            });
        }
        self.calls.push(Call { invocation, run: Box::new(run) });
        self
    }

    /// What tells the states of the object apart: objects that show the same must behave alike.
    pub fn state(mut self, state: impl Fn(&T) -> Shown + Send + Sync + 'static) -> Subject<T> {
        self.state = Some(Box::new(state));
        self
    }

    /// Another object with the same calls, which says what to expect.
    pub fn model<M: Send + Sync + 'static>(mut self, model: Subject<M>) -> Subject<T> {
        let numbers: Vec<Option<usize>> =
            self.calls.iter().map(|call| model.number(&call.invocation)).collect();
        self.model = Some(Box::new(move |calls| {
            let calls: Option<Vec<usize>> = calls.iter().map(|&call| numbers[call]).collect();
            model.replay(&calls.expect("the model has every call of the object"))
        }));
        self
    }

    /// Makes sequential runs inside something: the objects of a foreign model checker exist in its executions only. `again` is the same
    /// subject once more, which lives there.
    pub fn inside(mut self, again: Subject<T>, enter: impl Fn(Visit) + Send + Sync + 'static) -> Subject<T> {
        self.inside = Some((Box::new(enter), Arc::new(again)));
        self
    }

    /// Notes calls of sequential runs for somebody who watches.
    pub(crate) fn noting(mut self, note: Note) -> Subject<T> {
        if let Some(again) = self.inside.as_mut().and_then(|(_, again)| Arc::get_mut(again)) {
            again.note = Some(note.clone());
        }
        self.note = Some(note);
        self
    }

    /// What a visit to the place of sequential runs returns.
    fn visit<R: Send + 'static>(
        enter: &Enter,
        again: &Arc<Subject<T>>,
        visit: impl Fn(&Subject<T>) -> R + Send + Sync + 'static,
    ) -> R {
        let (again, returned) = (again.clone(), Arc::new(Mutex::new(None)));
        let results = returned.clone();
        enter(Box::new(move || {
            let result = visit(&again);
            *results.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }));
        let result = returned.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.expect("what is entered is run")
    }

    /// A new object.
    pub fn make(&self) -> T {
        (self.make)()
    }

    /// Makes an object, to see whether that is possible.
    ///
    /// # Errors
    /// One sentence, if the constructor panics.
    pub fn try_make(&self) -> Result<(), String> {
        let make = || match &self.inside {
            Some((enter, again)) => Subject::visit(enter, again, |again| drop(again.make())),
            None => drop(self.make()),
        };
        match catch_unwind(AssertUnwindSafe(make)) {
            Ok(()) => Ok(()),
            Err(payload) => {
                let message = Shown::panicked(&*payload);
                let message = message.as_str().trim_start_matches("panic: ");
                Err(format!("the constructor panicked: {message}"))
            }
        }
    }

    /// Makes a call. A panic is a result.
    pub fn run(&self, object: &T, call: usize) -> Shown {
        match catch_unwind(AssertUnwindSafe(|| (self.calls[call].run)(object))) {
            Ok(shown) => shown,
            Err(payload) => Shown::panicked(&*payload),
        }
    }

    /// The invocation of a call.
    pub fn invocation(&self, call: usize) -> &Invocation {
        &self.calls[call].invocation
    }

    /// All invocations, with what their methods promise.
    pub fn invocations(&self) -> impl Iterator<Item = (&Invocation, &MethodPromise)> {
        self.calls.iter().map(|call| (&call.invocation, self.promise(&call.invocation.method)))
    }

    /// What a method promises.
    pub fn promise(&self, method: &str) -> &MethodPromise {
        let found = self.methods.iter().find(|promise| promise.name == method);
        found.expect("every call has a method")
    }

    /// The number of an invocation.
    pub fn number(&self, invocation: &Invocation) -> Option<usize> {
        self.calls.iter().position(|call| call.invocation == *invocation)
    }

    /// A schema with numbers in place of invocations.
    ///
    /// # Errors
    /// The invocation that is not one of the calls.
    pub fn number_all(&self, schema: &Schema) -> Result<Numbered, Invocation> {
        let invocation = |invocation: &Invocation| self.number(invocation).ok_or_else(|| invocation.clone());
        let sequence = |sequence: &Vec<Invocation>| sequence.iter().map(invocation).collect();
        let phase = |phase: &Vec<Vec<Invocation>>| phase.iter().map(sequence).collect();
        schema.phases.iter().map(phase).collect()
    }

    /// Whether each call leaves the object as it is.
    pub fn readonly(&self) -> Vec<bool> {
        self.invocations().map(|(_, promise)| promise.readonly).collect()
    }

    /// Runs calls one after another on a new object.
    pub fn replay(&self, calls: &[usize]) -> Replay {
        self.take_note(Some(String::new()));
        if let Some(model) = &self.model {
            return model(calls);
        }
        if let Some((enter, again)) = &self.inside {
            let calls = calls.to_vec();
            return Subject::visit(enter, again, move |again| again.replay(&calls));
        }
        let object = self.make();
        let values = calls.iter().map(|&call| {
            self.take_note(Some(self.calls[call].invocation.to_string()));
            self.run(&object, call).as_str().to_owned()
        });
        let values = values.collect();
        let state = self.state.as_ref().map(|state| state(&object).as_str().to_owned());
        self.take_note(None);
        Replay { values, state }
    }

    fn take_note(&self, running: Option<String>) {
        if let Some(note) = &self.note {
            let mut note = note.lock().unwrap_or_else(PoisonError::into_inner);
            *note = (note.0 + 1, running);
        }
    }
}

impl<T: Send + Sync + 'static> Oracle for &Subject<T> {
    fn replay(&mut self, calls: &[usize]) -> Replay {
        Subject::replay(self, calls)
    }
}
