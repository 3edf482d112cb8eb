//! Many executions: set-up and tear-down, budgets, worker processes, the first failure and its replay.

pub(crate) mod estimate;
pub(crate) mod outcomes;
pub mod turn;
pub(crate) mod workers;

pub use estimate::Effort;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use self::estimate::Prospect;
use self::outcomes::{OutcomeCounts, RemoteOutcome};
use self::workers::exhaustive::{Forked, Left, WorkerPool};
use self::workers::isolated;
use crate::execution::{
    self, Also, Backend, ChildResult, ChoiceLog, Engine, Judge, Limits, RaceDetector, Suppress,
    engine_of_virtual_thread,
};
use crate::happens_before::Model;
use crate::interface;
use crate::interface::signals::{self, Handlers};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::isolate::unmanaged_threads;
use crate::left_out::{LeftOut, Reason};
use crate::model_checker::ModelChecker;
use crate::op::ThreadId;
use crate::outcome::{Discarded, Outcome};
use crate::platform::global::{EXPLORER, GLOBAL, NO_ROLE, ROLE};
use crate::platform::unwind::CallFrame;
use crate::schedule::Schedule;
use crate::site::{self, Classify};
use crate::spinloop::liveness::Liveness;
use crate::strategy::{Scripted, Strategy};
use crate::thread::State;
use crate::trace::{Namer, Trace};
use crate::weak_memory::Memory;

/// What to search and for how long.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many executions at most.
    pub executions: u64,
    /// How long at most.
    pub budget: Option<Duration>,
    /// What an exhaustive search may cost instead, if an estimate says that it comes to its end within that. If that is far,
    /// the search ends at once.
    pub reach: Option<Effort>,
    /// How long one execution may take.
    pub time_limit: Duration,
    /// Events per execution.
    pub max_steps: u64,
    /// What virtual threads run on.
    pub backend: Backend,
    /// Bytes of stack per virtual thread.
    pub stack_size: usize,
    /// Seed of what the code under test sees as random.
    pub seed: u64,
    /// Worker processes; 1 searches in this one.
    pub workers: usize,
    /// How many executions are made in this one before there are others: what is done sooner is not worth a process.
    pub alone: u64,
    /// Whether memory that existed before is rolled back: only if no other thread of the process uses it.
    pub roll_back_pages: bool,
    /// Whether every execution is to be explored once.
    pub exhaustive: bool,
    /// How many preemptions the executions of an exhaustive search may take.
    pub preemptions: Option<usize>,
    /// Whether such a search ends as soon as it is not sure of what it says.
    pub only_if_sure: bool,
    /// Whether each execution is made in a process of its own.
    pub fork: bool,
    /// Whether threads that can never run again after the closure's end are a failure.
    pub report_leaks: bool,
    /// Whether a thread that seems to spin goes on alone until that is proven: for those who ask which threads had to wait.
    pub prove_spins: bool,
    /// Whether the exhaustive search takes the memory model to the letter, also where no compiler does.
    pub to_the_letter: bool,
    /// Whether memory that was not freed at an execution's end is a failure.
    pub check_leaks: bool,
    /// What else may happen.
    pub also: Also,
    /// Whether the strategy claims to make all interleavings: then threads may change where a handle of an `Arc` is made, and a thread
    /// that goes round is left out only if each round is proven to be like the one before.
    pub claims_all: bool,
    /// Whether every execution notes where its threads stand: for those who judge a failure by that.
    pub notes_stacks: bool,
    /// Whether data races are looked for, which needs clocks.
    pub races: bool,
    /// What happens to freed memory.
    pub allocation: heap::Policy,
    /// Where std notes that threads need a signal stack of their own: switched off meanwhile, for the engine has one.
    pub signal_stack_flag: Option<usize>,
    /// Where the frames of the functions begin that called the exploration, if that is known.
    pub callers: Option<usize>,
    /// Which values reads may see.
    pub memory: Model,
    /// The code that the classifier knows to count references, besides that of std.
    pub reference_counts: Vec<String>,
    /// What the strategy is called.
    pub label: String,
    /// Called a few times a second.
    pub progress: fn(&Progress<'_>),
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Executions made.
    pub executions: u64,
    /// About how many there are, if that is known.
    pub estimate: Option<u64>,
    /// Choices of the latest execution.
    pub depth: usize,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct SearchReport {
    /// Executions made.
    pub executions: u64,
    /// Explorations that were cut because they show nothing new.
    pub blocked: u64,
    /// Execution graphs that the exhaustive search saw, and left, because they take too many preemptions.
    pub exceeded: u64,
    /// About how many executions there are, if the exhaustive search took long enough to be estimated.
    pub estimate: Option<u64>,
    /// Whether the exhaustive search saw effects of code that it does not see: what it says is then not sure.
    pub unsure: bool,
    /// Whether the exhaustive search began anew, so that what earlier processes counted is void.
    pub anew: bool,
    /// Whether the strategy has explored all it can reach.
    pub complete: bool,
    /// The same, whatever was left out. Set by whoever decides about completeness.
    pub exhausted: bool,
    /// What was left out: if there is anything, what was explored is not everything.
    pub left_out: LeftOut,
    /// Events of all executions made in this process.
    pub steps: u64,
    /// How many of them were made: executions of an exhaustive search begin where earlier ones were.
    pub steps_made: u64,
    /// Changes of thread in all executions made in this process.
    pub switches: u64,
    /// How many executions there were of each kind that the judge told apart.
    pub kinds: Vec<u64>,
    /// How long it took.
    pub elapsed: Duration,
    /// The first failure.
    pub failure: Option<Found>,
}

/// A failing execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How it ended.
    pub outcome: Outcome,
    /// Its number within the search, from 0.
    pub execution: u64,
    /// Its choices.
    pub schedule: Schedule,
    /// Its events.
    pub steps: u64,
    /// What its last panic said, and in which thread.
    pub panic: Option<(ThreadId, String)>,
    /// Its threads.
    pub threads: Vec<ThreadReport>,
}

