//! One search on the engine: its run, whether its answer counts, and the replay of its failure.

use std::rc::Rc;

use raddle_engine::exploration::Found;
use raddle_engine::schedule::Schedule;
use raddle_engine::trace::{Observer, Trace};
use raddle_engine::{Config, Judge, Outcome, Search, SearchReport};
use raddle_reflect::Program;
use raddle_report::Kind;

use super::classifier::{classifier, namer};
use super::record;
use super::reproduce::{Identity, explain_divergence, reproduces};
use super::snapshots::{SnapshotRecorder, Snapshots};
use super::summary::SearchSummary;
use crate::options::{Options, Strategy};

/// The number of events of a failing execution that are recorded: the last ones.
pub(crate) const TRACE_LIMIT: usize = 20_000;

/// The code under test, as a search runs and judges it.
pub(crate) struct Workload<'a> {
    /// Makes one execution.
    pub(crate) run: &'a mut dyn FnMut(),
    /// Decides how an execution ended.
    pub(crate) judge: &'a mut Judge<'a>,
    /// The kind of failure that the execution judged last is, if it ended like this; none if it is no failure.
    pub(crate) kind: &'a dyn Fn(&Outcome) -> Option<Kind>,
}

/// A search on the engine. While it lives, memory that is allocated is the engine's.
pub(crate) struct Attempt<'c> {
    options: &'c Options,
    pub(crate) search: Search<'c>,
}

/// The result of one search. A failure is one of the code under test.
pub(crate) struct Searched<F> {
    pub(crate) summary: SearchSummary,
    pub(crate) report: SearchReport,
    pub(crate) failure: Option<F>,
}

/// A recorded replay.
pub(crate) struct Recorded {
    pub(crate) found: Found,
    pub(crate) trace: Trace,
    pub(crate) snapshots: Snapshots,
    /// Whether the replay shows the failure.
    pub(crate) reproduces: bool,
}

impl<F> Searched<F> {
    pub(crate) fn new(options: &Options, report: SearchReport, given_up: bool, failure: Option<F>) -> Self {
        Searched { summary: SearchSummary::of(options, &report, given_up), report, failure }
    }
}

impl<'c> Attempt<'c> {
    /// A search with these options and this configuration of them.
    pub(crate) fn new(
        options: &'c Options,
        config: &'c Config,
        strategy: impl FnOnce() -> Box<dyn raddle_engine::Strategy>,
    ) -> Attempt<'c> {
        Attempt { options, search: Search::new(config, strategy, classifier(config)) }
    }

    /// Makes executions until one fails, the strategy has no more or the budget is spent.
    pub(crate) fn run(&mut self, work: &mut Workload<'_>) -> SearchReport {
        let report = self.search.run(work.run, work.judge);
        record::search(self.options, &report);
        report
    }

    /// Whether a replay shows the failure.
    pub(crate) fn is_reproducible(&mut self, kind: Kind, found: &Found, work: &mut Workload<'_>) -> bool {
        let again = self.search.rerun(&found.schedule, work.run, work.judge);
        is_replay(kind, found, &again, work)
    }

    /// Replays an execution and records it. The execution is a failure of this kind, or none of the code under test.
    pub(crate) fn record(&mut self, kind: Option<Kind>, found: &Found, work: &mut Workload<'_>) -> Recorded {
        let trace = Trace::new(TRACE_LIMIT, found.steps).watching(&found.outcome);
        // Recording takes time.
        let limit_time = kind == Some(Kind::TimeLimit);
        let (again, trace, snapshots) =
            record(&mut self.search, &found.schedule, work.run, work.judge, trace, limit_time);
        let reproduces = kind.is_some_and(|kind| is_replay(kind, found, &again, work));
        Recorded { found: again, trace, snapshots, reproduces }
    }

    /// Ends the test because a replay does not show the failure.
    ///
    /// # Panics
    /// Always. The message compares the replay with another one.
    pub(crate) fn diverge(
        mut self,
        kind: Option<Kind>,
        found: &Found,
        replay: &Recorded,
        work: &mut Workload<'_>,
    ) -> ! {
        let another = self.record(kind, found, work);
        drop(self);
        let replays = [(&replay.found, &replay.trace), (&another.found, &another.trace)];
        panic!("{}", explain_divergence(found, replays));
    }
}

/// Replays a schedule and records the execution, with names of locations and snapshots of objects.
pub(crate) fn record(
    search: &mut Search<'_>,
    schedule: &Schedule,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    trace: Trace,
    limit_time: bool,
) -> (Found, Trace, Snapshots) {
    let program = Program::current().ok().map(Rc::new);
    let snapshots = SnapshotRecorder::new(program.clone());
    let witnesses = (namer(program), Box::new(snapshots.clone()) as Box<dyn Observer>);
    let (found, mut trace) = search.replay(schedule, run, judge, trace, witnesses, limit_time);
    let snapshots = snapshots.finish(&mut trace);
    (found, trace, snapshots)
}

/// Whether the execution judged last shows a failure again.
fn is_replay(kind: Kind, found: &Found, again: &Found, work: &Workload<'_>) -> bool {
    (work.kind)(&again.outcome)
        .is_some_and(|now| reproduces(&Identity::of_found(kind, found), &Identity::of_found(now, again)))
}

/// Whether a search may end without an answer, because other searches of a portfolio follow.
pub(crate) fn may_give_up(options: &Options) -> bool {
    options.strategy == Strategy::Exhaustive && options.chosen_by_portfolio
}

/// Whether the result of a search says nothing about the program, so that others have to follow.
///
/// # Panics
/// If no others follow, or threads that were declared symmetric are not.
pub(crate) fn gives_up(options: &Options, report: &SearchReport) -> bool {
    use Outcome::{Asymmetric, Deadlock, Diverged, Endless, Livelock, TimeLimit, Unsupported};
    let outcome = report.failure.as_ref().map(|found| &found.outcome);
    assert!(
        !matches!(outcome, Some(Asymmetric { .. })),
        "raddle: threads that `symmetric` made are told apart: they do different things after they have read the same, or something \
         happens after one of them was joined and before another was; make such threads outside of `symmetric`"
    );
    if may_give_up(options) {
        return report.inconclusive
            || matches!(outcome, Some(Unsupported { .. } | Diverged { .. } | Endless | TimeLimit));
    }
    assert!(
        !matches!(outcome, Some(Unsupported { .. })),
        "raddle: the code under test does something that strategy `exhaustive` cannot follow: it accesses the same memory with \
         atomics of different sizes or of 128 bits, or uses `membarrier`; use another strategy"
    );
    assert!(
        !(report.inconclusive && matches!(outcome, Some(Deadlock | Livelock))),
        "raddle: threads wait for ever, but code that is not instrumented wrote to memory that they wait for, so that strategy \
         `exhaustive` cannot tell whether that is so; use another strategy"
    );
    false
}
