//! Whether what an execution did is right, and if not, why.
//!
//! Everything here runs while the execution's memory is whole, and in the engine's memory: what it learns serves the
//! executions that follow.

use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_check::verdict::{Verdict as Checked, Violation};
use raddle_check::{Checker, Contract, History, Model, Operation, Outcome, Verifier};

use raddle_report::failure::Kind;
use rustc_hash::FxHashMap;

use super::history::{Log, Note, Progress, Step};
use super::model::{CallId, Input, ObjectModel, Output, Position};
use super::scenario::Plan;
use super::spec::Specification;
use super::subject::Subject;
use super::value::Answer;

/// What is known about the correctness of one test's executions.
pub(crate) struct Verification<'d> {
    subject: &'d Subject,
    spec: &'d dyn Specification,
    contract: Contract,
    learnt: Option<Learnt<'d>>,
    plan: u64,
    /// Histories that were verified before.
    pub(crate) remembered: u64,
    pub(crate) verified: u64,
}

struct Learnt<'d> {
    model: ObjectModel<'d>,
    verifier: Verifier<ObjectModel<'d>>,
    /// Verdicts on histories of the plan.
    known: FxHashMap<Box<[u32]>, Verdict>,
    key: Vec<u32>,
    plan: u64,
    calls: Vec<CallId>,
    /// The operation of each call.
    operations: Vec<usize>,
    /// Some call may wait by design.
    waits: bool,
    /// What the last log said, kept for its memory.
    seen: Seen,
}

/// What a history says about the order of calls of different threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// One that ended before another began comes before it.
    RealTime,
    /// Nothing; only calls of one thread, and the parts of the plan, are ordered.
    Program,
    /// One whose end happened before the beginning of another comes before it, as far as the log knows; otherwise
    /// [`Program`](Order::Program).
    HappensBefore,
}

/// Whether a history is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    /// No order explains the results.
    Incorrect,
    /// An operation panicked where the specification does not, and that is all that is wrong.
    Panicked(usize),
    /// This call stays suspended though it could go on, and that is all that is wrong.
    LostWakeUp(usize),
}

impl Verdict {
    /// What kind of failure it is, and a sentence about it.
    ///
    /// # Panics
    /// If nothing is wrong.
    pub(crate) fn in_words(self, subject: &Subject, plan: &Plan, log: &Log) -> (Kind, String) {
        let text = |call: usize| {
            plan.calls().nth(call).map_or_else(String::new, |invocation| invocation.text(subject))
        };
        match self {
            Verdict::Right => unreachable!("only what is wrong is told"),
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

/// More than this is forgotten, so that memory does not grow with the number of scenarios.
const MOST_LEARNT: usize = 1 << 16;

/// Verdicts kept for one plan.
const MOST_KNOWN: usize = 1 << 14;

impl<'d> Verification<'d> {
    pub(crate) fn new(
        subject: &'d Subject,
        spec: &'d dyn Specification,
        contract: Contract,
    ) -> Verification<'d> {
        Verification { subject, spec, contract, learnt: None, plan: 0, remembered: 0, verified: 0 }
    }

    /// Why the contract cannot be verified, if it cannot.
    pub(crate) fn refusal(&self) -> Option<String> {
        let model = ObjectModel::new(self.subject, self.spec);
        let payload = catch_unwind(AssertUnwindSafe(|| Verifier::new(model, self.contract))).err()?;
        Some(Answer::of(Err(payload)).text().trim_start_matches("panic: ").to_owned())
    }

    /// Another plan is about to be executed.
    pub(crate) fn begin_plan(&mut self) {
        self.plan += 1;
    }

    /// Whether histories can be held to the order within threads only.
    pub(crate) fn knows_program_order(&self) -> bool {
        !matches!(self.contract, Contract::Durable(_))
    }

    /// Whether the log of an execution of the plan is right.
    pub(crate) fn verify(&mut self, plan: &Plan, log: &Log, order: Order) -> Verdict {
        let (subject, contract) = (self.subject, self.contract);
        let learnt = self.learn(plan);
        let mut seen = std::mem::take(&mut learnt.seen);
        seen.read(subject, learnt, plan, log);
        seen.write_key(&mut learnt.key, log, order);
        if let Some(&verdict) = learnt.known.get(learnt.key.as_slice()) {
            learnt.seen = seen;
            learnt.model.forget_values();
            self.remembered += 1;
            return verdict;
        }
        let verdict = decide(contract, learnt, plan, log, &seen, order);
        learnt.seen = seen;
        learnt.model.forget_values();
        if learnt.known.len() < MOST_KNOWN {
            let key = learnt.key.as_slice().into();
            learnt.known.insert(key, verdict);
        }
        self.verified += 1;
        verdict
    }

    /// Why the log is wrong, line by line.
    pub(crate) fn explain(&mut self, plan: &Plan, log: &Log, order: Order) -> Vec<String> {
        let (subject, contract) = (self.subject, self.contract);
        let learnt = self.learn(plan);
        let mut seen = Seen::default();
        seen.read(subject, learnt, plan, log);
        let reasons = reasons(contract, learnt, plan, log, &seen, order);
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
                calls: Vec::new(),
                operations: Vec::new(),
                waits: false,
                seen: Seen::default(),
            }
        });
        if learnt.plan != number {
            learnt.plan = number;
            learnt.known.clear();
            learnt.calls = plan.calls().map(|invocation| learnt.model.call(invocation)).collect();
            learnt.operations = plan.calls().map(|invocation| invocation.operation).collect();
            learnt.waits =
                learnt.operations.iter().any(|&operation| subject.operations[operation].may_suspend());
        }
        learnt
    }
}