/// How a thread stood when its execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// Its name.
    pub name: Option<String>,
    /// What it waited for.
    pub state: State,
    /// Whether a panic ended it.
    pub panicked: bool,
    /// Where it last paused, if a trace was recorded.
    pub paused_at: Vec<CallFrame>,
}

/// An exploration: while it lives, the calling OS thread runs virtual threads, and memory allocated by it belongs to the
/// engine. Explorations of one process take turns.
#[allow(missing_debug_implementations, reason = "holds the whole machine")]
pub struct Search<'a> {
    engine: *mut Engine,
    config: &'a Config,
    /// How many executions there were of each kind that the judge told apart.
    kinds: OutcomeCounts,
    handlers: Option<Handlers>,
    hook: Arc<PanicHook>,
    _turn: turn::Guard,
}

type PanicHook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send>;

impl<'a> Search<'a> {
    /// Waits for its turn and takes the process over. Strategy and classifier are made when memory is already
    /// the engine's.
    ///
    /// # Panics
    /// If called from within an exploration.
    pub fn new(
        config: &'a Config,
        strategy: impl FnOnce() -> Box<dyn Strategy>,
        classifier: impl FnOnce() -> Classify,
    ) -> Search<'a> {
        let turn = turn::take();
        heap::init();
        site::map_tables();
        site::forget_sites_unless(&config.reference_counts);
        let hook: Arc<PanicHook> = Arc::new(std::panic::take_hook());
        let before = Arc::clone(&hook);
        std::panic::set_hook(Box::new(move |info| on_panic(info, &before)));
        let heap_block = Box::new(0u8);
        let heap_block = (&raw const *heap_block).addr();
        ROLE.set(EXPLORER);
        GLOBAL.in_engine.set(true);
        // From here on, memory is the engine's.
        let limits = Limits {
            max_steps: config.max_steps,
            backend: config.backend,
            stack_size: config.stack_size,
            report_leaks: config.report_leaks,
            prove_spins: config.prove_spins,
            to_the_letter: config.to_the_letter,
            check_leaks: config.check_leaks,
            also: config.also,
            claims_all: config.claims_all,
            notes_stacks: config.notes_stacks,
            allocation: config.allocation,
            max_ticks: (config.time_limit.as_millis() / u128::from(signals::TICK_MS)).min(u32::MAX.into())
                as u32,
        };
        let engine = Box::into_raw(Box::new(Engine::new(limits, classifier(), strategy(), config.seed)));
        // SAFETY: the engine was just made.
        unsafe {
            if config.exhaustive {
                Liveness::prepare();
                let graphs = ModelChecker::new(config.memory);
                (*engine).exhaustive = Some(Box::new(match config.preemptions {
                    Some(most) => graphs.with_preemption_bound(most),
                    None => graphs,
                }));
                // What reads see is said by the graph; only clocks are kept.
                (*engine).memory = config.races.then(|| Box::new(Memory::new(Model::Sc)));
            } else if config.memory == Model::Rc11 || config.races {
                (*engine).memory = Some(Box::new(Memory::new(config.memory)));
            }
            if config.races {
                // What a child finds out, it cannot tell, and it makes one execution only.
                RaceDetector::begin_sharing(config.fork);
                (*engine).detector = Some(Box::default());
            }
        }
        execution::set_engine(engine);
        GLOBAL.wants_announcements.set(true);
        GLOBAL.wants_registers.set(config.exhaustive);
        GLOBAL.wants_allocations.set(config.races);
        let mut handlers = Handlers::install();
        if config.backend == Backend::Coroutines {
            handlers.forbid_time_stamps();
        }
        set_flag(config, false);
        if let Some(callers) = config.callers {
            // SAFETY: the engine was just made.
            unsafe { (*engine).borrowed = Borrowed::above(callers) };
        }
        if config.roll_back_pages {
            unmanaged_threads::hold();
            let pages = Pages::protect(heap_block);
            // SAFETY: the engine was just made.
            unsafe { (*engine).pages = Some(pages) };
        }
        Search {
            engine,
            config,
            kinds: OutcomeCounts::default(),
            handlers: Some(handlers),
            hook,
            _turn: turn,
        }
    }

    /// Says which data races are not to be reported.
    pub fn suppress(&mut self, suppress: impl FnOnce() -> Suppress) {
        let suppress = suppress();
        // SAFETY: the engine lives as long as `self`.
        unsafe { (*self.engine).suppress = Some(suppress) };
    }

    /// All that a later process needs to go on with an exhaustive search that has ended early. Everything must lie there where it
    /// lies here.
    pub fn save(&self) -> Option<Vec<u64>> {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            let mut saved = (*self.engine).exhaustive.as_ref()?.save();
            saved.push((*self.engine).left_out.bits().into());
            Some(saved)
        }
    }

    /// Goes on with a search that an earlier process saved. False if it was of another kind.
    pub fn restore(&mut self, saved: &[u64]) -> bool {
        let Some((&left_out, saved)) = saved.split_last() else { return false };
        // SAFETY: as above.
        unsafe {
            (*self.engine).left_out.join(LeftOut::from_bits(left_out as u32));
            (*self.engine).exhaustive.as_mut().is_some_and(|graphs| graphs.restore(saved).is_some())
        }
    }

    /// Makes executions of `body` until one fails, the strategy has no more or the budget is spent. The judge has the last
    /// word on each; with several processes, it is asked in each of them.
    pub fn run(&mut self, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> SearchReport {
        let begin = Instant::now();
        self.kinds = OutcomeCounts::new(self.config.workers > 1);
        let mut report = self.run_with_others(begin, body, judge);
        report.kinds = self.kinds.counts().to_vec();
        report.elapsed = begin.elapsed();
        report
    }

    fn run_with_others(
        &mut self,
        begin: Instant,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> SearchReport {
        loop {
            let can_share = self.config.exhaustive && !self.config.fork && self.config.workers > 1;
            let mut team = can_share.then(|| WorkerPool::gather(self.config.workers, self.config.alone));
            let mut report = self.search(body, judge, begin, &mut team);
            let Some(team) = team else { return report };
            let mut polls = 0u64;
            let left = team.leave(&mut report, &self.kinds, |executions| {
                polls += 1;
                if polls.is_multiple_of(1000) {
                    self.tell_progress(executions, 0);
                }
            });
            match left {
                Left::Done(told) => {
                    report.failure = self.hear(told, body, judge);
                    return report;
                }
                Left::Failed(schedule) => {
                    let execution = report.executions.saturating_sub(1);
                    if report.failure.is_none() {
                        let mut found = Found { execution, ..self.rerun(&schedule, body, judge) };
                        if found.outcome == Outcome::Passed {
                            // It did not in the process that found it.
                            found.outcome = Outcome::Diverged { choice: schedule.threads.len() };
                        }
                        report.failure = Some(found);
                    }
                    return report;
                }
                // SAFETY: the engine lives as long as `self`.
                Left::MustBeginAnew(lesson) => unsafe {
                    self.kinds.clear();
                    if let Some(graphs) = &mut (*self.engine).exhaustive {
                        graphs.refine(lesson);
                        graphs.take_refinement();
                    }
                },
            }
        }
    }

    fn search(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        begin: Instant,
        team: &mut Option<WorkerPool>,
    ) -> SearchReport {
        let mut report = SearchReport::default();
        // SAFETY: the engine lives as long as `self`.
        if let Some(graphs) = unsafe { &mut (*self.engine).exhaustive } {
            // They were points of executions of another body.
            graphs.discard_checkpoints();
        }
        let mut last_progress = 0;
        let mut checked = 0;
        let mut points = self.config.fork.then(ChoiceLog::map);
        let mut may_estimate = !self.config.fork;
        let (mut due, mut reaches) = (estimate::FIRST, false);
        loop {
            // SAFETY: the engine lives as long as `self`; references end with each statement.
            let (ticks, depth) = unsafe { ((*self.engine).all_ticks, (*self.engine).schedule.len()) };
            let has_ticked = std::mem::replace(&mut checked, ticks) != ticks;
            let made = team.as_ref().map_or(report.executions, WorkerPool::executions);
            let effort = self.effort(reaches);
            let is_spent = |parts: u32| {
                let is_late = || effort.time.is_some_and(|time| begin.elapsed() >= time / parts);
                made >= effort.executions / u64::from(parts) || (has_ticked && is_late())
            };
            if may_estimate && self.wants_estimate(due, report.steps, is_spent(2)) {
                due = due.max(report.steps) * estimate::TIMES_MORE;
                report.failure = self.estimate(body, judge, &mut report);
                let prospect = self.prospect(made, begin.elapsed());
                if let Some(team) = team {
                    team.hear(prospect);
                }
                if report.failure.is_some() || prospect == Prospect::Far {
                    break;
                }
                reaches |= prospect == Prospect::Near;
            } else if is_spent(1) || (has_ticked && signals::interrupted()) {
                break;
            }
            if has_ticked && checked >= last_progress + u64::from(250 / signals::TICK_MS) {
                last_progress = checked;
                self.tell_progress(made, depth);
            }
            let execution = report.executions;
            // SAFETY: as above.
            unsafe {
                let engine = &mut *self.engine;
                let (more, all) = match &mut engine.exhaustive {
                    Some(graphs) => (graphs.begin(), true),
                    None => (engine.strategy.begin(execution), engine.strategy.is_exhaustive()),
                };
                if !more {
                    let pauses = engine.exhaustive.as_mut().is_some_and(|graphs| graphs.take_paused());
                    let is_late = || effort.time.is_some_and(|time| begin.elapsed() >= time);
                    if pauses && !is_late() && !signals::interrupted() {
                        continue;
                    }
                    report.complete = all && !pauses;
                    break;
                }
            }
            report.executions += 1;
            // SAFETY: as above.
            unsafe { (*self.engine).number(execution) };
            let failure = match &mut points {
                Some(points) => self.execute_in_child(points, body, judge, execution, &mut report),
                None => self.execute_here(body, judge, execution, &mut report),
            };
            if failure.is_some() {
                report.failure = failure;
                break;
            }
            self.count_kind();
            // SAFETY: as above.
            let engine = unsafe { &mut *self.engine };
            if self.config.only_if_sure
                && engine.exhaustive.as_ref().is_some_and(|graphs| graphs.saw_uninstrumented_writes())
            {
                break;
            }
            if let (Some(team), Some(graphs)) = (&mut *team, &mut engine.exhaustive) {
                if !team.goes_on(report.executions, graphs.take_refinement()) {
                    break;
                }
                reaches |= team.reaches_further();
                if team.share(report.executions, graphs) == Forked::Child {
                    may_estimate = false;
                    report = SearchReport::default();
                    self.kinds.forget_counts();
                    if let Some(handlers) = &mut self.handlers {
                        handlers.start_watchdog();
                    }
                }
            }
            if report.executions >= self.config.alone.max(1)
                && self.config.workers > 1
                && !self.config.fork
                && engine.strategy.is_indexed()
                && team.is_none()
            {
                self.run_workers(body, judge, begin, &mut report);
                break;
            }
        }
        if let Some(points) = points {
            points.unmap();
        }
        // SAFETY: the engine lives as long as `self`.
        let graphs = unsafe { (*self.engine).exhaustive.as_ref() };
        report.unsure = graphs.is_some_and(|graphs| graphs.saw_uninstrumented_writes());
        report.exceeded = graphs.map_or(0, |graphs| graphs.graphs_beyond_bound());
        // SAFETY: as above.
        report.left_out = unsafe { (*self.engine).left_out };
        if graphs.is_some_and(|graphs| graphs.has_unproven_spins()) {
            report.left_out.add(Reason::YieldingLoops);
        }
        report.estimate = self.estimated();
        report.elapsed = begin.elapsed();
        report
    }

    /// Counts the execution that was made, if it is of a kind.
    fn count_kind(&mut self) {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &*self.engine };
        if let Some(kind) = engine.kind.take() {
            self.kinds.add(kind, 1, || engine.choices());
        }
    }

    /// Finds out of which kinds the executions are that other processes made, by making one of each again. Returns one that ends
    /// otherwise here.
    fn hear(
        &mut self,
        told: Vec<RemoteOutcome>,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Option<Found> {
        for RemoteOutcome { count, schedule } in told {
            let found = self.rerun(&schedule, body, judge);
            if found.outcome != Outcome::Passed {
                let outcome = Outcome::Diverged { choice: schedule.threads.len() };
                return Some(Found { outcome, schedule, ..found });
            }
            // SAFETY: the engine lives as long as `self`.
            if let Some(kind) = unsafe { (*self.engine).kind.take() } {
                self.kinds.add(kind, count, || schedule);
            }
        }
        None
    }

    /// What the search may cost.
    fn effort(&self, reaches_further: bool) -> Effort {
        let first = Effort { executions: self.config.executions, time: self.config.budget };
        self.config.reach.filter(|_| reaches_further).unwrap_or(first)
    }

    fn tell_progress(&self, executions: u64, depth: usize) {
        let estimate = self.estimated();
        (self.config.progress)(&Progress { config: self.config, executions, estimate, depth });
    }

    /// Makes the execution of a schedule again, without recording it.
    pub fn rerun(&mut self, schedule: &Schedule, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> Found {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            let graphs = (*self.engine).exhaustive.take();
            if graphs.is_some() {
                let scripted = ModelChecker::replaying(self.config.memory, schedule.clone());
                (*self.engine).exhaustive = Some(Box::new(scripted));
            }
            let script = || Box::new(Scripted::new(schedule.clone()));
            let strategy = std::mem::replace(&mut (*self.engine).strategy, script());
            let random = (*self.engine).follow(schedule);
            let mut outcome = Outcome::Discarded(Discarded::Repeat);
            while outcome == Outcome::Discarded(Discarded::Repeat) || (*self.engine).has_learned_of_sharing()
            {
                (*self.engine).strategy = script();
                if let Some(script) = &mut (*self.engine).exhaustive {
                    script.begin();
                }
                if let Some(trace) = &mut (*self.engine).trace {
                    trace.clear();
                }
                outcome = self.execute(body, judge);
            }
            (*self.engine).strategy = strategy;
            (*self.engine).follow_no_more(random);
            let found = self.found(outcome, 0);
            (*self.engine).exhaustive = graphs;
            found
        }
    }

    fn execute_here(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        execution: u64,
        report: &mut SearchReport,
    ) -> Option<Found> {
        let outcome = self.execute(body, judge);
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &mut *self.engine };
        engine.strategy.end(engine.schedule.len());
        report.steps += engine.steps;
        report.steps_made += engine.steps - engine.begun_at;
        report.switches += engine.switches;
        if let Outcome::Discarded(why) = outcome {
            report.executions -= 1;
            match why {
                Discarded::Repeat | Discarded::BoundExceeded => {}
                Discarded::Blocked => report.blocked += 1,
                Discarded::Restart => {
                    self.kinds.clear();
                    (report.executions, report.blocked, report.anew) = (0, 0, true);
                }
            }
            return None;
        }
        self.failure(outcome, execution, body, judge)
    }

    /// The failure of the execution that has just been made, if it fails: perhaps only when it is made again, because only now it is
    /// known which lines of stacks threads share.
    fn failure(
        &mut self,
        outcome: Outcome,
        execution: u64,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Option<Found> {
        // The search, not the execution, may have come to its end.
        let is_final = !matches!(
            outcome,
            Outcome::Asymmetric { .. } | Outcome::Unsupported { .. } | Outcome::Diverged { .. }
        );
        let failure = (outcome != Outcome::Passed).then(|| self.found(outcome, execution));
        // SAFETY: the engine lives as long as `self`.
        let has_learned = unsafe { (*self.engine).has_learned_of_sharing() };
        if !has_learned || !is_final {
            return failure;
        }
        // SAFETY: as above.
        let schedule = unsafe { (*self.engine).choices() };
        let again = Found { execution, ..self.rerun(&schedule, body, judge) };
        if again.outcome == Outcome::Passed { failure } else { Some(again) }
    }

    /// Makes the execution in a child. If it fails there, it is made once more in this process, which is still as it was.
    fn execute_in_child(
        &mut self,
        points: &mut ChoiceLog,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        execution: u64,
        report: &mut SearchReport,
    ) -> Option<Found> {
        points.clear();
        isolated::in_child(|| {
            if let Some(handlers) = &mut self.handlers {
                handlers.start_watchdog();
            }
            // SAFETY: the engine lives as long as `self`.
            unsafe { (*self.engine).points = Some(*points) };
            let outcome = self.execute(body, judge);
            // SAFETY: as above.
            let log = unsafe { (*self.engine).points.take() };
            let passed = self.failure(outcome, execution, body, judge).is_none();
            if let Some(log) = log {
                // SAFETY: as above.
                let engine = unsafe { &*self.engine };
                log.say(ChildResult {
                    passed,
                    steps: engine.steps,
                    switches: engine.switches,
                    choices: engine.schedule.len(),
                    left_out: engine.left_out,
                    fair_since: engine.fair_since(),
                });
            }
        });
        // SAFETY: as above.
        let engine = unsafe { &mut *self.engine };
        let said = points.hear(&mut *engine.strategy);
        report.steps += said.steps;
        report.switches += said.switches;
        engine.left_out.join(said.left_out);
        if said.passed {
            return None;
        }
        Some(Found { execution, ..self.rerun(&points.schedule(), body, judge) })
    }

    /// Makes the execution of a schedule again and records what happens.
    ///
    /// Recording takes long, so the execution's time is only limited if it is the limit that is to be seen.
    pub fn replay(
        &mut self,
        schedule: &Schedule,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        trace: Trace,
        namer: Namer,
        limit_time: bool,
    ) -> (Found, Trace) {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            (*self.engine).trace = Some(trace);
            GLOBAL.wants_allocations.set(true);
            let max_ticks = (*self.engine).limits.max_ticks;
            if !limit_time {
                (*self.engine).limits.max_ticks = u32::MAX;
            }
            (*self.engine).namer = Some(namer);
            let found = self.rerun(schedule, body, judge);
            GLOBAL.wants_allocations.set(self.config.races);
            (*self.engine).namer = None;
            (*self.engine).limits.max_ticks = max_ticks;
            let trace = (*self.engine).trace.take().expect("set above");
            (found, trace)
        }
    }

    fn execute(&mut self, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> Outcome {
        let body: *mut (dyn FnMut() + '_) = body;
        // SAFETY: the engine in `GLOBAL` is this one. The body outlives the execution, at whose end every coroutine that
        // could call it is gone.
        unsafe {
            let body = std::mem::transmute::<*mut (dyn FnMut() + '_), *mut (dyn FnMut() + 'static)>(body);
            Engine::execute(self.engine, body, judge)
        }
    }

    fn found(&self, outcome: Outcome, execution: u64) -> Found {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &*self.engine };
        let threads = engine.threads[..engine.alive].iter();
        let outcome = match (&engine.exhaustive, outcome) {
            (Some(graphs), outcome) => outcome.map_thread(|thread| graphs.spawn_number_of(thread)),
            (None, outcome) => outcome,
        };
        Found {
            outcome,
            execution,
            schedule: engine.choices(),
            steps: engine.steps,
            panic: engine.panic.clone(),
            threads: threads
                .map(|thread| ThreadReport {
                    name: thread.name.clone(),
                    state: thread.state,
                    panicked: thread.panicked,
                    paused_at: thread.paused_at.clone(),
                })
                .collect(),
        }
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        // SAFETY: the engine was made by `new`; nothing runs on it any more.
        let mut engine = unsafe { Box::from_raw(self.engine) };
        engine.pages = None;
        unmanaged_threads::release();
        self.handlers = None;
        set_flag(self.config, true);
        GLOBAL.wants_announcements.set(false);
        GLOBAL.wants_registers.set(false);
        GLOBAL.wants_allocations.set(false);
        execution::set_engine(std::ptr::null_mut());
        drop(engine);
        GLOBAL.in_engine.set(false);
        ROLE.set(NO_ROLE);
        // A panic of the engine itself ends the test; the hook may not be changed while it is under way.
        if !std::thread::panicking() {
            let hook = Arc::clone(&self.hook);
            std::panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

fn set_flag(config: &Config, value: bool) {
    if let Some(flag) = config.signal_stack_flag {
        // SAFETY: the caller of `Search::new` says that an atomic flag lives there.
        unsafe { (*(flag as *const AtomicBool)).store(value, SeqCst) };
    }
}

/// Panics of virtual threads are recorded, all others are none of ours.
fn on_panic(info: &std::panic::PanicHookInfo<'_>, before: &PanicHook) {
    match engine_of_virtual_thread() {
        // SAFETY: the engine runs and this is a virtual thread.
        Some(engine) => unsafe {
            interface::panicked(engine, || {
                let text = info.payload_as_str().unwrap_or("a payload that is no string");
                match info.location() {
                    Some(at) => format!("{text}\n  at {}:{}", at.file(), at.line()),
                    None => text.to_owned(),
                }
            });
        },
        None => before(info),
    }
}
