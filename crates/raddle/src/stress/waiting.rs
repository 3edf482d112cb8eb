//! Litmus tests of waiting: does an actor that loops see the signal of another thread?

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use raddle_report::Kind;
use raddle_stress::report::Allowed;
use raddle_stress::{Ending, Expect, Grading, Report, Termination};

use super::columns::{self, MODELS, Wanted};
use crate::Explorer;
use crate::output::fail;
use crate::search::exploration::probe;

/// A graded test with an actor that waits for a signal. Its outcomes are `TERMINATED` and `STALE`.
///
/// Under a model, the actor is stale if an execution exists in which it waits for ever: a livelock or a deadlock.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use std::time::Duration;
/// use raddle::stress::{Expect, Waiting};
///
/// let signal = |flag: &AtomicBool| flag.store(true, Relaxed);
/// Waiting::new("flag", || AtomicBool::new(false), |flag| while !flag.load(Relaxed) {}, signal)
///     .outcome("TERMINATED", Expect::Acceptable, "the store arrives in the end")
///     .outcome("STALE", Expect::Forbidden, "the store never arrives")
///     .time(Duration::from_millis(20))
///     .run();
/// ```
#[must_use = "nothing happens before `run`"]
pub struct Waiting<S> {
    report: Report,
    make: Arc<dyn Fn() -> S + Send + Sync>,
    actor: Arc<dyn Fn(&S) + Send + Sync>,
    signal: Arc<dyn Fn(&S) + Send + Sync>,
    test: Termination<S>,
    time: Duration,
}

impl<S> fmt::Debug for Waiting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("name", &self.report.name).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Waiting<S> {
    /// A test of this actor and this signal, on instances that the first function makes.
    pub fn new(
        name: &str,
        make_state: impl Fn() -> S + Send + Sync + 'static,
        actor: impl Fn(&S) + Send + Sync + 'static,
        signal: impl Fn(&S) + Send + Sync + 'static,
    ) -> Waiting<S> {
        let (make, actor, signal) = (Arc::new(make_state), Arc::new(actor), Arc::new(signal));
        let (make2, actor2, signal2) = (Arc::clone(&make), Arc::clone(&actor), Arc::clone(&signal));
        let test = Termination::new(move || make2())
            .actor(move |state| actor2(state))
            .signal(move |state| signal2(state));
        let report = Report::new(name, Grading::new());
        Waiting { report, make, actor, signal, test, time: Duration::from_millis(500) }
    }

    /// Says what the test is about.
    pub fn description(mut self, text: &str) -> Self {
        self.report.description = text.trim().to_owned();
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

    /// Sets the seed of the delays before signals.
    pub fn seed(mut self, seed: u64) -> Self {
        self.test = self.test.seed(seed);
        self
    }

    /// Sets how long the actor may take after the signal.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.test = self.test.patience(patience);
        self
    }

    /// Runs the test and returns what it found.
    ///
    /// # Panics
    /// With the table of outcomes if the test fails.
    #[track_caller]
    pub fn run(self) -> Report {
        let report = self.report();
        columns::judge(&report);
        report
    }

    /// Runs the test and returns what it found, whatever the verdict.
    ///
    /// # Panics
    /// With the report of the failure if an exploration finds a data race or the like.
    #[track_caller]
    pub fn report(self) -> Report {
        probe();
        let wanted = Wanted::from_environment();
        let mut report = self.report;
        if wanted.models {
            let execution = || {
                let state = (self.make)();
                thread::scope(|scope| {
                    scope.spawn(|| (self.actor)(&state));
                    scope.spawn(|| (self.signal)(&state));
                });
                vec![Ok(Ending::Terminated)]
            };
            let explorer = Explorer::new().budget(Duration::from_secs(30));
            for (name, memory) in MODELS {
                report.models.push(match columns::exhaustive(&explorer, memory).try_run(execution) {
                    Ok(explored) => columns::allowed(name, &explored),
                    Err(failure) if matches!(failure.kind, Kind::Livelock | Kind::Deadlock) => Allowed {
                        model: name.to_owned(),
                        outcomes: BTreeMap::from([(Ending::Stale.to_string(), 1)]),
                        executions: failure.found_by.execution,
                        // The search ended there.
                        complete: false,
                    },
                    Err(failure) => fail(&failure),
                });
            }
        }
        if wanted.hardware {
            let _processors = columns::take_processors();
            let run = self.test.time(columns::time_on_threads(self.time)).run();
            report.seen = Some(columns::seen(&run, wanted.instrumented));
        }
        report
    }
}
