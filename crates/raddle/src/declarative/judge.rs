//! The verdict on one execution of a plan on the engine: its log is verified while its memory is whole.

use std::cell::{Cell, RefCell};

use raddle_engine::happens_before::Model;
use raddle_engine::{Config, Discarded, EndedExecution, Outcome};
use raddle_report::Kind;
use raddle_stress::quietly;

use super::definition::Demands;
use super::encode::Order;
use super::history::{Log, Progress};
use super::scenario::Plan;
use super::subject::Subject;
use super::verify::{Verdict, Verification};
use crate::explain;

/// A failure that the engine does not see: the engine's outcome is [`Outcome::Rejected`].
#[derive(Clone, Debug)]
pub(crate) struct Complaint {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

/// Observations of an execution that need its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// The result of each call.
    pub(crate) results: Vec<Option<String>>,
    /// The reasons why no order explains the results.
    pub(crate) reasons: Vec<String>,
}

/// The judge of the executions of one plan.
pub(crate) struct PlanJudge<'a, 'd> {
    pub(crate) subject: &'d Subject,
    pub(crate) plan: &'a Plan,
    pub(crate) demands: Demands,
    pub(crate) verification: &'a RefCell<Verification<'d>>,
    order: Order,
    exhaustive: bool,
    /// The log of the current execution, in that execution's memory.
    pub(crate) log: Cell<*mut Log>,
    /// The failure of the execution judged last, if the engine does not see it.
    pub(crate) complaint: RefCell<Option<Complaint>>,
}

impl<'a, 'd> PlanJudge<'a, 'd> {
    pub(crate) fn new(
        subject: &'d Subject,
        plan: &'a Plan,
        demands: Demands,
        verification: &'a RefCell<Verification<'d>>,
        config: &Config,
    ) -> PlanJudge<'a, 'd> {
        verification.borrow_mut().begin_plan();
        PlanJudge {
            subject,
            plan,
            demands,
            verification,
            order: match config.memory {
                Model::Sc => Order::RealTime,
                // Cores that share a weak memory have no common time.
                Model::Rc11 => Order::HappensBefore,
            },
            exhaustive: config.exhaustive,
            log: Cell::new(std::ptr::null_mut()),
            complaint: RefCell::new(None),
        }
    }

    /// The outcome of an execution, with the failures that the engine does not see.
    pub(crate) fn judge(&self, ended: &EndedExecution<'_>) -> Outcome {
        self.complaint.borrow_mut().take();
        let complain = |kind: Kind, message: String| {
            *self.complaint.borrow_mut() = Some(Complaint { kind, message });
            Outcome::Rejected
        };
        // SAFETY: the execution has left its log there, and its memory is whole.
        let Some(log) = (unsafe { self.log.get().as_mut() }) else { return ended.outcome.clone() };
        if let Some((kind, message)) = self.lack_of_progress(ended, log) {
            return complain(kind, message);
        }
        // A thread that spins waits, too.
        let at_rest =
            matches!(ended.outcome, Outcome::Deadlock | Outcome::Livelock) && self.waits_by_design(log);
        if *ended.outcome != Outcome::Passed && !at_rest {
            return ended.outcome.clone();
        }
        if let Some(said) = &log.invalid {
            return complain(Kind::Validation, said.clone());
        }
        if self.exhaustive && self.order == Order::RealTime {
            // The engine made the events of the graph in another order than the one that the graph stands for.
            let Some(moments) = ended.moments() else { return Outcome::Discarded(Discarded::Blocked) };
            log.put_in_order(&moments);
        }
        // The specification may be the object itself.
        ended.roll_back_statics();
        let verdict = quietly(|| self.verification.borrow_mut().verify(self.plan, log, self.order));
        if verdict == Verdict::Right {
            return Outcome::Passed;
        }
        let (kind, message) = verdict.in_words(self.subject, self.plan, log);
        complain(kind, message)
    }

    /// The kind of failure that the execution judged last is, if it had this outcome; none if it is no failure.
    pub(crate) fn kind(&self, outcome: &Outcome) -> Option<Kind> {
        match (outcome, &*self.complaint.borrow()) {
            (Outcome::Rejected, Some(complaint)) => Some(complaint.kind),
            _ => explain::kind(outcome),
        }
    }

    /// Observes the execution that was judged last to have this outcome.
    pub(crate) fn observe(&self, ended: &EndedExecution<'_>, outcome: &Outcome) -> Observed {
        let whole = matches!(ended.outcome, Outcome::Passed | Outcome::Deadlock | Outcome::Livelock);
        // SAFETY: as in `judge`.
        let Some(log) = (unsafe { self.log.get().as_ref() }).filter(|_| whole) else {
            return Observed::default();
        };
        let is_explained = *outcome == Outcome::Rejected && log.invalid.is_none();
        Observed {
            results: log.results(self.plan.len()),
            reasons: if is_explained {
                quietly(|| self.verification.borrow_mut().explain(self.plan, log, self.order))
            } else {
                Vec::new()
            },
        }
    }

    /// Whether every call that has not ended may wait for others.
    fn waits_by_design(&self, log: &Log) -> bool {
        let progress = log.progress(self.plan.len());
        let may_wait = |operation: usize, progress: Progress| match progress {
            Progress::Suspended => true,
            Progress::Within => {
                self.subject.operations[operation].blocking && !self.subject.operations[operation].is_future()
            }
            Progress::NotBegun | Progress::Done => true,
        };
        self.plan.calls().zip(progress).all(|(call, progress)| may_wait(call.operation, progress))
    }

    /// The progress guarantee that the execution breaks, with a message.
    fn lack_of_progress(&self, ended: &EndedExecution<'_>, log: &Log) -> Option<(Kind, String)> {
        if self.demands.obstruction_free
            && let Some(thread) = ended.waited
            && let Some(calls) =
                usize::from(thread).checked_sub(1).and_then(|thread| self.plan.threads.get(thread))
            && !calls.iter().any(|call| self.subject.operations[call.operation].may_suspend())
        {
            return Some((
                Kind::NotObstructionFree,
                format!("T{thread} cannot go on until another thread does"),
            ));
        }
        let bound = self.demands.lock_free?;
        (log.longest_gap > bound).then(|| {
            let message =
                format!("no operation completed within {} events; the bound is {bound}", log.longest_gap);
            (Kind::NotLockFree, message)
        })
    }
}
