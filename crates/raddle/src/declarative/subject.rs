//! The object under test without its type: how it is made, what can be called on it.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::future::Future;
use std::pin::Pin;

use crate::engine::execution::engine_of_virtual_thread;
use crate::engine::interface;
use crate::engine::trace::Introduced;

use super::generate::Source;
use super::operation::Type;
use super::scenario::Earlier;
use super::value::{Args, Value};
use crate::inspect;

/// The object under test.
pub(crate) type Object = Box<dyn Any + Send + Sync>;

/// A future of an operation.
pub(crate) type Pending<'a> = Pin<Box<dyn Future<Output = Value> + 'a>>;

/// A function by whose code address debug information finds a type: see [`anchor`].
pub(crate) type Anchor = fn() -> &'static str;

/// The anchor of a type. Debug information calls types otherwise than `type_name` does, but it knows the generic argument of the
/// function at an address. The result makes each instance differ from all others, so that none are merged.
#[inline(never)]
pub(crate) fn anchor<T>() -> &'static str {
    std::any::type_name::<T>()
}

/// What is tested.
pub(crate) struct Subject {
    pub(crate) make: Box<dyn Fn() -> Object + Send + Sync>,
    /// The anchor of the object's type.
    pub(crate) anchor: Anchor,
    pub(crate) operations: Vec<Operation>,
    pub(crate) setup: Option<Look>,
    pub(crate) validate: Option<Look>,
    pub(crate) teardown: Option<Look>,
    pub(crate) view: Option<View>,
    /// Whether the test is written with the attribute, not with the builder.
    pub(crate) by_attribute: bool,
}

pub(crate) type Look = Box<dyn Fn(&Object) + Send + Sync>;

/// How the object shows itself.
pub(crate) struct View {
    /// The object as `Debug` prints it.
    pub(crate) show: Box<dyn Fn(&Object) -> String + Send + Sync>,
    /// Whether its fields are shown, if debug information knows them.
    pub(crate) prefers_fields: bool,
}

impl Subject {
    /// A new object, set up.
    pub(crate) fn object(&self) -> Object {
        let object = (self.make)();
        if self.view.as_ref().is_none_or(|view| view.prefers_fields) {
            self.introduce(&object);
        }
        if let Some(setup) = &self.setup {
            setup(&object);
        }
        object
    }

    /// Tells the report, if one is made, which object it is about.
    fn introduce(&self, object: &Object) {
        if let Some(engine) = engine_of_virtual_thread() {
            let address = (&raw const **object).addr();
            let introduced = Introduced { address, anchor: self.anchor as usize };
            // SAFETY: the engine runs and this is a virtual thread.
            unsafe { interface::introduce(engine, introduced) };
        }
    }

    /// Calls a closure that uses the object, and lets the object show itself meanwhile, if it does so.
    pub(crate) fn showing<R>(&self, object: &Object, work: impl FnOnce() -> R) -> R {
        let Some(view) = &self.view else { return work() };
        let show = || (view.show)(object);
        let view = inspect::View {
            address: (&raw const **object).addr(),
            size: size_of_val(&**object),
            anchor: self.anchor,
            prefers_fields: view.prefers_fields,
            show: &show,
        };
        view.during(work)
    }

    /// The operation of this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }

    /// The names of all operations, for messages.
    pub(crate) fn names(&self) -> String {
        let names: Vec<String> =
            self.operations.iter().map(|operation| format!("`{}`", operation.name)).collect();
        names.join(", ")
    }
}

/// See [`Operation`](super::Operation).
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) invoke: Invoke,
    pub(crate) generate: Box<dyn Fn(&mut Source<'_>) -> Args + Send + Sync>,
    pub(crate) arguments: Type,
    pub(crate) result: Type,
    pub(crate) once: bool,
    pub(crate) group: Option<String>,
    pub(crate) blocking: bool,
    pub(crate) cancellable: bool,
    pub(crate) weight: u32,
    pub(crate) read_only: bool,
    pub(crate) relaxed: bool,
    pub(crate) key: Option<KeyOf>,
    pub(crate) precondition: Option<Precondition>,
}

/// Names the part of the object that a call touches.
pub(crate) type KeyOf = Box<dyn Fn(&Args) -> String + Send + Sync>;

/// Whether a call may be made after others.
pub(crate) type Precondition = Box<dyn Fn(&Earlier<'_>, &Args) -> bool + Send + Sync>;

/// A call that returns its result.
type Returning = Box<dyn Fn(&Object, &Args) -> Value + Send + Sync>;

/// A call that returns a future of its result.
type Promising = Box<dyn for<'a> Fn(&'a Object, &Args) -> Pending<'a> + Send + Sync>;

/// How an operation is called.
pub(crate) enum Invoke {
    Plain(Returning),
    Future(Promising),
}

impl Operation {
    pub(crate) fn is_future(&self) -> bool {
        matches!(self.invoke, Invoke::Future(_))
    }

    /// Whether it may wait for other operations by design.
    pub(crate) fn may_suspend(&self) -> bool {
        self.blocking || self.is_future()
    }
}

impl Debug for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}
