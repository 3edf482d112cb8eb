//! Executions that begin as a failing one does, and executions along graphs as interleavings.

use std::mem;
use std::time::Instant;

use super::{Found, Search};
use crate::execution::Judge;
use crate::model_checker::{Model, ModelChecker};
use crate::op::ThreadId;
use crate::outcome::{Discarded, Outcome};
use crate::schedule::{ALL_POINTS, Schedule};
use crate::strategy::{Continuing, Enumerating, Strategy};
use crate::thread::ThreadStatus;

/// A failing execution, and what is needed to make those that begin as it does.
#[derive(Debug)]
pub struct Continuations {
    schedule: Schedule,
    /// If the execution follows a graph: its thread that fails, and the checker of the others.
    graphs: Option<(Option<ThreadId>, Box<ModelChecker>)>,
}

/// Executions that begin alike.
#[derive(Debug)]
pub struct Continued {
    /// One of them that passes.
    pub passes: Option<Found>,
    /// The number of executions that were made.
    pub executions: u64,
    /// Whether these are all, or one passes.
    pub all: bool,
}

/// The limits of a search for an execution that passes.
#[derive(Clone, Copy, Debug)]
pub struct ContinuationLimits {
    /// The largest number of executions that are enumerated.
    pub executions: u64,
    /// The number of executions that go on at random where these are not all, if the search is not exhaustive.
    pub samples: u64,
    /// The end of the search.
    pub deadline: Instant,
}

impl Continuations {
    /// The number of choices of the failing execution, or of its events if it follows a graph.
    pub fn len(&self) -> usize {
        let threads = self.schedule.threads.iter().filter(|&&thread| thread != ALL_POINTS).count();
        if self.graphs.is_some() { threads } else { threads + self.schedule.mo_offsets.len() }
    }

    /// Whether the failing execution has no choice.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Search<'_> {
    /// The continuations of a failing execution.
    pub fn continuations(&mut self, failing: &Found) -> Continuations {
        let thread = match failing.outcome {
            Outcome::Panic { thread }
            | Outcome::Crash { thread, .. }
            | Outcome::StackOverflow { thread }
            | Outcome::Exit { thread, .. } => Some(thread),
            _ => None,
        };
        let memory = self.config.memory;
        let graphs = self.checker().map(|_| (thread, Box::new(ModelChecker::new(memory))));
        Continuations { schedule: failing.schedule.clone(), graphs }
    }

