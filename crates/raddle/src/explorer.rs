//! Explorations of a closure, with their options.

use std::time::Duration;

use raddle_report::Kind;

use crate::options::{Allocation, Also, Backend, Explored, Isolation, Memory, Options, Strategy};
use crate::output::fail;
use crate::report::Report;
use crate::suppress::Suppressed;

/// Runs the closure under many schedules and panics with a report if one of them fails.
///
/// Short for [`Explorer::new()`](Explorer::new)`.run(body)`; see there for options.
///
/// # Panics
/// If a schedule was found that fails, or an option in the environment is wrong.
#[track_caller]
pub fn explore<T: Ord + Clone>(body: impl Fn() -> T) {
    Explorer::new().run(body);
}

/// An exploration with options. Variables of the environment override them: see [`options`](crate::options).
///
/// ```
/// let report = raddle::Explorer::new().seed(7).executions(100).run(|| ());
/// assert_eq!(report.executions, 100);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "an exploration does nothing until `run` or `try_run`"]
pub struct Explorer {
    pub(crate) options: Options,
}

impl Explorer {
    /// An exploration with the default options.
    pub fn new() -> Explorer {
        Explorer::default()
    }

    /// How the next schedule is picked.
    pub fn strategy(mut self, strategy: Strategy) -> Explorer {
        self.options.strategy = strategy;
        self
    }

    /// Which values a read may see.
    pub fn memory(mut self, memory: Memory) -> Explorer {
        self.options.memory = Some(memory);
        self
    }

    /// Explores only what interleavings with at most this many preemptions show: changes of thread while the thread that ran
    /// could go on. A thread that has ended, or waits for a lock, for another thread or for the condition of a loop, cannot go on. An
    /// access that does not go to the newest write, as the memory model may allow, counts as one preemption.
    ///
    /// With [`Strategy::Exhaustive`], each execution that some such interleaving shows is made once, and
    /// [`Report::complete`] says whether all of them were made; [`Report::exceeded`] says whether there are others. A
    /// failure is reported even if it takes more preemptions. The other strategies, but for [`Strategy::Bounded`], take as many
    /// preemptions as they like.
    ///
    /// [`Strategy::Bounded`] makes the interleavings themselves, and does not count those that take more. [`Report::complete`] then says
    /// that there are none: of `bounded:2`, and of `bounded` with this option, it is false wherever a third preemption is possible.
    ///
    /// ```
    /// use raddle::{Explorer, Memory, Strategy};
    ///
    /// let report = Explorer::new().strategy(Strategy::Exhaustive).memory(Memory::Sc).preemptions(2).run(|| ());
    /// assert!(report.complete && report.exceeded == 0);
    /// ```
    pub fn preemptions(mut self, most: usize) -> Explorer {
        self.options.preemptions = Some(most);
        self
    }

    /// Lets threads change only where they are about to begin a [marked operation](crate::step), to lock a mutex, or to enter a
    /// [`Monitor`](crate::monitor::Monitor), wait there or notify; or where they cannot go on. A marked operation is atomic as a
    /// whole, unless it blocks.
    ///
    /// For code that is not instrumented, and where a coarser view suffices. [`Strategy::Exhaustive`] then is [`Strategy::Bounded`]
    /// without a bound.
    ///
    /// ```
    /// use raddle::{Explorer, Strategy, step};
    ///
    /// let report = Explorer::new().strategy(Strategy::Exhaustive).only_marked(true).run(|| {
    ///     let other = std::thread::spawn(|| step("first", || ()));
    ///     step("second", || ());
    ///     other.join().unwrap();
    /// });
    /// assert!(report.complete);
    /// ```
    pub fn only_marked(mut self, only_marked: bool) -> Explorer {
        self.options.only_marked = only_marked;
        self
    }

    /// The seed of the search.
    pub fn seed(mut self, seed: u64) -> Explorer {
        self.options.seed = seed;
        self
    }

    /// Makes at most this many executions. Without this and without [`budget`](Explorer::budget), [`Strategy::Auto`] searches
    /// for at most 10 seconds, and less if it finds nothing new for as long as it took before; every other strategy makes at most
    /// 10,000 executions. With this and without a budget, [`Strategy::Auto`] searches for at most a minute.
    pub fn executions(mut self, executions: u64) -> Explorer {
        self.options.executions = Some(executions);
        self
    }

