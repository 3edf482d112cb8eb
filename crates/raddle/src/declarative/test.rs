//! The builder of declarative tests.

use std::any::Any;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use raddle_check::Contract;
use raddle_report::Failure;

use super::calls::{Arguments, Call};
use super::coverage::Coverage;
use super::definition::{Definition, Demands, Size};
use super::generate::Arbitrary;
use super::mode::Mode;
use super::operation::Operation;
use super::scenario::Scenario;
use super::spec::Spec;
use super::spec::sequential::{Key, Sequential};
use super::subject::{Look, Object, Subject, View, anchor};
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
use super::{refinement, runner};
use crate::Explorer;
use crate::options::Strategy;
use crate::output::fail;
use crate::search::exploration::probe;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))))]
use crate::unsupported;

/// A test of a concurrent object: its operations are listed, everything else is made up.
///
/// ```
/// use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
///
/// raddle::Test::new(|| AtomicI32::new(0))
///     .operation("add", |counter: &AtomicI32, amount: i32| counter.fetch_add(amount, SeqCst))
///     .operation("get", |counter: &AtomicI32| counter.load(SeqCst))
///     .iterations(5)
///     .run();
/// ```
#[must_use = "a test does nothing until `run` or `try_run`"]
pub struct Test<T> {
    pub(super) definition: Definition,
    object: std::marker::PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> Test<T> {
    /// A test whose executions each begin with a new object.
    pub fn new(object: impl Fn() -> T + Send + Sync + 'static) -> Test<T> {
        let subject = Subject {
            make: Box::new(move || Box::new(object())),
            anchor: anchor::<T>,
            operations: Vec::new(),
            setup: None,
            validate: None,
            teardown: None,
            view: None,
            by_attribute: false,
        };
        Test { definition: Definition::new(subject), object: std::marker::PhantomData }
    }

    /// An operation whose arguments are made up by their types' own generators. Write the type of the object:
    /// `|queue: &Queue, value: i32| queue.push(value)`.
    pub fn operation<A, R>(self, name: impl Into<String>, call: impl Call<T, A, R>) -> Test<T>
    where
        A: Arguments + Arbitrary,
        R: PartialEq + Debug + Send + 'static,
    {
        self.with(Operation::new(name, call))
    }

    /// An operation with options.
    pub fn with<A>(mut self, operation: Operation<T, A>) -> Test<T> {
        self.definition.subject.operations.push(operation.erased);
        self
    }

    /// Called on the object after all operations; if it panics, the object is not as it should be.
    pub fn validate(mut self, check: impl Fn(&T) + Send + Sync + 'static) -> Test<T> {
        self.definition.subject.validate = Some(look(check));
        self
    }

    /// Called on each new object before the first operation.
    pub fn setup(mut self, setup: impl Fn(&T) + Send + Sync + 'static) -> Test<T> {
        self.definition.subject.setup = Some(look(setup));
        self
    }

    /// Called on each object at the end.
    pub fn teardown(mut self, teardown: impl Fn(&T) + Send + Sync + 'static) -> Test<T> {
        self.definition.subject.teardown = Some(look(teardown));
        self
    }

    /// How reports show the object, instead of by its fields: see [`Inspect`](crate::Inspect), which has the rules for the function.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// raddle::Test::new(|| AtomicU32::new(0))
    ///     .operation("set", |flags: &AtomicU32, flag: bool| flags.fetch_or(1 << u32::from(flag), SeqCst))
    ///     .inspect(|flags| format!("{:b}", flags.load(SeqCst)))
    ///     .iterations(5)
    ///     .run();
    /// ```
    pub fn inspect<D: Debug>(self, view: impl Fn(&T) -> D + Send + Sync + 'static) -> Test<T> {
        self.shown_by(move |object| format!("{:?}", view(object)), false)
    }

    /// Reports show the object as `Debug` prints it, if the program was built without debug information of its type. What is said about
    /// [`Inspect::inspect`](crate::Inspect::inspect) goes for its `Debug`, too.
    pub fn debug(self) -> Test<T>
    where
        T: Debug,
    {
        self.shown_by(|object| format!("{object:?}"), true)
    }

