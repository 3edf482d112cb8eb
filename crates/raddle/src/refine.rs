//! Tests of observational refinement: what calls may return when they run at once, at a consistency level for each method.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use raddle::refine::Refinement;
//!
//! let verdicts = Refinement::new(|| AtomicU32::new(0))
//!     .call("inc()", |counter: &AtomicU32| counter.fetch_add(1, SeqCst))
//!     .call("get()", |counter: &AtomicU32| counter.load(SeqCst))
//!     .readonly("get")
//!     .schema("{ inc(); get() } || { inc() }")
//!     .run();
//! assert_eq!(verdicts[0].expected.as_ref().map(Vec::len), Some(3));
//! ```
//!
//! `cargo raddle validate` does the same from a specification file; its drivers call what is here.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

pub use raddle_refine::*;

use raddle_refine::backend::{Failed, run_once};
use raddle_refine::enumerate::{Bounds, Candidate, Random, Suspects};
use raddle_refine::verdict::Judge;

use crate::{Explorer, Memory, Strategy};

/// Raddle's model checker as a back end: every execution if there are not too many, and otherwise samples.
#[derive(Clone, Debug)]
pub struct Model {
    budget: Duration,
    seed: u64,
}

impl Model {
    /// A model checker that takes this long for a schema.
    pub fn new(budget: Duration, seed: u64) -> Model {
        Model { budget, seed }
    }

    /// With the time and the seed that the command gives.
    pub fn from_env() -> Model {
        Model::new(driver::time_per_test(), driver::seed())
    }

    /// The search for all executions, then those for samples, with their shares of the time.
    ///
    /// A call that is not atomic shows it where it is interrupted once or twice, for long: the fewest preemptions come first, then priorities
    /// that change at few places. What a weak memory model adds is left to samples of reordered events.
    fn searches(&self) -> [Explorer; 4] {
        let explorer = |strategy, memory, share: u32| {
            let budget = self.budget * share / 10;
            let search = Explorer::new().seed(self.seed).memory(memory).workers(1).strategy(strategy);
            // A search may give up before the first thread begins. What threads there are is up to the schema, not to a mistake.
            let mut search = search.budget(budget).allow_one_thread(true);
            // Others follow: what the first cannot follow (membarrier, atomics of different sizes in one place) is left to them. And a
            // compare-exchange that fails is sequentially consistent if one that succeeds is, as on every machine, and in tests that explore.
            search.options.chosen_by_portfolio = true;
            search
        };
        [
            explorer(Strategy::Exhaustive, Memory::Rc11, 4),
            explorer(Strategy::Bounded(usize::MAX), Memory::Sc, 2),
            explorer(Strategy::Pct(3), Memory::Sc, 2),
            explorer(Strategy::Pos, Memory::Rc11, 2),
        ]
    }
}

impl<T: Send + Sync + 'static> BackEnd<T> for Model {
    fn observe(&mut self, subject: &Arc<Subject<T>>, schema: &Numbered) -> Result<Observed, String> {
        let mut observed = Observed::default();
        for (number, search) in self.searches().into_iter().enumerate() {
            match search.try_run(|| run(subject, schema)) {
                Ok(report) => {
                    observed.executions += report.executions;
                    observed.elapsed += report.elapsed;
                    // The others make interleavings only, and samples.
                    observed.complete = number == 0 && report.complete;
                    for (outcome, count) in report.outcomes {
                        *observed.outcomes.entry(outcome).or_default() += count;
                    }
                    if observed.complete {
                        break;
                    }
                }
                Err(failure) => {
                    let what = format!("{}: {}", failure.kind.name().replace('_', " "), failure.message);
                    let file = failure.file.as_ref().map(|file| file.display().to_string());
                    observed.failure = Some(Failed { what, file });
                    break;
                }
            }
        }
        Ok(observed)
    }
}

/// Runs a schema once, on threads of std.
fn run<T: Send + Sync + 'static>(subject: &Arc<Subject<T>>, schema: &Numbered) -> Vec<Shown> {
    run_once(subject, schema, Arc::new, |sequence| {
        let thread = std::thread::spawn(sequence);
        || thread.join().expect("a panic of a call is a result of it")
    })
}

/// Explores a schema of a driver until an outcome is not expected, and fails with the execution that has it.
///
/// # Panics
/// With that outcome.
pub fn violation<T: Send + Sync + 'static>(directory: &str, line: usize, subject: Subject<T>) {
    driver::expect(directory, line, subject, |subject, judge| {
        // With the fewest preemptions, if that is possible: such an execution is the easiest to read.
        let mut searches = Model::from_env().searches();
        searches.swap(0, 1);
        for search in searches {
            fail_at_violation(search, subject, judge);
        }
    });
}

#[track_caller]
fn fail_at_violation<T: Send + Sync + 'static>(
    search: Explorer,
    subject: &Arc<Subject<T>>,
    judge: &Judge<'_, T>,
) {
    search.run(|| {
        let outcome = run(subject, &judge.numbered);
        let texts: Vec<&str> = outcome.iter().map(Shown::as_str).collect();
        assert!(judge.expects(&outcome), "unexpected outcome: {}", texts.join(", "));
    });
}

