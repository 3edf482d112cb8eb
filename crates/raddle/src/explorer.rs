//! Explorations of a closure.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use raddle_engine::execution::as_it_ended;
use raddle_engine::exploration::turn;
use raddle_engine::exploration::{Found, Progress};
use raddle_engine::happens_before::Model;
use raddle_engine::isolate::heap::Policy;
use raddle_engine::platform::global::{GLOBAL, PROBE};
use raddle_engine::platform::unwind::CallFrame;
use raddle_engine::schedule::ALL_POINTS;
use raddle_engine::site::{Classify, Code, Exchange, Site};
use raddle_engine::strategy::{Bounded, Pct, Pos, Random, RoundRobin, Scripted};
use raddle_engine::trace::{Namer, Trace};
use raddle_engine::{Config, EndedExecution, Judge, Outcome, Schedule, Search, SearchReport};
use raddle_options::columns;
use raddle_reflect::{Memory as OwnMemory, Program};
use raddle_report::failure::FoundBy;
use raddle_report::{Failure, Kind, Style, render};

use crate::auto::{Portfolio, Ran, rounded, summary};
use crate::build;
use crate::explain::explain;
use crate::options::{Allocation, Also, Backend, Isolation, Memory, Options, Strategy};
use crate::promise::{Promise, write_line};
use crate::record;
use crate::replay;
use crate::report::Report;
use crate::resume::Saved;
use crate::suppress::{Suppressed, Suppressions, matches, suppress};

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

/// How many events of a failing execution are kept.
pub(crate) const TRACE_LIMIT: usize = 20_000;

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
    /// failure is reported even if it takes more preemptions. [`Strategy::Bounded`] makes the interleavings themselves; the other
    /// strategies take as many preemptions as they like.
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

    /// The seed of the search.
    pub fn seed(mut self, seed: u64) -> Explorer {
        self.options.seed = seed;
        self
    }

    /// Makes at most this many executions. Without this and without [`budget`](Explorer::budget), [`Strategy::Auto`] searches
    /// for at most 30 seconds, and every other strategy makes at most 10,000 executions.
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

    /// Explores and returns the failure, if there is one. Its file is written in either case.
    ///
    /// Outcomes must own their data: each is cloned out of its execution, of which nothing remains. With several `workers`, one
    /// execution with each outcome that another process has seen is made again.
    ///
    /// # Errors
    /// The failure, if a schedule was found that fails.
    ///
    /// # Panics
    /// If an option in the environment is wrong, or if the execution that failed cannot be repeated.
    // Not inlined: the frame of this function separates what the closure may borrow from what the exploration keeps.
    #[inline(never)]
    #[track_caller]
    pub fn try_run<T: Ord + Clone>(self, body: impl Fn() -> T) -> Result<Report<T>, Box<Failure>> {
        let frame_pointer: usize;
        // SAFETY: only reads a register.
        unsafe {
            std::arch::asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags))
        };
        probe();
        let _turn = turn::take();

        // What the closure returned lies in the heap of its execution, which is emptied: it is cloned while the heap is
        // whole, and then forgotten, never dropped.
        let value = Cell::new(None);
        let mut kinds = BTreeMap::new();
        let mut run = || {
            std::mem::forget(value.take());
            value.set(catch_unwind(AssertUnwindSafe(&body)).ok());
        };
        let mut judge = |ended: &EndedExecution<'_>| {
            // It must not be there any more when the next execution ends.
            let returned = ManuallyDrop::new(value.take());
            if *ended.outcome == Outcome::Passed
                && let Some(returned) = returned.as_ref()
            {
                let next = kinds.len();
                let kind = match kinds.get(returned) {
                    Some(&kind) => kind,
                    None => *kinds.entry(returned.clone()).or_insert(next),
                };
                ended.is_of_kind(kind);
            }
            as_it_ended(ended)
        };
        let returns_nothing = size_of::<T>() == 0;
        let call = Call { at: Location::caller(), frame_pointer, returns_nothing };
        let result = search(self.options, &call, &mut run, &mut judge);
        std::mem::forget(value.take());
        let (report, seed, searches, suppressed) = result?;
        let count = |kind: usize| report.kinds.get(kind).copied().filter(|&count| count > 0);
        let outcomes =
            kinds.into_iter().filter_map(|(outcome, kind)| Some((outcome, count(kind)?))).collect();
        Ok(Report {
            executions: report.executions,
            blocked: report.blocked,
            exceeded: report.exceeded,
            complete: report.complete,
            exhausted: report.exhausted,
            left_out: left_out(&report, &suppressed),
            estimate: report.estimate.filter(|_| !report.complete),
            outcomes,
            events: report.steps,
            switches: report.switches,
            elapsed: report.elapsed,
            seed,
            searches,
            suppressed,
        })
    }
}