/// The steps of a log, each with the call it belongs to.
#[derive(Default)]
struct Seen {
    steps: Vec<SeenStep>,
    /// The step that each call is in.
    open: Vec<Option<usize>>,
    /// Calls that wait when nothing can happen any more.
    waiting: Vec<WaitingCall>,
}

/// A call that waits when nothing can happen any more, and whether it has suspended after its request.
type WaitingCall = (CallId, u32, bool);

struct SeenStep {
    call: usize,
    step: Step,
    begun: u32,
    ended: Option<(u32, Output)>,
    /// The notes of its beginning and its end.
    notes: (usize, Option<usize>),
}

impl SeenStep {
    /// Whether this step ended before the other began, if the log knows.
    fn happened_before(&self, other: &SeenStep, log: &Log) -> Option<bool> {
        match self.notes.1 {
            Some(end) => log.happened_before(end, other.notes.0),
            None => Some(false),
        }
    }
}

/// The calls of the plan, as the model knows them.
#[derive(Clone, Copy)]
struct Calls<'a> {
    model: &'a ObjectModel<'a>,
    ids: &'a [CallId],
}

/// A history for the checker, and the step that each of its operations is; none for the end.
struct Told {
    history: History<Input, Output>,
    steps: Vec<Option<usize>>,
}

impl Seen {
    /// Reads a log of the plan.
    fn read(&mut self, subject: &Subject, learnt: &Learnt<'_>, plan: &Plan, log: &Log) {
        let Seen { steps, open, waiting } = self;
        steps.clear();
        open.clear();
        open.resize(learnt.calls.len(), None);
        let mut time = 0;
        let mut last_ended = false;
        for (number, note) in log.notes.iter().enumerate() {
            // Only whether a step ended before another began can matter.
            let ends = matches!(note, Note::Ended(..));
            if last_ended && !ends {
                time += 1;
            }
            last_ended = ends;
            match note {
                Note::Begun(call, step) => {
                    open[*call] = Some(steps.len());
                    let notes = (number, None);
                    steps.push(SeenStep { call: *call, step: *step, begun: time, ended: None, notes });
                }
                Note::Ended(call, answer) => {
                    let output = learnt.model.result(learnt.operations[*call], answer);
                    if let Some(step) = open[*call].take() {
                        steps[step].ended = Some((time, output));
                        steps[step].notes.1 = Some(number);
                    }
                }
            }
        }
        // In the order of the plan: which of two steps that overlap began first does not matter.
        steps.sort_by_key(|step| step.call);
        waiting.clear();
        if learnt.waits {
            waiting.extend(waiting_calls(subject, learnt, plan, log));
        }
    }

    /// Writes down what tells the history from others.
    fn write_key(&self, key: &mut Vec<u32>, log: &Log, order: Order) {
        key.clear();
        for step in &self.steps {
            let (ended, output) = match step.ended {
                None => (u32::MAX, 0),
                Some((ended, Output::Result(id) | Output::Eventually(id))) => (ended, 4 + id),
                Some((ended, Output::Suspended)) => (ended, 1),
                Some((ended, Output::Cancelled)) => (ended, 2),
                Some((ended, Output::AtRest)) => (ended, 3),
            };
            key.extend([(step.call as u32) << 2 | step.step as u32, output]);
            if order == Order::RealTime {
                key.extend([step.begun, ended]);
            }
        }
        self.add_order(key, log, order);
    }