    pub(crate) fn shown_by(
        mut self,
        show: impl Fn(&T) -> String + Send + Sync + 'static,
        prefers_fields: bool,
    ) -> Test<T> {
        let show = Box::new(move |object: &Object| show(downcast(object)));
        self.definition.subject.view = Some(View { show, prefers_fields });
        self
    }

    /// What the object should do when its operations run one after another. Without one, that is what it does then.
    pub fn spec<S: Clone + PartialEq + Debug + 'static>(mut self, spec: Spec<S>) -> Test<T> {
        self.definition.spec = Box::new(move |subject| spec.fit(subject));
        self.definition.has_spec = true;
        self
    }

    /// What tells the states of the object apart: with equal keys, it must behave alike. Verification is then faster, and
    /// reports show the state.
    pub fn states_by<K: Eq + Hash + Debug + 'static>(mut self, key: impl Fn(&T) -> K + 'static) -> Test<T> {
        let key_of = move |object: &Object| Rc::new(key(downcast(object))) as Rc<dyn Key>;
        self.definition.spec = Box::new(move |_| Ok(Box::new(Sequential { key: Some(Box::new(key_of)) })));
        self.definition.has_spec = false;
        self
    }

    /// What makes results correct. Linearizability, if nothing else is said.
    pub fn contract(mut self, contract: Contract) -> Test<T> {
        self.definition.contract = contract;
        self
    }

    /// Tests for this long, however many scenarios that makes.
    pub fn budget(mut self, budget: Duration) -> Test<T> {
        self.definition.explorer = self.definition.explorer.budget(budget);
        self
    }

    /// How many scenarios are made up: 100, or with a budget as many as fit.
    pub fn iterations(mut self, iterations: usize) -> Test<T> {
        self.definition.iterations = Some(iterations);
        self
    }

    /// Executions of each scenario at most.
    pub fn executions(mut self, executions: u64) -> Test<T> {
        self.definition.executions = executions;
        self
    }

    /// Threads of the parallel part: 2, if nothing else is said, or 2 and 3 in turn if operations may wait ([`Operation::blocking`] and
    /// futures). Of two threads only one can wait while the other goes on, so that a wake-up always reaches the right one.
    pub fn threads(mut self, threads: usize) -> Test<T> {
        self.definition.chooses_threads = false;
        self.definition.size = Size { fewest_threads: threads, threads, ..self.definition.size };
        self
    }

    /// Operations of each thread at most.
    pub fn operations_per_thread(mut self, operations: usize) -> Test<T> {
        self.definition.size.per_thread = operations;
        self
    }

    /// Operations before the parallel part at most.
    pub fn before(mut self, operations: usize) -> Test<T> {
        self.definition.size.before = operations;
        self
    }

    /// Operations after the parallel part at most.
    pub fn after(mut self, operations: usize) -> Test<T> {
        self.definition.size.after = operations;
        self
    }

    /// The seed of scenarios and schedules.
    pub fn seed(mut self, seed: u64) -> Test<T> {
        self.definition.explorer = self.definition.explorer.seed(seed);
        self
    }

    /// A scenario to try before those that are made up.
    pub fn scenario(mut self, scenario: Scenario) -> Test<T> {
        self.definition.scenarios.push(scenario);
        self
    }

    /// How model checking picks schedules. [`Strategy::Auto`], if nothing else is said: scenarios that are small enough are
    /// searched to the end, under both memory models.
    ///
    /// Under sequential consistency, operations are ordered by time: one that ended before another began comes before it, and
    /// executions that differ only in this are different. Under [`Memory::Rc11`](crate::Memory::Rc11) there is no time that
    /// threads on several cores have in common, unless they synchronise: one comes before another if its end *happens before*
    /// the other's beginning.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let coverage = raddle::Test::new(|| AtomicU32::new(0))
    ///     .operation("inc", |counter: &AtomicU32| counter.fetch_add(1, Relaxed))
    ///     .strategy(raddle::Strategy::Exhaustive)
    ///     .explorer(|explorer| explorer.memory(raddle::Memory::Rc11))
    ///     .iterations(2)
    ///     .run();
    /// println!("{coverage}");
    /// ```
    pub fn strategy(mut self, strategy: Strategy) -> Test<T> {
        self.definition.explorer = self.definition.explorer.strategy(strategy);
        self
    }

    /// How executions are made.
    pub fn mode(mut self, mode: Mode) -> Test<T> {
        self.definition.mode = mode;
        self
    }

    /// Fails if an operation ever has to wait for another thread.
    pub fn obstruction_free(mut self) -> Test<T> {
        self.definition.demands.obstruction_free = true;
        self
    }

    /// Fails if more than this many events pass without any operation completing.
    pub fn lock_free(mut self, bound: u64) -> Test<T> {
        self.definition.demands.lock_free = Some(bound);
        self
    }

    /// Whether a scenario that fails is made as small as possible.
    pub fn minimize(mut self, minimize: bool) -> Test<T> {
        self.definition.minimize = minimize;
        self
    }

    /// Changes the options of the explorations: limits, backend, isolation, and all others of [`Explorer`].
    pub fn explorer(mut self, change: impl FnOnce(Explorer) -> Explorer) -> Test<T> {
        self.definition.explorer = change(self.definition.explorer);
        self
    }

    /// Tests.
    ///
    /// # Panics
    /// With the report of the failure, if there is one; the scenario is kept beside the test's source and tried first
    /// the next time. With one sentence, if the test makes no sense.
    #[track_caller]
    #[inline(never)]
    pub fn run(self) -> Coverage {
        probe();
        match self.definition.run(Location::caller(), true) {
            Ok(coverage) => coverage,
            Err(failure) => fail(&failure),
        }
    }

    /// Tests and returns the failure, if there is one. Its file is written in either case.
    ///
    /// # Errors
    /// The failure, if there is one.
    ///
    /// # Panics
    /// With one sentence, if the test makes no sense.
    #[track_caller]
    #[inline(never)]
    pub fn try_run(self) -> Result<Coverage, Box<Failure>> {
        probe();
        self.definition.run(Location::caller(), false)
    }
}