/// Finds out how the calling crate was built, if it is inlined there: from a generic function, which is compiled with the
/// caller. If that is instrumented, so is this load; if plain accesses are announced, so is this one.
#[inline(always)]
pub(crate) fn probe() {
    PROBE.load(Ordering::Relaxed);
    // SAFETY: an initialised static.
    unsafe { (&raw const PROBE).cast::<u8>().read_volatile() };
}

/// Explorations of this process so far: a test may make several, and a failure belongs to one.
static EXPLORATIONS: AtomicU32 = AtomicU32::new(0);

/// The number of an exploration that begins.
pub(crate) fn next_exploration() -> u32 {
    EXPLORATIONS.fetch_add(1, Ordering::Relaxed)
}

/// The call of an exploration.
struct Call {
    at: &'static Location<'static>,
    /// Frame pointer of the function that explores, if its crate is instrumented, and so compiled with frame pointers.
    frame_pointer: usize,
    returns_nothing: bool,
}

/// What was searched: in all, with which seed, search by search, and what was not reported.
type Searched = (SearchReport, u64, Vec<Ran>, Vec<Suppressed>);

fn search(
    mut options: Options,
    &Call { at, frame_pointer, returns_nothing }: &Call,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
) -> Result<Searched, Box<Failure>> {
    raddle_intercept::link();
    override_by_environment(&mut options);
    if !returns_nothing {
        // What other processes see stays there.
        assert!(
            options.isolation != Isolation::Fork,
            "raddle: isolation `fork` cannot bring outcomes back from its processes; let the closure return nothing"
        );
    }
    let exploration = next_exploration();
    let replayed = replay::requested();
    let owned = build::owns_process();
    say_what_is_missing(owned);
    let config = config(&options, Some(frame_pointer), owned, exploration);
    if let Some(file) = &replayed
        && file.failure.found_by.exploration == exploration
    {
        replay::replay(file, &config, &options.suppressed, at, run, judge);
    }
    if options.resume && options.strategy != Strategy::Exhaustive {
        say("raddle: only an exhaustive search can be resumed; ask for one with `--strategy exhaustive`");
    }
    let mut suppressed = options.suppressed.clone();
    if options.strategy != Strategy::Auto {
        let mut report = search_once(&options, &config, at, exploration, run, judge, &mut suppressed)?;
        report.exhausted = report.complete;
        report.complete &= report.left_out.is_empty();
        tell_suppressed(&suppressed);
        return Ok((report, options.seed, Vec::new(), suppressed));
    }
    let begin = Instant::now();
    let mut portfolio = Portfolio::new(&options);
    let (mut all, mut searches) = (SearchReport::default(), Vec::new());
    let mut exhausted: Option<Vec<u64>> = None;
    while let Some(next) = portfolio.next(&options, GLOBAL.instrumented.get()) {
        let config = self::config(&next, Some(frame_pointer), owned, exploration);
        let report = search_once(&next, &config, at, exploration, run, judge, &mut suppressed)?;
        let given_up = report.failure.is_some() || report.unsure;
        let ran = Ran::of(&next, &report, report.complete && report.left_out.is_empty(), given_up);
        portfolio.made(&ran, &report);
        if ran.is_exhaustive() && ran.preemptions.is_none() && exhausted.is_none() {
            exhausted = Some(report.kinds.clone());
        }
        all.executions += report.executions;
        all.blocked += report.blocked;
        all.exceeded += report.exceeded;
        all.steps += report.steps;
        all.switches += report.switches;
        all.kinds.resize(all.kinds.len().max(report.kinds.len()), 0);
        all.kinds.iter_mut().zip(&report.kinds).for_each(|(all, count)| *all += count);
        searches.push(ran);
    }
    all.elapsed = begin.elapsed();
    all.complete = portfolio.is_complete(&options);
    all.exhausted = portfolio.ended || all.complete;
    all.left_out = portfolio.left_out;
    if let Some(exhausted) = exhausted.filter(|_| all.complete)
        && has_more(&all.kinds, &exhausted)
    {
        all.complete = false;
        say(
            "raddle: a sample had an outcome that the exhaustive search lacks, so that is not complete; this is a bug of Raddle: \
             please report it with the closure that was explored",
        );
    }
    all.estimate = searches.iter().filter(|ran| ran.preemptions.is_none()).find_map(|ran| ran.estimate);
    let not_tried = match left_out(&all, &suppressed) {
        left_out if left_out.is_empty() => String::new(),
        left_out => format!("; not tried: {}", left_out.join(", ")),
    };
    println!("raddle: {}{not_tried}; seed {}", summary(&searches), options.seed);
    tell_suppressed(&suppressed);
    Ok((all, options.seed, searches, suppressed))
}