    /// Adds to the key what tells histories apart whose steps are ordered in this way.
    fn add_order(&self, key: &mut Vec<u32>, log: &Log, order: Order) {
        match order {
            Order::RealTime => {}
            Order::Program => key.push(u32::MAX),
            Order::HappensBefore => {
                key.push(u32::MAX - 1);
                for first in &self.steps {
                    let order = self.steps.chunks(u32::BITS as usize).map(|chunk| {
                        let bits =
                            chunk.iter().map(|second| first.happened_before(second, log) == Some(true));
                        bits.fold(0, |bits, bit| bits << 1 | u32::from(bit))
                    });
                    key.extend(order);
                }
            }
        }
    }

    /// The history for the checker. Calls of which `is_unknown` count as never having returned.
    ///
    /// In `halves`, each step in which a future returned is two, one after the other within its time: another operation may
    /// let a call go on before it has noticed that it would have to wait.
    fn history(
        &self,
        calls: Calls<'_>,
        plan: &Plan,
        halves: bool,
        is_unknown: impl Fn(usize) -> bool,
    ) -> Told {
        let mut history = History::new();
        let mut steps = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            // Calls that wait for ever have done nothing.
            if step.ended.is_none() && self.waiting.iter().any(|&(_, ticket, _)| ticket as usize == step.call)
            {
                continue;
            }
            let (id, ticket) = (calls.ids[step.call], step.call as u32);
            let input = Input::Step { call: id, ticket, step: step.step };
            // Begins and ends alternate within one unit of time: begins first.
            let call = u64::from(step.begun) * 2;
            let process = plan.thread_of(step.call).map_or(0, |thread| thread as u64 + 1);
            let returned = step.ended.filter(|_| !is_unknown(step.call));
            let outcome = match returned {
                Some((ended, output)) => Outcome::Returned { output, at: u64::from(ended) * 2 + 1 },
                None => Outcome::Unknown,
            };
            if let Some((ended, Output::Result(result))) = returned
                && halves
                && calls.model.is_future(id)
            {
                let at = u64::from(ended) * 2 + 1;
                let first = Outcome::Returned { output: Output::Eventually(result), at };
                history.push(Operation { process, call, input, outcome: first });
                steps.push(Some(number));
                let input = Input::Rest { call: id, ticket };
                history.push(Operation { process, call, input, outcome });
                steps.push(Some(number));
                continue;
            }
            history.push(Operation { process, call, input, outcome });
            steps.push(Some(number));
        }
        Told { history, steps }
    }

    /// The history, and after it that these calls, of those which wait, do so rightly.
    fn history_at_rest(&self, calls: Calls<'_>, plan: &Plan, halves: bool, waiting: &[WaitingCall]) -> Told {
        let mut told = self.history(calls, plan, halves, |_| false);
        if !waiting.is_empty() {
            let history = &mut told.history;
            let end = history.operations().iter().filter_map(Operation::returned_at).max().unwrap_or(0) + 1;
            history.push(Operation {
                process: 0,
                call: end,
                input: Input::AtRest(waiting.into()),
                outcome: Outcome::Returned { output: Output::AtRest, at: end + 1 },
            });
            told.steps.push(None);
        }
        told
    }

    /// Which of two operations of the history must come first.
    fn before<'a>(
        &'a self,
        told: &'a Told,
        log: &'a Log,
        order: Order,
    ) -> impl Fn(usize, usize) -> bool + 'a {
        move |i, j| {
            let (Some(first), Some(second)) = (told.steps[i], told.steps[j]) else {
                // The end comes last.
                return told.steps[i].is_some();
            };
            let operations = told.history.operations();
            let (one, other) = (&operations[i], &operations[j]);
            // Those of the init and the post part are ordered by time, as nothing else happens then.
            if one.process == other.process || one.process == 0 || other.process == 0 {
                return one.returned_at().is_some_and(|at| at < other.call);
            }
            let known = self.steps[first].happened_before(&self.steps[second], log);
            order == Order::HappensBefore && known == Some(true)
        }
    }
}

/// The calls that wait when nothing can happen any more.
fn waiting_calls(subject: &Subject, learnt: &Learnt<'_>, plan: &Plan, log: &Log) -> Vec<WaitingCall> {
    let may_wait = |operation: usize| subject.operations[operation].may_suspend();
    let progress = log.progress(plan.len());
    let calls = plan.calls().zip(progress).enumerate();
    calls
        .filter_map(|(call, (invocation, progress))| {
            let requested = match progress {
                Progress::Suspended => true,
                Progress::Within if may_wait(invocation.operation) => false,
                _ => return None,
            };
            Some((learnt.calls[call], call as u32, requested))
        })
        .collect()
}