#[cfg(test)]
impl<T> Test<T> {
    /// What is tested, for those who test the tests.
    pub(crate) fn into_subject(self) -> Subject {
        self.definition.subject
    }
}

impl<T> Debug for Test<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Test").field(&self.definition.subject.operations).finish()
    }
}

impl Definition {
    /// Runs the test. With `keep`, a failing scenario is saved and tried first the next time.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
    fn run(self, at: &'static Location<'static>, keep: bool) -> Result<Coverage, Box<Failure>> {
        let definition = if keep { refinement::take_over(self) } else { self };
        runner::run(definition, at, keep)
    }

    /// Says that nothing can be explored.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))))]
    fn run(self, _: &'static Location<'static>, _: bool) -> Result<Coverage, Box<Failure>> {
        unsupported::tell(&self.explorer.options);
        Ok(Coverage::none(self.explorer.options.seed, self.contract))
    }

    fn new(subject: Subject) -> Definition {
        Definition {
            subject,
            spec: Box::new(|_| Ok(Box::new(Sequential::default()))),
            has_spec: false,
            contract: Contract::Linearizable,
            explorer: Explorer::new(),
            size: Size { fewest_threads: 2, threads: 2, per_thread: 5, before: 5, after: 5 },
            chooses_threads: true,
            iterations: None,
            executions: 10_000,
            scenarios: Vec::new(),
            mode: Mode::Both,
            demands: Demands::default(),
            minimize: true,
        }
    }
}

fn look<T: 'static>(look: impl Fn(&T) + Send + Sync + 'static) -> Look {
    Box::new(move |object| look(downcast(object)))
}

fn downcast<T: 'static>(object: &Object) -> &T {
    let object: &dyn Any = &**object;
    object.downcast_ref().expect("a test looks at its own object")
}
