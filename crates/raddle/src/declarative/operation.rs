//! Operations: what a test may call on its object.

use std::any::{Any, TypeId, type_name};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use super::calls::{Arguments, AsyncCall, Call};
use super::generate::{Arbitrary, Generator, Source, from_fn};
use super::scenario::Earlier;
use super::subject::{self, Invoke, Object};
use super::value::{Args, Value};

/// One operation of the object under test, with what is known about it.
///
/// ```
/// use raddle::{Operation, generate};
/// use std::sync::mpsc::Sender;
/// use std::sync::Mutex;
///
/// let send = Operation::with_args("send", (generate::int(1..=3),), |s: &Mutex<Sender<i32>>, value: i32| {
///     s.lock().unwrap().send(value).is_ok()
/// });
/// let send = send.group("producer").weight(2);
/// # let _ = send;
/// ```
#[must_use = "give it to `Test::with`"]
pub struct Operation<T, A> {
    pub(crate) erased: subject::Operation,
    types: PhantomData<fn(T, A)>,
}

impl<T: Send + Sync + 'static, A: Arguments> Operation<T, A> {
    /// An operation whose arguments are made up by their types' own generators.
    pub fn new<R>(name: impl Into<String>, call: impl Call<T, A, R>) -> Operation<T, A>
    where
        A: Arbitrary,
        R: PartialEq + Debug + Send + 'static,
    {
        Operation::with_args(name, from_fn(A::arbitrary), call)
    }

    /// An operation with a generator for each argument.
    pub fn with_args<R>(
        name: impl Into<String>,
        arguments: impl Generator<Value = A>,
        call: impl Call<T, A, R>,
    ) -> Operation<T, A>
    where
        R: PartialEq + Debug + Send + 'static,
    {
        let invoke = Invoke::Plain(Box::new(move |object: &Object, args: &Args| -> Value {
            Box::new(call.call(object_of(object), arguments_of::<A>(args)))
        }));
        Operation::erase::<R>(name.into(), arguments, invoke)
    }

    /// An operation that is a future, whose arguments are made up by their types' own generators.
    pub fn future<R>(name: impl Into<String>, call: impl AsyncCall<T, A, R>) -> Operation<T, A>
    where
        A: Arbitrary,
        R: PartialEq + Debug + Send + 'static,
    {
        Operation::future_with_args(name, from_fn(A::arbitrary), call)
    }

    /// An operation that is a future, with a generator for each argument.
    pub fn future_with_args<R>(
        name: impl Into<String>,
        arguments: impl Generator<Value = A>,
        call: impl AsyncCall<T, A, R>,
    ) -> Operation<T, A>
    where
        R: PartialEq + Debug + Send + 'static,
    {
        // Futures borrow it for as long as they live; a test has few operations.
        let call: &'static _ = Box::leak(Box::new(call));
        let invoke = Invoke::Future(Box::new(move |object, args| {
            let future = call.call(object_of(object), arguments_of::<A>(args));
            Box::pin(async move { Box::new(future.await) as Value })
        }));
        Operation::erase::<R>(name.into(), arguments, invoke)
    }

    /// At most one in a scenario.
    pub fn once(mut self) -> Operation<T, A> {
        self.erased.once = true;
        self
    }

    /// All operations of a group are called by one thread only, as those of a single producer or a single consumer.
    pub fn group(mut self, name: impl Into<String>) -> Operation<T, A> {
        self.erased.group = Some(name.into());
        self
    }

    /// It may wait until another operation lets it go on. The specification says when: see
    /// [`Spec::blocking`](crate::Spec::blocking).
    pub fn blocking(mut self) -> Operation<T, A> {
        self.erased.blocking = true;
        self
    }

    /// Its future may be dropped while it waits, or right after it was woken.
    ///
    /// # Panics
    /// If the operation is no future.
    pub fn cancellable(mut self) -> Operation<T, A> {
        assert!(
            self.erased.is_future(),
            "raddle: operation `{}` is no future, so it cannot be cancelled: make it with `Operation::future`",
            self.erased.name
        );
        self.erased.cancellable = true;
        self
    }

    /// How often it is called, compared to others, whose weight is 1.
    pub fn weight(mut self, weight: u32) -> Operation<T, A> {
        self.erased.weight = weight;
        self
    }

    /// It changes nothing: scenarios that call nothing else in parallel are not worth making.
    pub fn read_only(mut self) -> Operation<T, A> {
        self.erased.read_only = true;
        self
    }

    /// Contracts that relax only some operations relax this one.
    pub fn relaxed(mut self) -> Operation<T, A> {
        self.erased.relaxed = true;
        self
    }

    /// The part of the object that a call touches. If all operations have a key, the parts are verified one by one, each as
    /// if the others did not exist.
    pub fn key<K: Debug>(mut self, key: impl Fn(&A) -> K + Send + Sync + 'static) -> Operation<T, A> {
        self.erased.key = Some(Box::new(move |args| format!("{:?}", key(downcast::<A>(args)))));
        self
    }

    /// It is only called where this holds of the arguments and of what surely came before.
    pub fn precondition(
        mut self,
        holds: impl Fn(&Earlier<'_>, &A) -> bool + Send + Sync + 'static,
    ) -> Operation<T, A> {
        self.erased.precondition = Some(Box::new(move |earlier, args| holds(earlier, downcast::<A>(args))));
        self
    }

    fn erase<R: 'static>(
        name: String,
        arguments: impl Generator<Value = A>,
        invoke: Invoke,
    ) -> Operation<T, A> {
        let generate = Box::new(move |source: &mut Source<'_>| Arc::new(arguments.generate(source)) as Args);
        Operation {
            erased: subject::Operation {
                name,
                invoke,
                generate,
                arguments: Type::of::<A>(),
                result: Type::of::<R>(),
                once: false,
                group: None,
                blocking: false,
                cancellable: false,
                weight: 1,
                read_only: false,
                relaxed: false,
                key: None,
                precondition: None,
            },
            types: PhantomData,
        }
    }
}

impl<T, A> Debug for Operation<T, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Operation").field(&self.erased.name).finish()
    }
}

/// A type that was erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    id: TypeId,
    pub(crate) name: &'static str,
}

impl Type {
    pub(crate) fn of<X: 'static>() -> Type {
        Type { id: TypeId::of::<X>(), name: type_name::<X>() }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.id == other.id
    }
}

fn object_of<T: 'static>(object: &Object) -> &T {
    let object: &dyn Any = &**object;
    object.downcast_ref().expect("a test calls operations of its own object")
}

fn downcast<A: 'static>(args: &Args) -> &A {
    args.as_any().downcast_ref().expect("arguments were checked when the scenario was made")
}

pub(crate) fn arguments_of<A: Clone + 'static>(args: &Args) -> A {
    downcast::<A>(args).clone()
}