/// What was not tried.
fn left_out(report: &SearchReport, suppressed: &[Suppressed]) -> Vec<&'static str> {
    let ended = suppressed.iter().any(|suppressed| suppressed.kind != Kind::DataRace && suppressed.count > 0);
    let ended = ended.then_some("what executions do after failures that are suppressed");
    report.left_out.iter().map(|reason| reason.text()).chain(ended).collect()
}

/// Says what was not reported.
fn tell_suppressed(suppressed: &[Suppressed]) {
    let seen: Vec<String> =
        suppressed.iter().filter(|suppressed| suppressed.count > 0).map(Suppressed::to_string).collect();
    if !seen.is_empty() {
        println!("raddle: suppressed: {}", seen.join("; "));
    }
}

/// Whether there are executions of a kind of which there are none among others.
fn has_more(counts: &[u64], others: &[u64]) -> bool {
    let is_new =
        |(kind, &count): (usize, &u64)| count > 0 && others.get(kind).is_none_or(|&other| other == 0);
    counts.iter().enumerate().any(is_new)
}

/// Makes one search, and of what it finds a failure. A failure that is left in the report is none of the code's: the search
/// could not go on.
fn search_once(
    options: &Options,
    config: &Config,
    at: &'static Location<'static>,
    exploration: u32,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    suppressed: &mut [Suppressed],
) -> Result<SearchReport, Box<Failure>> {
    let mut saved = Saved::of(options, at, exploration, build::owns_process());
    let promise = Promise::to_search(config);
    let mut search = Search::new(config, strategy(options), classifier(config));
    // Memory is the engine's now.
    let suppressions = Suppressions::new(&options.suppressed);
    search.suppress(|| suppress(&options.suppressed, Some(suppressions.counts.clone())));
    let judge: &mut Judge<'_> = &mut |ended: &EndedExecution<'_>| match judge(ended) {
        outcome if suppressions.cover(&outcome, ended) => Outcome::Passed,
        outcome => outcome,
    };
    if let Some(saved) = &mut saved {
        saved.restore(&mut search);
    }
    let mut report = search.run(run, judge);
    record::search(options, &report);
    if let Some(saved) = &saved {
        saved.end(&search, &mut report);
    }
    for (suppressed, count) in suppressed.iter_mut().zip(&*suppressions.counts) {
        suppressed.count += count.get();
    }
    // What executions would have done that a failure ended was not tried.
    report.complete &= !suppressions.have_ended_executions();
    if gives_up(options, &report) {
        report.complete = false;
        return Ok(report);
    }
    let Some(found) = &report.failure else { return Ok(report) };
    promise.extend();
    let limit_time = found.outcome == Outcome::TimeLimit;
    let mut record = |search: &mut Search<'_>| {
        let trace = Trace::new(TRACE_LIMIT, found.steps).watching(&found.outcome);
        search.replay(&found.schedule, run, judge, trace, namer(), limit_time)
    };
    let (again, trace) = record(&mut search);
    if !same_execution(found, &again) {
        if may_give_up(options) {
            return Ok(report);
        }
        let (third, second_trace) = record(&mut search);
        drop(search);
        panic!("{}", replay::explain_divergence(found, &again, &trace, &third, &second_trace));
    }
    drop(search);
    let mut failure = explain(&again, &trace, Program::current().ok().as_ref(), build::test_name(at));
    failure.found_by = found_by(options, found.execution, exploration);
    failure.file = failure.write_new(&build::failures_directory()).ok();
    Err(Box::new(failure))
}