    /// Searches for at most this long.
    pub fn budget(mut self, budget: Duration) -> Explorer {
        self.options.budget = Some(budget);
        self
    }

    /// Limits the events of an execution. One that makes more goes on fairly, and is a livelock if it does not end even so.
    pub fn max_steps(mut self, steps: u64) -> Explorer {
        self.options.max_steps = steps;
        self
    }

    /// Limits the time of an execution. One that takes longer goes on fairly, and fails if it does not end even so.
    pub fn time_limit(mut self, limit: Duration) -> Explorer {
        self.options.time_limit = limit;
        self
    }

    /// Searches in this many processes at once; 0 counts as 1. What is found does not depend on it; only which of several failures an
    /// exhaustive search reports does.
    ///
    /// Without this, [`Strategy::Auto`] takes as many as there are processors for each of the tests that `cargo raddle test` runs at
    /// once, when there is enough to do; and every other strategy takes one.
    ///
    /// ```
    /// let report = raddle::Explorer::new().executions(100).workers(2).run(|| 7);
    /// assert_eq!(report.outcomes[&7], 100);
    /// ```
    pub fn workers(mut self, workers: usize) -> Explorer {
        self.options.workers = Some(workers.max(1));
        self
    }

    /// What virtual threads are made of.
    pub fn backend(mut self, backend: Backend) -> Explorer {
        self.options.backend = backend;
        self
    }

    /// How executions are kept apart.
    pub fn isolation(mut self, isolation: Isolation) -> Explorer {
        self.options.isolation = isolation;
        self
    }

    /// What happens to memory that the code under test frees.
    pub fn allocation(mut self, allocation: Allocation) -> Explorer {
        self.options.allocation = allocation;
        self
    }

    /// Whether to look for data races. They are looked for unless this says otherwise.
    pub fn races(mut self, races: bool) -> Explorer {
        self.options.races = races;
        self
    }

    /// Whether an execution of `random`, `pct` or `pos` is recognised if it takes no step that others did not take before, from the same
    /// states. Such an execution is counted ([`Report::recognised`](crate::Report::recognised)), and not made again. Executions are recognised
    /// unless this says otherwise; the result is the same.
    pub fn recognise(mut self, recognise: bool) -> Explorer {
        self.options.recognise = recognise;
        self
    }

    /// Does not report data races in functions whose path matches one of these patterns, in which `*` stands for any text.
    ///
    /// A race is suppressed if the pattern matches the path of a function that makes one of the two accesses, or that of
    /// one of the functions around it: those inlined there, and three more callers.
    ///
    /// ```
    /// let explorer = raddle::Explorer::new().executions(100);
    /// explorer.suppress(["my_crate::metrics::*", "*::approximate_len"]).run(|| ());
    /// ```
    pub fn suppress<S: Into<String>>(mut self, functions: impl IntoIterator<Item = S>) -> Explorer {
        let races = functions.into_iter().map(Into::into);
        self.options
            .suppressed
            .extend(races.map(|path| Suppressed::new(Kind::DataRace, path, String::new())));
        self
    }

    /// Does not report failures of one kind in functions whose path matches the pattern, in which `*` stands for any text, and says
    /// why. [`Report::suppressed`] lists them, and so does the output of the test.
    ///
    /// A failure is in a function if that is on the stack of the thread that panicked, crashed or ended the process, or of a thread
    /// that does not go on. Of leaked threads, each has to be in a function that is named. An execution that would have failed
    /// counts as one that has passed, without an outcome, and the exploration is not complete. Tests of operations suppress data races only.
    ///
    /// ```
    /// use raddle::{Explorer, Kind};
    ///
    /// let explorer = Explorer::new().executions(100);
    /// explorer.suppress_kind(Kind::ThreadLeak, "my_pool::*", "the pool lives as long as the process").run(|| ());
    /// ```
    pub fn suppress_kind(
        mut self,
        kind: Kind,
        functions: impl Into<String>,
        reason: impl Into<String>,
    ) -> Explorer {
        self.options.suppressed.push(Suppressed::new(kind, functions.into(), reason.into()));
        self
    }