/// A test of refinement, written in Rust.
#[must_use = "nothing happens before `run`"]
pub struct Refinement<T> {
    subject: Subject<T>,
    promises: Vec<Promise>,
    schemas: Vec<Schema>,
    programs: usize,
    bounds: Bounds,
    budget: Duration,
    seed: u64,
}

/// What is said about a method, in the order in which it is said.
enum Promise {
    Level(String, Level),
    ReadOnly(String),
    Trusted(String),
}

impl<T: Send + Sync + 'static> Refinement<T> {
    /// A test of an object that is made like this.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Refinement<T> {
        Refinement {
            subject: Subject::new(make),
            promises: Vec::new(),
            schemas: Vec::new(),
            programs: 0,
            bounds: Bounds::default(),
            budget: Duration::from_secs(1),
            seed: 0,
        }
    }

    /// A call, as schemas write it, and what it does.
    ///
    /// # Panics
    /// If the text is no invocation.
    pub fn call<R: Debug>(
        mut self,
        text: &str,
        run: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> Refinement<T> {
        self.subject = self.subject.call(text, move |object| Shown::debug(&run(object)));
        self
    }

    /// What a method promises; complete, if nothing is said.
    pub fn level(mut self, method: &str, level: Level) -> Refinement<T> {
        self.promises.push(Promise::Level(method.to_owned(), level));
        self
    }

    /// A method that leaves the object as it is.
    pub fn readonly(mut self, method: &str) -> Refinement<T> {
        self.promises.push(Promise::ReadOnly(method.to_owned()));
        self
    }

    /// A method that is taken to be right, so that others are blamed.
    pub fn trusted(mut self, method: &str) -> Refinement<T> {
        self.promises.push(Promise::Trusted(method.to_owned()));
        self
    }

    /// What tells the states of the object apart: objects that show the same must behave alike. Large schemas need this.
    pub fn states_by<K: Debug>(mut self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> Refinement<T> {
        self.subject = self.subject.state(move |object| Shown::debug(&key(object)));
        self
    }

    /// A schema to try.
    ///
    /// # Panics
    /// If the text is no schema.
    pub fn schema(mut self, text: &str) -> Refinement<T> {
        match text.parse() {
            Ok(schema) => self.schemas.push(schema),
            Err(error) => panic!("`{text}`: {error}"),
        }
        self
    }

    /// So many schemas are made up, of the calls that were given.
    pub fn programs(mut self, programs: usize) -> Refinement<T> {
        self.programs = programs;
        self
    }

    /// How large the schemas are that are made up.
    pub fn bounds(mut self, bounds: Bounds) -> Refinement<T> {
        self.bounds = bounds;
        self
    }

    /// How long each schema is explored at most: a second, if nothing is said.
    pub fn time_per_test(mut self, time: Duration) -> Refinement<T> {
        self.budget = time;
        self
    }

    /// The seed of schemas and schedules.
    pub fn seed(mut self, seed: u64) -> Refinement<T> {
        self.seed = seed;
        self
    }

    /// Tries all schemas, and returns what came of each.
    pub fn verdicts(self) -> Vec<Verdict> {
        let mut subject = self.subject;
        for promise in self.promises {
            let (Promise::Level(name, _) | Promise::ReadOnly(name) | Promise::Trusted(name)) = &promise;
            subject = subject.change(name, |method| match promise {
                Promise::Level(_, level) => method.level = level,
                Promise::ReadOnly(_) => method.readonly = true,
                Promise::Trusted(_) => method.trusted = true,
            });
        }
        let candidates: Vec<Candidate> = subject
            .invocations()
            .map(|(invocation, promise)| Candidate {
                invocation: invocation.clone(),
                readonly: promise.readonly,
                trusted: promise.trusted,
            })
            .collect();
        let random = Random::new(&candidates, self.bounds, Suspects::One, self.seed).take(self.programs);
        let subject = Arc::new(subject);
        let mut model = Model::new(self.budget, self.seed);
        self.schemas.into_iter().chain(random).map(|schema| validate(&subject, &schema, &mut model)).collect()
    }

    /// Tries all schemas.
    ///
    /// # Panics
    /// With the table of outcomes of the first schema that has one that is not expected.
    #[track_caller]
    pub fn run(self) -> Vec<Verdict> {
        let verdicts = self.verdicts();
        for verdict in &verdicts {
            if let Some(problem) = &verdict.problem {
                panic!("`{}` cannot be tried: {problem}", verdict.schema);
            }
            if let Some(failure) = &verdict.failure {
                panic!("`{}` fails: {}", verdict.schema, failure.what);
            }
            assert!(
                !verdict.is_violation(),
                "`{}` has outcomes that are not expected; to blame: {}\n{}",
                verdict.schema,
                verdict.blamed.as_deref().unwrap_or("unknown"),
                table::outcomes(verdict)
            );
        }
        verdicts
    }
}