/// Whether another search of a portfolio takes over where this one cannot follow the program.
pub(crate) fn may_give_up(options: &Options) -> bool {
    options.strategy == Strategy::Exhaustive && options.chosen_by_portfolio
}

/// Whether what a search came to says nothing about the program, and others have to take over.
///
/// # Panics
/// If there are no others, or threads are told apart that are promised to be alike.
pub(crate) fn gives_up(options: &Options, report: &SearchReport) -> bool {
    use Outcome::{Asymmetric, Deadlock, Diverged, Endless, Livelock, TimeLimit, Unsupported};
    let outcome = report.failure.as_ref().map(|found| &found.outcome);
    assert!(
        !matches!(outcome, Some(Asymmetric { .. })),
        "raddle: threads that `symmetric` made are told apart: they do different things after they have read the same, or something \
         happens after one of them was joined and before another was; make such threads outside of `symmetric`"
    );
    if may_give_up(options) {
        return report.unsure
            || matches!(outcome, Some(Unsupported { .. } | Diverged { .. } | Endless | TimeLimit));
    }
    assert!(
        !matches!(outcome, Some(Unsupported { .. })),
        "raddle: the code under test does something that strategy `exhaustive` cannot follow: it accesses the same memory with \
         atomics of different sizes or of 128 bits, or uses `membarrier`; use another strategy"
    );
    assert!(
        !(report.unsure && matches!(outcome, Some(Deadlock | Livelock))),
        "raddle: threads wait for ever, but code that is not instrumented wrote to memory that they wait for, so that strategy \
         `exhaustive` cannot tell whether that is so; use another strategy"
    );
    false
}

/// What else may happen, as it is written.
pub(crate) fn list(also: &[Also]) -> String {
    also.iter().map(Also::to_string).collect::<Vec<_>>().join(",")
}

/// Which search found a failure, at the execution of this number from 0.
pub(crate) fn found_by(options: &Options, execution: u64, exploration: u32) -> FoundBy {
    let (memory, allocation) = (options.memory(), options.allocation);
    FoundBy {
        strategy: options.strategy.to_string(),
        memory: (memory != Memory::Sc).then(|| memory.to_string()),
        seed: options.seed,
        execution: execution + 1,
        exploration,
        allocation: (allocation != Allocation::Quarantine).then(|| allocation.to_string()),
        reference_counts: Some(options.reference_counts.join(",")).filter(|counts| !counts.is_empty()),
        also: Some(list(&options.also)).filter(|also| !also.is_empty()),
    }
}