fn decide(
    contract: Contract,
    learnt: &mut Learnt<'_>,
    plan: &Plan,
    log: &Log,
    seen: &Seen,
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
    let mut is_right = |told: &Told| {
        let verdict = match order {
            Order::RealTime => learnt.verifier.verify(&told.history),
            Order::Program | Order::HappensBefore => {
                learnt.verifier.verify_partial_order(&told.history, seen.before(told, log, order))
            }
        };
        // There are no limits that could be reached.
        verdict != Ok(false)
    };
    let calls = Calls { model: &learnt.model, ids: &learnt.calls };
    if is_right(&seen.history_at_rest(calls, plan, false, &seen.waiting)) {
        return Verdict::Right;
    }
    // Two halves for each step explain more, and take longer.
    let halves = learnt.calls.iter().any(|&call| learnt.model.is_future(call));
    if halves && is_right(&seen.history_at_rest(calls, plan, true, &seen.waiting)) {
        return Verdict::Right;
    }
    if let Some(first) = seen.waiting.first()
        && is_right(&seen.history(calls, plan, halves, |_| false))
    {
        // Not every call that waits could go on. If each may wait in some order, but not all in the same one, any is to blame.
        let mut could_go_on = |call: &&WaitingCall| {
            !is_right(&seen.history_at_rest(calls, plan, halves, std::slice::from_ref(*call)))
        };
        let &(_, ticket, _) = seen.waiting.iter().find(&mut could_go_on).unwrap_or(first);
        return Verdict::LostWakeUp(ticket as usize);
    }
    if let Some(first) = first_panic
        && is_right(&seen.history(calls, plan, halves, panicked))
    {
        return Verdict::Panicked(first);
    }
    Verdict::Incorrect
}

/// Orders of more operations than this are shown without the ones at the beginning.
const MOST_SHOWN: usize = 12;

fn reasons(
    contract: Contract,
    learnt: &mut Learnt<'_>,
    plan: &Plan,
    log: &Log,
    seen: &Seen,
    order: Order,
) -> Vec<String> {
    let calls = Calls { model: &learnt.model, ids: &learnt.calls };
    let told = seen.history_at_rest(calls, plan, false, &seen.waiting);
    let history = &told.history;
    let checker = Checker::new().contract(contract).search_only();
    let report = match order {
        Order::RealTime => checker.check(history, &learnt.model),
        Order::Program | Order::HappensBefore => {
            checker.check_partial_order(history, &learnt.model, seen.before(&told, log, order))
        }
    };
    let Checked::Violation(violation) = report.verdict() else { return Vec::new() };
    lines(&learnt.model, plan, history, violation)
}

fn lines(
    model: &ObjectModel<'_>,
    plan: &Plan,
    history: &History<Input, Output>,
    violation: &Violation,
) -> Vec<String> {
    let operations = history.operations();
    let name = |op: usize| {
        let operation = &operations[op];
        let text = model.describe(&operation.input, operation.output());
        match operation.process {
            0 => text,
            thread if thread as usize <= plan.threads.len() => format!("T{thread} {text}"),
            _ => text,
        }
    };
    let mut lines = Vec::new();
    let Some(attempt) = violation.attempts.first() else { return vec![violation.summary.clone()] };
    let skipped = attempt.order.len().saturating_sub(MOST_SHOWN);
    let mut shown: Vec<String> = attempt.order[skipped..].iter().map(|&op| name(op)).collect();
    if skipped > 0 {
        shown.insert(0, "...".to_owned());
    }
    if shown.is_empty() {
        lines.push("no operation can come first:".to_owned());
    } else {
        lines.push(format!("the order that explains most: {}", shown.join(", ")));
        let state = attempt.states.last().filter(|state| !state.is_empty());
        let after = state.map_or_else(String::new, |state| format!(" (the state is then {state})"));
        lines.push(format!("what can come next does not fit{after}:"));
    }
    let state = along(model, history, &attempt.order);
    for rejection in &attempt.rejected {
        let operation = &operations[rejection.operation];
        if matches!(operation.input, Input::AtRest(_)) {
            lines.push("  an operation that waits could go on".to_owned());
            continue;
        }
        let expected = state.as_ref().map_or_else(Vec::new, |state| model.expected(state, &operation.input));
        let why = match (rejection.fits, expected.is_empty()) {
            (true, _) => "fits, but then others do not".to_owned(),
            (false, false) => format!("should be {}", expected.join(" or ")),
            (false, true) => "is not possible here".to_owned(),
        };
        lines.push(format!("  {}: {why}", name(rejection.operation)));
    }
    lines
}

/// The state after the operations in this order, where the specification leaves no choice.
fn along(model: &ObjectModel<'_>, history: &History<Input, Output>, order: &[usize]) -> Option<Position> {
    order.iter().try_fold(model.init(), |state, &op| {
        let operation = &history.operations()[op];
        let mut next = model.step(&state, &operation.input, operation.output()).into_iter();
        next.next().filter(|_| next.next().is_none())
    })
}
