//! Many executions: budgets, worker processes, the first failure and its replay.
//!
//! | module | what it is |
//! |---|---|
//! | [`config`](Config), [`report`](SearchReport) | what to search, and the result |
//! | `takeover` | taking the process over, and giving it back |
//! | `run` | the loop of a search |
//! | `replay` | executions made again by their schedules |
//! | [`continuations`](Continuations) | executions that begin as a failing one does |
//! | [`estimate`](Effort) | how large an exhaustive search is |
//! | `outcomes`, `workers` | executions by outcome; processes that share a search |
//! | [`turn`] | one exploration at a time |

mod config;
mod continuations;
pub(crate) mod estimate;
pub(crate) mod outcomes;
mod replay;
mod report;
mod run;
mod takeover;
pub mod turn;
pub(crate) mod workers;

pub use self::config::{Config, Progress};
pub use self::continuations::{ContinuationLimits, Continuations, Continued};
pub use self::estimate::Effort;
pub use self::report::{Found, SearchReport, ThreadReport};

use std::sync::Arc;
use std::time::Instant;

use self::outcomes::OutcomeCounts;
use self::takeover::PanicHook;
use crate::coverage;
use crate::execution::{Debugger, Engine, Judge, Suppress};
use crate::interface::signals::Handlers;
use crate::left_out::LeftOut;
use crate::model_checker::ModelChecker;
use crate::outcome::Outcome;
use crate::platform::debugger::Shared;

/// An exploration. While it lives, the calling OS thread runs virtual threads, and memory that it allocates belongs to
/// the engine. Explorations of one process take turns.
#[allow(missing_debug_implementations, reason = "holds the whole machine")]
pub struct Search<'a> {
    engine: *mut Engine,
    config: &'a Config,
    /// Executions by outcome class.
    outcome_counts: OutcomeCounts,
    handlers: Option<Handlers>,
    hook: Arc<PanicHook>,
    _turn: turn::Guard,
}

impl Search<'_> {
    /// Sets the filter of suppressed data races.
    pub fn suppress(&mut self, suppress: impl FnOnce() -> Suppress) {
        let suppress = suppress();
        // SAFETY: the engine lives as long as `self`.
        unsafe { (*self.engine).exploration.suppress = Some(suppress) };
    }

    /// Lets a debugger stop at events of recorded executions, and repeat them. Time is limited only if that is wanted.
    pub fn debug(&mut self, shared: Shared, limit_time: bool) {
        if let Some(handlers) = self.handlers.as_mut().filter(|_| !limit_time) {
            handlers.stop_watchdog();
        }
        // SAFETY: the engine lives as long as `self`.
        unsafe { (*self.engine).exploration.debugger = Some(Debugger::new(shared)) };
    }

    /// The state of an exhaustive search that has ended early, for a later process to continue. All addresses must be
    /// the same in that process.
    pub fn save(&self) -> Option<Vec<u64>> {
        // SAFETY: the engine lives as long as `self`.
        unsafe {
            let mut saved = (*self.engine).exploration.checker.as_ref()?.save();
            saved.push((*self.engine).exploration.left_out.bits().into());
            Some(saved)
        }
    }

    /// Restores a search that an earlier process saved. False if its format or configuration differs.
    pub fn restore(&mut self, saved: &[u64]) -> bool {
        let Some((&left_out, saved)) = saved.split_last() else { return false };
        // SAFETY: as above.
        unsafe {
            (*self.engine).exploration.left_out.join(LeftOut::from_bits(left_out as u32));
            (*self.engine).exploration.checker.as_mut().is_some_and(|graphs| graphs.restore(saved).is_some())
        }
    }

    /// Makes executions of `body` until one fails, the strategy has no more or the budget is spent. The judge decides
    /// the outcome of each; with several processes, it is called in each of them.
    pub fn run(&mut self, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> SearchReport {
        let begin = Instant::now();
        self.outcome_counts = OutcomeCounts::new(self.config.workers > 1);
        let mut report = self.run_to_end(begin, body, judge);
        report.failure = report.failure.map(|found| self.as_interleaving(found, 0, body, judge));
        report.outcome_counts = self.outcome_counts.counts().to_vec();
        report.elapsed = begin.elapsed();
        report
    }

    fn execute(&mut self, body: &mut dyn FnMut(), judge: &mut Judge<'_>) -> Outcome {
        let body: *mut (dyn FnMut() + '_) = body;
        // SAFETY: the engine in `GLOBAL` is this one. The body outlives the execution, at whose end every coroutine that
        // could call it is gone.
        unsafe {
            let body = std::mem::transmute::<*mut (dyn FnMut() + '_), *mut (dyn FnMut() + 'static)>(body);
            let outcome = Engine::execute(self.engine, body, judge);
            coverage::count_threads((*self.engine).execution.alive);
            outcome
        }
    }

    /// The model checker, if the search is exhaustive.
    #[allow(clippy::mut_from_ref, reason = "the engine is not part of the search, which only points to it")]
    fn checker(&self) -> Option<&mut ModelChecker> {
        // SAFETY: the engine lives as long as `self`; references end with each statement.
        unsafe { (*self.engine).exploration.checker.as_deref_mut() }
    }
}