    /// Makes executions that begin with the first choices of a failing one, until one passes or the limits are reached. Where choices
    /// are made by a strategy, the executions make another choice than the failing one next; with those of all longer beginnings, they
    /// are all.
    pub fn continue_after(
        &mut self,
        continuations: &mut Continuations,
        choices: usize,
        limits: ContinuationLimits,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Continued {
        let Continuations { schedule, graphs } = continuations;
        // SAFETY: the engine lives as long as `self`.
        let random = unsafe { (*self.engine).follow(schedule) };
        // SAFETY: as above. Beyond the beginning, the limits are those of a search.
        unsafe { (*self.engine).exploration.scripted_limit = None };
        let continued = match graphs {
            Some((thread, checker)) => {
                checker.begin_continuations(schedule, choices, *thread);
                self.swap_checker(checker);
                let mut continued = self.continue_along_graphs(limits, body, judge);
                self.swap_checker(checker);
                // Under sequential consistency, what comes after the beginning is known only if that is an interleaving.
                let is_interleaving =
                    schedule.counts.is_empty() && schedule.mo_offsets.iter().all(|&offset| offset == 0);
                continued.all &= is_interleaving || self.config.memory == Model::Rc11;
                continued
            }
            None => self.continue_by_strategies(schedule, choices, limits, body, judge),
        };
        // SAFETY: as above.
        unsafe { (*self.engine).follow_no_more(random) };
        continued
    }

    fn swap_checker(&mut self, checker: &mut Box<ModelChecker>) {
        // SAFETY: the engine lives as long as `self`.
        if let Some(own) = unsafe { &mut (*self.engine).exploration.checker } {
            mem::swap(own, checker);
        }
    }

    /// Enumerates executions, and makes some at random if there are too many.
    fn continue_by_strategies(
        &mut self,
        schedule: &Schedule,
        choices: usize,
        limits: ContinuationLimits,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Continued {
        let enumerating = Box::new(Enumerating::new(schedule.clone(), choices));
        let mut continued = self.continue_by(enumerating, limits, body, judge);
        if continued.all || continued.passes.is_some() {
            return continued;
        }
        let continuing = Box::new(Continuing::new(schedule.clone(), choices, self.config.seed));
        let samples = ContinuationLimits { executions: limits.samples, ..limits };
        let sampled = self.continue_by(continuing, samples, body, judge);
        continued.executions += sampled.executions;
        continued.passes = sampled.passes;
        continued
    }

    /// Makes the executions of a strategy.
    fn continue_by(
        &mut self,
        strategy: Box<dyn Strategy>,
        limits: ContinuationLimits,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Continued {
        let mut continued = Continued { passes: None, executions: 0, all: false };
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            let own = mem::replace(&mut (*self.engine).exploration.strategy, strategy);
            while continued.executions < limits.executions && Instant::now() < limits.deadline {
                let number = continued.executions;
                if !(*self.engine).exploration.strategy.begin(number) {
                    continued.all = (*self.engine).exploration.left_out.is_empty();
                    break;
                }
                let mut outcome = self.execute(body, judge);
                while outcome == Outcome::Discarded(Discarded::Repeat) || (*self.engine).must_be_repeated() {
                    (*self.engine).exploration.strategy.begin(number);
                    outcome = self.execute(body, judge);
                }
                continued.executions += 1;
                if outcome == Outcome::Passed {
                    continued.passes = Some(self.found(outcome, number));
                    break;
                }
            }
            (*self.engine).exploration.strategy = own;
        }
        continued
    }

    /// Makes the executions of the checker, which searches continuations.
    fn continue_along_graphs(
        &mut self,
        limits: ContinuationLimits,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Continued {
        let mut continued = Continued { passes: None, executions: 0, all: true };
        loop {
            let Some(checker) = self.checker() else { return continued };
            if !checker.begin() {
                if checker.take_paused() {
                    continue;
                }
                let is_exact = !checker.has_unproven_spins() && !checker.saw_uninstrumented_writes();
                // SAFETY: the engine lives as long as `self`.
                continued.all &= is_exact && unsafe { (*self.engine).exploration.left_out.is_empty() };
                return continued;
            }
            if continued.executions == limits.executions || Instant::now() > limits.deadline {
                continued.all = false;
                return continued;
            }
            continued.executions += 1;
            let outcome = self.execute(body, judge);
            // SAFETY: as above.
            let must_be_repeated = unsafe { (*self.engine).must_be_repeated() };
            match outcome {
                Outcome::Passed => {
                    let mut found = self.found(outcome, 0);
                    if must_be_repeated {
                        found = self.rerun(&found.schedule, body, judge);
                    }
                    if found.outcome == Outcome::Passed {
                        continued.passes = Some(found);
                        return continued;
                    }
                    continued.all = false;
                }
                Outcome::Discarded(Discarded::Repeat) => {}
                Outcome::Discarded(Discarded::Blocked | Discarded::BoundExceeded) => {
                    continued.all &= self.checker().is_some_and(|checker| checker.has_made_fixed_events());
                }
                // A finer abstraction has other events, and a schedule that does not fit has none to continue.
                Outcome::Discarded(Discarded::Restart)
                | Outcome::Diverged { .. }
                | Outcome::Unsupported { .. }
                | Outcome::Asymmetric { .. } => {
                    continued.all = false;
                    return continued;
                }
                _ => continued.all &= !self.hides_others(),
            }
        }
    }

    /// Whether threads could have gone on in the latest execution, which failed: what they would have done is not explored.
    fn hides_others(&self) -> bool {
        // SAFETY: the engine lives as long as `self`.
        let engine = unsafe { &*self.engine };
        let current = engine.execution.current;
        let mut others =
            engine.threads[..engine.execution.alive].iter().filter(|thread| thread.id != current);
        others.any(|thread| {
            thread.status == ThreadStatus::Runnable
                && self.checker().is_some_and(|checker| checker.can_go_on(thread.id))
        })
    }

    /// An execution of an exhaustive search as an interleaving, in which every read sees the newest write, if there is one that ends in the
    /// same way. In an interleaving, things happen step by step: for the reader, for snapshots and for the debugger. The first
    /// events stay where they are, as many as `fixed` says.
    pub fn as_interleaving(
        &mut self,
        found: Found,
        fixed: usize,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
    ) -> Found {
        use Outcome::{Crash, Deadlock, Exit, Fault, Panic, Passed, Rejected, ThreadLeak};
        // Others are not exact, or not about the program.
        let is_exact = matches!(
            found.outcome,
            Passed | Panic { .. } | Deadlock | ThreadLeak | Crash { .. } | Fault(_) | Exit { .. } | Rejected
        );
        // Where executions are kept apart by processes, this one makes as few as possible.
        if self.checker().is_none() || self.config.fork || !is_exact {
            return found;
        }
        let mut interleaving = None;
        self.rerun_and(&found.schedule, body, judge, &mut |graphs| {
            interleaving = graphs.and_then(|graphs| graphs.interleaving(fixed));
        });
        let Some(interleaving) = interleaving else { return found };
        let schedule = Schedule {
            threads: interleaving.threads,
            mo_offsets: interleaving.mo_offsets,
            ..found.schedule.clone()
        };
        if schedule == found.schedule {
            return found;
        }
        let again = Found { execution: found.execution, ..self.rerun(&schedule, body, judge) };
        let same_end = mem::discriminant(&again.outcome) == mem::discriminant(&found.outcome);
        let same_execution = again.steps == found.steps && again.schedule == schedule;
        if same_end && same_execution {
            return again;
        }
        // The execution that the judge has seen last is to be the one that is returned.
        self.rerun(&found.schedule, body, judge);
        found
    }
}