pub(crate) fn override_by_environment(options: &mut Options) {
    if let Err(problem) = options.override_by(raddle_options::environment()) {
        panic!("raddle: {problem}");
    }
}

/// What the options mean to the engine. `frame_pointer` is that of the function that explores, if what its callers have on
/// their stacks may be borrowed.
pub(crate) fn config(
    options: &Options,
    frame_pointer: Option<usize>,
    owned: bool,
    exploration: u32,
) -> Config {
    let replayed = replay::requested();
    // An execution is replayed with the memory that it was found with.
    let (memory, allocation, found) = match replayed {
        Some(file) if file.failure.found_by.exploration == exploration => {
            (file.memory(), file.allocation(), Some(file.failure.kind))
        }
        _ => (options.memory(), options.allocation, None),
    };
    let also = match &replayed {
        Some(file) if found.is_some() => file.also(),
        _ => options.also.clone(),
    };
    let (executions, budget) = options.effort();
    Config {
        executions,
        budget,
        reach: options.reach,
        // Under a debugger, time passes for other reasons.
        time_limit: if options.backend == Backend::Threads { Duration::MAX } else { options.time_limit },
        max_steps: options.max_steps,
        backend: match options.backend {
            Backend::Coroutines => raddle_engine::execution::Backend::Coroutines,
            Backend::Threads => raddle_engine::execution::Backend::OsThreads,
            other => not_made(&other),
        },
        stack_size: options.stack_size,
        seed: options.seed,
        workers: if owned && !options.resumes() { options.processes() } else { 1 },
        alone: if options.workers.is_some() { 32 } else { 1000 },
        // A process that makes one execution has nothing to roll back, and a debugger would stop at each page.
        roll_back_pages: owned
            && options.isolation != Isolation::Fork
            && !(replayed.is_some() && options.backend == Backend::Threads),
        // Above the frame pointer lie the caller's saved frame pointer and the return address.
        callers: frame_pointer.filter(|_| GLOBAL.instrumented.get()).map(|pointer| pointer + 16),
        exhaustive: match &replayed {
            Some(file) => file.failure.found_by.strategy == Strategy::Exhaustive.to_string(),
            None => options.strategy == Strategy::Exhaustive,
        },
        preemptions: options.preemptions,
        only_if_sure: may_give_up(options),
        fork: options.isolation == Isolation::Fork,
        report_leaks: !options.allow_leaked_threads,
        prove_spins: false,
        to_the_letter: !options.chosen_by_portfolio,
        allocation: policy(allocation),
        signal_stack_flag: signal_stack_flag().filter(|_| owned),
        memory: match memory {
            Memory::Sc => Model::Sc,
            Memory::Rc11 => Model::Rc11,
            other => not_made(&other),
        },
        // In a replay, only what was found is looked for: it may not be the first thing that is wrong.
        check_leaks: found.map_or(options.check_leaks, |kind| kind == Kind::MemoryLeak),
        reference_counts: match replayed {
            Some(file) if found.is_some() => file.reference_counts(),
            _ => options.reference_counts.clone(),
        },
        also: raddle_engine::execution::Also {
            spurious_wake_ups: also.contains(&Also::SpuriousWakeUps),
            spurious_failures: also.contains(&Also::SpuriousFailures),
            timeouts: also.contains(&Also::Timeouts),
            random_bytes: also.contains(&Also::RandomBytes),
        },
        claims_all: match (&replayed, &options.strategy) {
            (Some(file), _) => file.failure.found_by.strategy.starts_with("bounded"),
            (None, Strategy::Schedule(threads)) => threads.first() == Some(&ALL_POINTS),
            (None, strategy) => matches!(strategy, Strategy::Bounded(_)),
        },
        notes_stacks: Suppressions::need_stacks(&options.suppressed),
        races: options.races && GLOBAL.announced.get() && found.is_none_or(|kind| kind == Kind::DataRace),
        label: options.strategy.to_string(),
        progress: tell_progress,
    }
}

