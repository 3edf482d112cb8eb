//! Scenarios: an init part, a sequence of operations for each thread, a post part.

use std::fmt::{Debug, Display, Formatter};
use std::sync::Arc;

use super::calls::Arguments;
use super::generate::Source;
use super::operation::Type;
use super::subject::Subject;
use super::value::Args;

/// A scenario that a test should try before those that it makes up.
///
/// ```
/// use raddle::{Scenario, call};
///
/// let scenario = Scenario::new()
///     .init([call("push", (1,))])
///     .thread([call("push", (2,)), call("pop", ())])
///     .thread([call("pop", ())])
///     .post([call("len", ())]);
/// # let _ = scenario;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "give it to `Test::scenario`"]
pub struct Scenario {
    pub(crate) init: Vec<Call>,
    pub(crate) threads: Vec<Vec<Call>>,
    pub(crate) post: Vec<Call>,
}

impl Scenario {
    /// A scenario in which nothing happens.
    pub fn new() -> Scenario {
        Scenario::default()
    }

    /// What is called before the threads start, in addition.
    pub fn init(mut self, calls: impl IntoIterator<Item = Call>) -> Scenario {
        self.init.extend(calls);
        self
    }

    /// One more thread, and what it calls.
    pub fn thread(mut self, calls: impl IntoIterator<Item = Call>) -> Scenario {
        self.threads.push(calls.into_iter().collect());
        self
    }

    /// What is called after all threads have ended, in addition.
    pub fn post(mut self, calls: impl IntoIterator<Item = Call>) -> Scenario {
        self.post.extend(calls);
        self
    }
}

/// A call of an operation, for a [`Scenario`].
#[derive(Clone)]
pub struct Call {
    pub(crate) operation: String,
    pub(crate) args: Args,
    pub(crate) arguments: Type,
    pub(crate) cancel: Cancel,
}

/// A call of the operation with these arguments, which must have the types that the operation takes: `call("push", (1u8,))`.
pub fn call<A: Arguments>(operation: impl Into<String>, arguments: A) -> Call {
    Call {
        operation: operation.into(),
        args: Arc::new(arguments),
        arguments: Type::of::<A>(),
        cancel: Cancel::Never,
    }
}

impl Call {
    /// The future is dropped as soon as it waits.
    pub fn cancelled(mut self) -> Call {
        self.cancel = Cancel::OnceSuspended;
        self
    }

    /// The future is dropped as soon as it was woken.
    pub fn promptly_cancelled(mut self) -> Call {
        self.cancel = Cancel::OnceWoken;
        self
    }
}

impl Debug for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.operation, self.args.texts().join(", "))
    }
}

/// Whether a call is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Cancel {
    #[default]
    Never,
    OnceSuspended,
    OnceWoken,
}

/// The calls that surely came before another one: those of the init part, and earlier ones of the same thread. In the post
/// part, all of them.
pub struct Earlier<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) calls: &'a [&'a Invocation],
}

impl Earlier<'_> {
    /// How often the operation was called.
    pub fn count(&self, operation: &str) -> usize {
        self.operations().filter(|name| *name == operation).count()
    }

    /// The operations that were called, first to last.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| self.subject.operations[call.operation].name.as_str())
    }
}

impl Debug for Earlier<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.operations()).finish()
    }
}

/// A scenario that can be executed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) init: Vec<Invocation>,
    pub(crate) threads: Vec<Vec<Invocation>>,
    pub(crate) post: Vec<Invocation>,
}

/// One call of a plan.
#[derive(Clone)]
pub(crate) struct Invocation {
    pub(crate) operation: usize,
    pub(crate) args: Args,
    pub(crate) origin: Origin,
    pub(crate) cancel: Cancel,
}

/// Where the arguments of a call come from. Calls of an operation with the same origin have the same arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// From these numbers, in this thread.
    Drawn { numbers: Vec<u64>, thread: usize },
    /// From the call of this number in the custom scenarios.
    Given(usize),
}

impl Debug for Invocation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}({})", self.operation, self.args.texts().join(", "))
    }
}

impl Invocation {
    /// The call that these numbers make.
    pub(crate) fn drawn(subject: &Subject, operation: usize, numbers: &[u64], thread: usize) -> Invocation {
        let mut source = Source::numbers(numbers, thread);
        let args = (subject.operations[operation].generate)(&mut source);
        let origin = Origin::Drawn { numbers: source.into_drawn(), thread };
        Invocation { operation, args, origin, cancel: Cancel::Never }
    }

    /// The same call, made by another thread.
    pub(crate) fn moved_to(&self, subject: &Subject, thread: usize) -> Invocation {
        match &self.origin {
            Origin::Drawn { numbers, .. } => Invocation {
                cancel: self.cancel,
                ..Invocation::drawn(subject, self.operation, numbers, thread)
            },
            Origin::Given(_) => self.clone(),
        }
    }

