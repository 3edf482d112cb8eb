//! Graded tests of small programs: seen on this machine, allowed by SC, allowed by RC11.

use std::fmt::{self, Display};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use raddle_stress::{Expect, Grading, Report, Stress, install_quiet_hook, panic_message, quietly};

use super::columns::{self, MODELS, Wanted};
use crate::Explorer;
use crate::output::fail;
use crate::search::exploration::probe;

/// A function of the user, for the explorations.
type Function<S, T> = Arc<dyn Fn(&S) -> T + Send + Sync>;

/// A graded test. `S` is the state that actors share, `T` what each returns.
///
/// The test has up to three columns. On real threads it is run in any build. Built with instrumentation (`cargo raddle test`) its
/// executions under sequential consistency and RC11 are explored, all of them. It fails if
///
/// - an outcome that is forbidden, or that no rule mentions, occurs in any column;
/// - an outcome was seen that RC11 does not allow.
///
/// See the [module](crate::stress) for an example.
#[must_use = "nothing happens before `run`"]
pub struct Litmus<S, T> {
    report: Report,
    stress: Stress<S, T>,
    make: Arc<dyn Fn() -> S + Send + Sync>,
    actors: Vec<Function<S, T>>,
    arbiter: Option<Function<S, T>>,
    explorer: Explorer,
    time: Duration,
}

impl<S, T> fmt::Debug for Litmus<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Litmus").field("name", &self.report.name).finish_non_exhaustive()
    }
}

impl<S, T> Litmus<S, T>
where
    S: Send + Sync + 'static,
    T: Clone + Ord + Hash + Display + Send + 'static,
{
    /// A test whose instances this function makes.
    ///
    /// `cargo raddle litmus` finds the test by its name, if that is the path of the test function: `concat!(module_path!(), "::name")`.
    pub fn new(name: &str, make_state: impl Fn() -> S + Send + Sync + 'static) -> Litmus<S, T> {
        let make = Arc::new(make_state);
        let for_threads = Arc::clone(&make);
        Litmus {
            report: Report::new(name, Grading::new()),
            stress: Stress::new(move || for_threads()),
            make,
            actors: Vec::new(),
            arbiter: None,
            explorer: Explorer::new().budget(Duration::from_secs(30)),
            time: Duration::from_millis(500),
        }
    }

    /// Says what the test is about.
    pub fn description(mut self, text: &str) -> Self {
        self.report.description = text.trim().to_owned();
        self
    }

    /// Adds an actor: a thread of its own calls it once on each instance. Its result is part of the outcome, unless it has no text.
    ///
    /// # Panics
    /// If there are eight already.
    pub fn actor(mut self, actor: impl Fn(&S) -> T + Send + Sync + 'static) -> Self {
        let actor = Arc::new(actor);
        self.actors.push(actor.clone());
        self.stress = self.stress.actor(move |state| actor(state));
        self
    }

    /// Adds an arbiter, which is called on each instance after all actors. Its result is the last of the outcome.
    pub fn arbiter(mut self, arbiter: impl Fn(&S) -> T + Send + Sync + 'static) -> Self {
        let arbiter = Arc::new(arbiter);
        self.arbiter = Some(arbiter.clone());
        self.stress = self.stress.arbiter(move |state| arbiter(state));
        self
    }

    /// Adds a rule; see [`Grading`] for the patterns.
    pub fn outcome(mut self, pattern: &str, expect: Expect, description: &str) -> Self {
        self.report.grading = self.report.grading.outcome(pattern, expect, description);
        self
    }

    /// Sets how long the test is run on real threads: half a second if not set.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Sets the seed of delays and placements.
    pub fn seed(mut self, seed: u64) -> Self {
        self.stress = self.stress.seed(seed);
        self
    }

    /// Sets how long an actor may take before it counts as stuck.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.stress = self.stress.patience(patience);
        self
    }

    /// Sets options of the explorations.
    pub fn explorer(mut self, set: impl FnOnce(Explorer) -> Explorer) -> Self {
        self.explorer = set(self.explorer);
        self
    }

    /// Runs the test and returns what it found.
    ///
    /// # Panics
    /// With the table of outcomes if the test fails; with the report of the failure if an exploration finds a data race, a deadlock or
    /// the like.
    #[track_caller]
    pub fn run(self) -> Report {
        let report = self.report();
        columns::judge(&report);
        report
    }

    /// Runs the test and returns what it found, whatever the verdict.
    ///
    /// # Panics
    /// With the report of the failure if an exploration finds a data race, a deadlock or the like.
    #[track_caller]
    pub fn report(self) -> Report {
        probe();
        let wanted = Wanted::from_environment();
        let mut report = self.report;
        if wanted.models {
            install_quiet_hook();
            let execution = || execute(&*self.make, &self.actors, self.arbiter.as_ref());
            for (name, memory) in MODELS {
                match columns::exhaustive(&self.explorer, memory).try_run(execution) {
                    Ok(explored) => report.models.push(columns::allowed(name, &explored)),
                    Err(failure) => fail(&failure),
                }
            }
        }
        if wanted.hardware {
            let _processors = columns::take_processors();
            let run = self.stress.time(columns::time_on_threads(self.time)).run();
            report.seen = Some(columns::seen(&run, wanted.instrumented));
        }
        report
    }
}

/// One execution under the explorer: an instance, a thread for each actor, then the arbiter.
fn execute<S, T>(
    make: &(dyn Fn() -> S + Send + Sync),
    actors: &[Function<S, T>],
    arbiter: Option<&Function<S, T>>,
) -> Vec<Result<T, String>>
where
    S: Send + Sync,
    T: Send,
{
    let state = make();
    let call = &|function: &Function<S, T>| {
        let result = quietly(|| catch_unwind(AssertUnwindSafe(|| function(&state))));
        result.map_err(|payload| panic_message(&*payload))
    };
    let mut results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = actors.iter().map(|actor| scope.spawn(move || call(actor))).collect();
        let join =
            |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("panics of actors are caught");
        threads.into_iter().map(join).collect()
    });
    results.extend(arbiter.map(call));
    results
}