/// Whether a replay ended as the original did.
pub(crate) fn same_execution(original: &Found, replay: &Found) -> bool {
    let without_address = |outcome: &Outcome| match *outcome {
        Outcome::Crash { thread, signal, .. } => Outcome::Crash { thread, signal, address: 0 },
        ref other => other.clone(),
    };
    without_address(&original.outcome) == without_address(&replay.outcome)
        && (ends_inexactly(&original.outcome)
            || (original.schedule == replay.schedule && original.steps == replay.steps))
}

/// Where std notes that it handles stack overflows, which costs every new thread a signal stack and an entry in a table.
/// An optimisation only: a std that keeps the note elsewhere is slower to start threads.
fn signal_stack_flag() -> Option<usize> {
    let address = Program::current().ok()?.static_address("stack_overflow3imp13NEED_ALTSTACK")?;
    Some(address as usize)
}

/// Prints the report.
pub(crate) fn print(failure: &Failure) {
    eprintln!("{}", render(failure, style(), failure.file.as_deref()));
}

/// Prints the report and fails the test, without the noise of a second panic message.
pub(crate) fn fail(failure: &Failure) -> ! {
    print(failure);
    let plain = Style { colour: false, ..style() };
    std::panic::resume_unwind(Box::new(render(failure, plain, failure.file.as_deref())))
}

/// Where a signal ends an execution depends on the moment or on how deep the stack is, and recording changes both. In which
/// round a livelock is seen depends on what lies in unused parts of the stack.
fn ends_inexactly(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::TimeLimit | Outcome::StackOverflow { .. } | Outcome::Livelock)
}

/// How to print: as `cargo raddle` says, which sees the terminal, else by what can be seen from here.
pub(crate) fn style() -> Style {
    let mut style = Style::detect();
    match std::env::var("RADDLE_COLOR").as_deref() {
        Ok("always") => style.colour = true,
        Ok("never") => style.colour = false,
        _ => {}
    }
    if let Some(width) = std::env::var("RADDLE_COLUMNS").ok().and_then(|text| columns(&text).ok()) {
        style.width = width.into();
    }
    style
}

pub(crate) fn strategy(options: &Options) -> impl FnOnce() -> Box<dyn raddle_engine::Strategy> + use<> {
    let (strategy, seed) = (options.strategy.clone(), options.seed);
    let preemptions = options.preemptions.unwrap_or(usize::MAX);
    move || match strategy {
        Strategy::Random => Box::new(Random::new(seed)),
        Strategy::Pct(depth) => Box::new(Pct::new(seed, depth)),
        Strategy::Pos => Box::new(Pos::new(seed)),
        Strategy::Bounded(most) => Box::new(Bounded::new(seed, most.min(preemptions))),
        Strategy::RoundRobin => Box::new(RoundRobin::new()),
        // It chooses by execution graphs, and a portfolio chooses others.
        Strategy::Exhaustive | Strategy::Auto => Box::new(RoundRobin::new()),
        Strategy::Schedule(threads) => Box::new(Scripted::new(Schedule { threads, ..Schedule::default() })),
        other => not_made(&other),
    }
}

fn policy(allocation: Allocation) -> Policy {
    match allocation {
        Allocation::Quarantine => Policy::Quarantine,
        Allocation::Reuse => Policy::Reuse,
        other => not_made(&other),
    }
}

/// For choices that can be written down and that nothing here does.
fn not_made(choice: &dyn std::fmt::Display) -> ! {
    unreachable!("raddle: the engine has no `{choice}`; this is a bug of Raddle: please report it")
}