    /// The call as it is shown.
    pub(crate) fn text(&self, subject: &Subject) -> String {
        let name = &subject.operations[self.operation].name;
        let cancel = match self.cancel {
            Cancel::Never => "",
            Cancel::OnceSuspended => " + cancel",
            Cancel::OnceWoken => " + prompt cancel",
        };
        format!("{name}({}){cancel}", self.args.texts().join(", "))
    }
}

impl Plan {
    /// All calls, numbered: the init part, one thread after the other, the post part.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Invocation> {
        self.init.iter().chain(self.threads.iter().flatten()).chain(&self.post)
    }

    /// How many calls there are.
    pub(crate) fn len(&self) -> usize {
        self.calls().count()
    }

    /// The number of the first call of a thread; that of the post part for the one after the last.
    pub(crate) fn first_of(&self, thread: usize) -> usize {
        self.init.len() + self.threads[..thread].iter().map(Vec::len).sum::<usize>()
    }

    /// The thread of the parallel part that makes a call; none for those of the init and the post part.
    pub(crate) fn thread_of(&self, call: usize) -> Option<usize> {
        let mut first = self.init.len();
        self.threads.iter().position(|thread| {
            let mine = (first..first + thread.len()).contains(&call);
            first += thread.len();
            mine
        })
    }

    /// Whether no call may be missing before another, where an operation says what it needs.
    pub(crate) fn keeps_preconditions(&self, subject: &Subject) -> bool {
        let keeps = |before: &[&Invocation], call: &Invocation| {
            let precondition = &subject.operations[call.operation].precondition;
            let earlier = Earlier { subject, calls: before };
            precondition.as_ref().is_none_or(|holds| holds(&earlier, &call.args))
        };
        let mut init: Vec<&Invocation> = Vec::new();
        for call in &self.init {
            if !keeps(&init, call) {
                return false;
            }
            init.push(call);
        }
        for thread in &self.threads {
            let mut before = init.clone();
            for call in thread {
                if !keeps(&before, call) {
                    return false;
                }
                before.push(call);
            }
        }
        let mut before: Vec<&Invocation> = self.init.iter().chain(self.threads.iter().flatten()).collect();
        self.post.iter().all(|call| {
            let kept = keeps(&before, call);
            before.push(call);
            kept
        })
    }

    /// The scenario in one line: `init [push(1)] parallel [push(2); pop()] [pop()] post [len()]`.
    pub(crate) fn text(&self, subject: &Subject) -> String {
        let list = |calls: &[Invocation]| {
            let texts: Vec<String> = calls.iter().map(|call| call.text(subject)).collect();
            format!("[{}]", texts.join("; "))
        };
        let mut parts = Vec::new();
        if !self.init.is_empty() {
            parts.push(format!("init {}", list(&self.init)));
        }
        let threads: Vec<String> = self.threads.iter().map(|calls| list(calls)).collect();
        parts.push(threads.join(" || "));
        if !self.post.is_empty() {
            parts.push(format!("post {}", list(&self.post)));
        }
        parts.join(" ")
    }

    /// What plans that differ only in the numbering of their threads have in common.
    pub(crate) fn identity(&self, subject: &Subject) -> String {
        let mut sorted = self.clone();
        sorted.threads.sort_by_cached_key(|calls| {
            calls.iter().map(|call| call.text(subject)).collect::<Vec<String>>().join("; ")
        });
        sorted.text(subject)
    }

    /// The plan as Rust code that can be pasted into the test: a call of the builder, or a setting of the attribute.
    pub(crate) fn code(&self, subject: &Subject) -> String {
        struct Calls<'a>(&'a Subject, &'a [Invocation]);
        impl Display for Calls<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                let calls: Vec<String> = self.1.iter().map(|call| code_of(call, self.0)).collect();
                write!(f, "[{}]", calls.join(", "))
            }
        }
        let (begin, indent, end) = match subject.by_attribute {
            true => ("scenario = raddle::Scenario::new()", "\n    ", ","),
            false => (".scenario(\n    raddle::Scenario::new()", "\n        ", ",\n)"),
        };
        let mut code = String::from(begin);
        if !self.init.is_empty() {
            code += &format!("{indent}.init({})", Calls(subject, &self.init));
        }
        for thread in &self.threads {
            code += &format!("{indent}.thread({})", Calls(subject, thread));
        }
        if !self.post.is_empty() {
            code += &format!("{indent}.post({})", Calls(subject, &self.post));
        }
        code + end
    }
}

fn code_of(call: &Invocation, subject: &Subject) -> String {
    let codes = call.args.codes();
    let tuple = match &codes[..] {
        [only] => format!("({only},)"),
        _ => format!("({})", codes.join(", ")),
    };
    let cancel = match call.cancel {
        Cancel::Never => "",
        Cancel::OnceSuspended => ".cancelled()",
        Cancel::OnceWoken => ".promptly_cancelled()",
    };
    format!("raddle::call({:?}, {tuple}){cancel}", subject.operations[call.operation].name)
}
