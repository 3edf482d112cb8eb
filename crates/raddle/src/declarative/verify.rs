//! The verdict on the log of an execution.
//!
//! A log is verified while the execution's memory is whole, and memory that is allocated is the engine's: states, results and verdicts
//! serve the executions that follow.

use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_check::{Contract, Verifier};
use raddle_report::failure::Kind;
use rustc_hash::FxHashMap;

use super::encode::{Encoded, Encoding, Order, PlanCalls, Steps, WaitingCall};
use super::history::{Log, Note};
use super::model::ObjectModel;
use super::reasons::reasons;
use super::scenario::Plan;
use super::spec::Specification;
use super::subject::Subject;
use super::value::Answer;

/// The verifier of one test's executions.
pub(crate) struct Verification<'d> {
    subject: &'d Subject,
    spec: &'d dyn Specification,
    contract: Contract,
    learnt: Option<Learnt<'d>>,
    /// The number of the current plan.
    plan: u64,
    /// Verdicts that were known, and verdicts that were not.
    pub(crate) remembered: u64,
    pub(crate) verified: u64,
}

/// Everything that earlier executions have shown.
struct Learnt<'d> {
    model: ObjectModel<'d>,
    verifier: Verifier<ObjectModel<'d>>,
    /// The verdicts on histories of the plan, by their keys.
    known: FxHashMap<Box<[u32]>, Verdict>,
    key: Vec<u32>,
    plan: u64,
    calls: PlanCalls,
    /// The steps of the latest execution: their memory is used again.
    steps: Steps,
}

/// The verdict on a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    /// No order explains the results.
    Incorrect,
    /// This call panicked where the specification does not, and nothing else is wrong.
    Panicked(usize),
    /// This call stays suspended though it could go on, and nothing else is wrong.
    LostWakeUp(usize),
}

impl Verdict {
    /// The kind of failure, and the message.
    ///
    /// # Panics
    /// If nothing is wrong.
    pub(crate) fn in_words(self, subject: &Subject, plan: &Plan, log: &Log) -> (Kind, String) {
        let text = |call: usize| {
            plan.calls().nth(call).map_or_else(String::new, |invocation| invocation.text(subject))
        };
        match self {
            Verdict::Right => unreachable!("only what is wrong is encoded"),
            Verdict::Incorrect => {
                (Kind::IncorrectResults, "no order of the operations explains their results".to_owned())
            }
            Verdict::Panicked(call) => {
                let said = log.results(plan.len())[call].clone().unwrap_or_default();
                let said = said.trim_start_matches("panic: ");
                (Kind::Panic, format!("`{}` panicked: {said}", text(call)))
            }
            Verdict::LostWakeUp(call) => {
                (Kind::LostWakeUp, format!("`{}` stays suspended, although it could go on", text(call)))
            }
        }
    }
}

/// The size of the model above which it is made anew for the next plan, so that memory does not grow with the number of scenarios.
const MOST_LEARNT: usize = 1 << 16;

/// The number of verdicts that are remembered for one plan.
const MOST_KNOWN: usize = 1 << 14;