/// Tells what code is by the program's own debug information; without any, all of it is the user's.
pub(crate) fn classifier(config: &Config) -> impl FnOnce() -> Classify {
    || {
        let program = Program::current().ok();
        let marked = config.reference_counts.clone();
        Box::new(move |return_address| {
            let Some(program) = &program else { return Code::from(Site::User) };
            let is_marked = |name: &str| marked.iter().any(|pattern| matches(pattern, name));
            let return_address = return_address as u64;
            let exchange = match program.exchange(return_address) {
                raddle_reflect::Exchange::Strong => Exchange::Strong,
                raddle_reflect::Exchange::Weak => Exchange::Weak,
                raddle_reflect::Exchange::Repeated => Exchange::Repeated,
            };
            Code { site: site(program.classify_with(return_address, &is_marked)), exchange }
        })
    }
}

fn site(site: raddle_reflect::Site) -> Site {
    match site {
        raddle_reflect::Site::User => Site::User,
        raddle_reflect::Site::Merged => Site::Merged,
        raddle_reflect::Site::Std => Site::Std,
        raddle_reflect::Site::ThreadBookkeeping => Site::ThreadBookkeeping,
        raddle_reflect::Site::ScopeEnd => Site::ScopeEnd,
        raddle_reflect::Site::IsFinished => Site::IsFinished,
        raddle_reflect::Site::RefCountUp => Site::RefCountUp,
        raddle_reflect::Site::RefCountDown => Site::RefCountDown,
        raddle_reflect::Site::WeakCountDown => Site::WeakCountDown,
        raddle_reflect::Site::ExpandedRmw(_) => Site::ExpandedRmw,
        raddle_reflect::Site::MutexLock => Site::MutexLock,
        raddle_reflect::Site::RwLockWait => Site::RwLockWait,
        raddle_reflect::Site::RwLockTry => Site::RwLockTry,
        raddle_reflect::Site::Plumbing => Site::Plumbing,
        raddle_reflect::Site::MarkedCount => Site::MarkedCount,
    }
}

/// Finds the names of places in the program's own debug information.
pub(crate) fn namer() -> Namer {
    let program = Program::current().ok();
    let memory = OwnMemory::own().ok();
    let mut known: HashMap<usize, String> = HashMap::new();
    Box::new(move |stack, address| {
        if let Some(name) = known.get(&address) {
            return Some(name.clone());
        }
        let program = program.as_ref()?;
        let local = |frame: &CallFrame| {
            let (pc, fp) = (frame.return_address as u64, frame.frame_pointer as u64);
            program.local_name_via(pc, fp, address as u64, |at| memory.as_ref()?.read(at))
        };
        let name = program.static_name(address as u64).or_else(|| stack.iter().find_map(local))?;
        known.insert(address, name.clone());
        Some(name)
    })
}

pub(crate) fn say_what_is_missing(owned: bool) {
    static INSTRUMENTED: Once = Once::new();
    static OWNED: Once = Once::new();
    if !GLOBAL.instrumented.get() {
        INSTRUMENTED.call_once(|| {
            say(
                "raddle: this test was built without instrumentation: only threads, blocking, sleeping and yielding are \
                 controlled, atomic accesses are not seen; run `cargo raddle test` to explore everything",
            );
        });
    }
    if !owned {
        OWNED.call_once(|| {
            say(
                "raddle: other tests run in this process, so statics are not rolled back between executions and \
                 explorations take turns; `cargo raddle test` gives each test a process of its own",
            );
        });
    }
}

/// Prints past libtest, which keeps what passing tests print to itself.
pub(crate) fn say(text: &str) {
    // Nobody may be listening.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Tells `cargo raddle`, if that listens, how far a search has come.
fn tell_progress(progress: &Progress<'_>) {
    let Progress { config, executions, estimate, depth } = progress;
    let total = match estimate.filter(|estimate| estimate > executions) {
        Some(estimate) => format!("~{}", rounded(estimate)),
        None if config.executions == u64::MAX => "0".to_owned(),
        None => config.executions.to_string(),
    };
    write_line(&format!("{executions}\t{total}\t{depth}\t{}", config.label));
}