    /// Treats reference counts in this code as those of [`Arc`](std::sync::Arc), so that they do not multiply the executions of an
    /// exhaustive search: types, whose `clone` and `drop` (and `drop_inner` and the like) count, or functions, by their paths, in which `*` stands for any text.
    ///
    /// What such code does to a `usize` is taken for counting if it is what `Arc` does: `fetch_add(1, Relaxed)` makes a handle, and
    /// `fetch_sub(1, Release)` or `AcqRel` gives one up, the last of which reads 1, acquires (by `AcqRel`, a fence or a load of the
    /// count) and frees the memory of the count in the end. Whatever else is done to a count, here or elsewhere, is a look at it, and a
    /// count that somebody looks at is explored like any other memory. The promise of whoever marks code is that it does nothing
    /// with the number that it reads but to find out whether the handle was the last, and that it does not tell its callers.
    ///
    /// ```
    /// let explorer = raddle::Explorer::new().executions(100);
    /// explorer.reference_counts(["triomphe::arc::Arc", "my_crate::buffer::release"]).run(|| ());
    /// ```
    pub fn reference_counts<S: Into<String>>(mut self, code: impl IntoIterator<Item = S>) -> Explorer {
        self.options.reference_counts.extend(code.into_iter().map(Into::into));
        self
    }

    /// Explores something else that may happen, too.
    ///
    /// ```
    /// use raddle::{Also, Explorer};
    ///
    /// Explorer::new().also(Also::SpuriousWakeUps).run(|| ());
    /// ```
    pub fn also(mut self, also: Also) -> Explorer {
        self.options.also.push(also);
        self
    }

    /// Whether memory that nothing refers to at the end of an execution, and that was not freed, is a failure.
    pub fn check_leaks(mut self, check: bool) -> Explorer {
        self.options.check_leaks = check;
        self
    }

    /// Whether an exhaustive search that ends before it is complete (for time, for the number of executions, or because of
    /// Ctrl-C) is saved, and goes on there the next time.
    ///
    /// What is left to do is kept in a file beside the failure files until nothing is. [`Report::executions`] and
    /// [`Report::blocked`] are those of all processes together; outcomes are those of the last one. The search is made in one
    /// process at a time, which has to be the test's own, as `cargo raddle test` has it. Only
    /// [`Strategy::Exhaustive`] can be resumed.
    pub fn resume(mut self, resume: bool) -> Explorer {
        self.options.resume = resume;
        self
    }

    /// Whether the exploration fails in a program that was built without instrumentation, as plain `cargo test` builds it.
    ///
    /// Without this, it fails under `cargo raddle`, and where the variable `CI` is set; elsewhere it says so in one line. The manifest can
    /// say otherwise for plain `cargo test`: `explored = "optional"` in `[package.metadata.raddle]` or `[workspace.metadata.raddle]`.
    ///
    /// ```
    /// use raddle::{Explored, Explorer};
    ///
    /// Explorer::new().explored(Explored::Optional).executions(100).run(|| ());
    /// ```
    pub fn explored(mut self, explored: Explored) -> Explorer {
        self.options.explored = Some(explored);
        self
    }

    /// The stack of each thread, in bytes.
    pub fn stack_size(mut self, bytes: usize) -> Explorer {
        self.options.stack_size = bytes;
        self
    }

    /// Whether threads may be left waiting for ever when the closure returns, as those of a global pool are.
    pub fn allow_leaked_threads(mut self, allow: bool) -> Explorer {
        self.options.allow_leaked_threads = allow;
        self
    }

    /// Whether the exploration may pass although only one thread ever ran. Otherwise that is a failure, under `cargo raddle test`: there
    /// was nothing to interleave.
    pub fn allow_one_thread(mut self, allow: bool) -> Explorer {
        self.options.allow_one_thread = allow;
        self
    }

    /// Explores.
    ///
    /// # Panics
    /// With the report of the failure, if there is one.
    #[track_caller]
    pub fn run<T: Ord + Clone>(self, body: impl Fn() -> T) -> Report<T> {
        match self.try_run(body) {
            Ok(report) => report,
            Err(failure) => fail(&failure),
        }
    }
}