impl<'d> Verification<'d> {
    pub(crate) fn new(
        subject: &'d Subject,
        spec: &'d dyn Specification,
        contract: Contract,
    ) -> Verification<'d> {
        Verification { subject, spec, contract, learnt: None, plan: 0, remembered: 0, verified: 0 }
    }

    /// The reason why the contract cannot be verified, if there is one.
    pub(crate) fn refusal(&self) -> Option<String> {
        let model = ObjectModel::new(self.subject, self.spec);
        let payload = catch_unwind(AssertUnwindSafe(|| Verifier::new(model, self.contract))).err()?;
        Some(Answer::of(Err(payload)).text().trim_start_matches("panic: ").to_owned())
    }

    /// Takes note that executions of another plan follow.
    pub(crate) fn begin_plan(&mut self) {
        self.plan += 1;
    }

    /// Whether the contract can be verified without real time.
    pub(crate) fn knows_program_order(&self) -> bool {
        !matches!(self.contract, Contract::Durable(_))
    }

    /// The verdict on the log of an execution of the plan.
    pub(crate) fn verify(&mut self, plan: &Plan, log: &Log, order: Order) -> Verdict {
        let (subject, contract) = (self.subject, self.contract);
        let learnt = self.learn(plan);
        let mut steps = std::mem::take(&mut learnt.steps);
        steps.read(learnt.encoding(subject, plan), log);
        steps.write_key(&mut learnt.key, log, order);
        if let Some(&verdict) = learnt.known.get(learnt.key.as_slice()) {
            learnt.steps = steps;
            learnt.model.forget_values();
            self.remembered += 1;
            return verdict;
        }
        let verdict = learnt.decide(subject, contract, plan, log, &steps, order);
        learnt.steps = steps;
        learnt.model.forget_values();
        if learnt.known.len() < MOST_KNOWN {
            let key = learnt.key.as_slice().into();
            learnt.known.insert(key, verdict);
        }
        self.verified += 1;
        verdict
    }

    /// The reasons why the log is wrong, line by line.
    pub(crate) fn explain(&mut self, plan: &Plan, log: &Log, order: Order) -> Vec<String> {
        let (subject, contract) = (self.subject, self.contract);
        let learnt = self.learn(plan);
        let mut steps = Steps::default();
        let encoding = learnt.encoding(subject, plan);
        steps.read(encoding, log);
        let reasons = reasons(contract, encoding, log, &steps, order);
        learnt.model.forget_values();
        reasons
    }

    fn learn(&mut self, plan: &Plan) -> &mut Learnt<'d> {
        let stale = |learnt: &Learnt<'_>| {
            learnt.plan != self.plan && (learnt.model.size() > MOST_LEARNT || !learnt.model.states_merge())
        };
        if self.learnt.as_ref().is_some_and(stale) {
            self.learnt = None;
        }
        let (subject, spec, contract, number) = (self.subject, self.spec, self.contract, self.plan);
        let learnt = self.learnt.get_or_insert_with(|| {
            let model = ObjectModel::new(subject, spec);
            Learnt {
                verifier: Verifier::new(model.clone(), contract),
                model,
                known: FxHashMap::default(),
                key: Vec::new(),
                plan: 0,
                calls: PlanCalls::default(),
                steps: Steps::default(),
            }
        });
        if learnt.plan != number {
            learnt.plan = number;
            learnt.known.clear();
            learnt.calls = PlanCalls::of(plan, subject, &learnt.model);
        }
        learnt
    }
}

impl Learnt<'_> {
    fn encoding<'a>(&'a self, subject: &'a Subject, plan: &'a Plan) -> Encoding<'a> {
        Encoding { subject, plan, model: &self.model, calls: &self.calls }
    }

    /// The verdict on a history that is not known yet.
    fn decide(
        &mut self,
        subject: &Subject,
        contract: Contract,
        plan: &Plan,
        log: &Log,
        steps: &Steps,
        order: Order,
    ) -> Verdict {
        let panicked = |call: usize| {
            log.notes.iter().any(|note| matches!(note, Note::Ended(c, Answer::Panicked(_)) if *c == call))
        };
        let first_panic = (0..plan.len()).find(|&call| panicked(call));
        if contract == Contract::Anything {
            // Anything but a panic.
            return first_panic.map_or(Verdict::Right, Verdict::Panicked);
        }
        let mut is_right = |encoded: &Encoded| {
            let verdict = match order {
                Order::RealTime => self.verifier.verify(&encoded.history),
                Order::Program | Order::HappensBefore => {
                    self.verifier.verify_partial_order(&encoded.history, steps.before(encoded, log, order))
                }
            };
            // The verifier has no limits, so it always has an answer.
            verdict != Ok(false)
        };
        let of = Encoding { subject, plan, model: &self.model, calls: &self.calls };
        if is_right(&steps.history_at_rest(of, false, &steps.waiting)) {
            return Verdict::Right;
        }
        // Halves explain more histories, and take longer.
        let halves = of.calls.has_futures;
        if halves && is_right(&steps.history_at_rest(of, true, &steps.waiting)) {
            return Verdict::Right;
        }
        if let Some(first) = steps.waiting.first()
            && is_right(&steps.history(of, halves, |_| false))
        {
            // Not every call that waits could go on. If each may wait in some order, but not all in the same one, any is to blame.
            let mut could_go_on = |call: &&WaitingCall| {
                !is_right(&steps.history_at_rest(of, halves, std::slice::from_ref(*call)))
            };
            let &(_, ticket, _) = steps.waiting.iter().find(&mut could_go_on).unwrap_or(first);
            return Verdict::LostWakeUp(ticket as usize);
        }
        if let Some(first) = first_panic
            && is_right(&steps.history(of, halves, panicked))
        {
            return Verdict::Panicked(first);
        }
        Verdict::Incorrect
    }
}
