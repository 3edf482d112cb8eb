//! The log of an execution as a history for `raddle-check`.

use raddle_check::{History, Operation, Outcome};

use super::history::{Log, Note, Progress, Step};
use super::model::{CallId, Input, ObjectModel, Output};
use super::scenario::Plan;
use super::subject::Subject;

/// The order of steps of different threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A step that ended before another began comes before it.
    RealTime,
    /// None: only steps of one thread, and the parts of the plan, are ordered.
    Program,
    /// A step whose end happens before the beginning of another comes before it. Without clocks in the log, the order is that of
    /// [`Program`](Order::Program).
    HappensBefore,
}

/// The calls of a plan, in the terms of the model.
#[derive(Default)]
pub(super) struct PlanCalls {
    /// The number of each call in the model.
    ids: Vec<CallId>,
    /// The operation of each call.
    operations: Vec<usize>,
    /// Whether a call may wait by design.
    wait: bool,
    /// Whether a call is one of a future.
    pub(super) has_futures: bool,
}

impl PlanCalls {
    pub(super) fn of(plan: &Plan, subject: &Subject, model: &ObjectModel<'_>) -> PlanCalls {
        let ids: Vec<CallId> = plan.calls().map(|invocation| model.call(invocation)).collect();
        let operations: Vec<usize> = plan.calls().map(|invocation| invocation.operation).collect();
        PlanCalls {
            wait: operations.iter().any(|&operation| subject.operations[operation].may_suspend()),
            has_futures: ids.iter().any(|&call| model.is_future(call)),
            ids,
            operations,
        }
    }
}

/// The plan whose executions are encoded.
#[derive(Clone, Copy)]
pub(super) struct Encoding<'a> {
    pub(super) subject: &'a Subject,
    pub(super) plan: &'a Plan,
    pub(super) model: &'a ObjectModel<'a>,
    pub(super) calls: &'a PlanCalls,
}

/// The steps of an execution of a plan.
#[derive(Default)]
pub(super) struct Steps {
    steps: Vec<TimedStep>,
    /// The step that each call has begun and not ended, while the log is read.
    open: Vec<Option<usize>>,
    /// The calls that wait when nothing can happen any more.
    pub(super) waiting: Vec<WaitingCall>,
}

/// A call that waits when nothing can happen any more, and whether it has suspended after its request.
pub(super) type WaitingCall = (CallId, u32, bool);

/// A step of a call, with the times of its beginning and its end.
struct TimedStep {
    call: usize,
    step: Step,
    begun: u32,
    ended: Option<(u32, Output)>,
    /// The numbers of the notes of the beginning and the end.
    notes: (usize, Option<usize>),
}

impl TimedStep {
    /// Whether the end of this step happens before the beginning of the other, if the log has clocks.
    fn happened_before(&self, other: &TimedStep, log: &Log) -> Option<bool> {
        match self.notes.1 {
            Some(end) => log.happened_before(end, other.notes.0),
            None => Some(false),
        }
    }
}

/// A history for the checker, and the step that each of its operations stands for; none for the end of the execution.
pub(super) struct Encoded {
    pub(super) history: History<Input, Output>,
    steps: Vec<Option<usize>>,
}

impl Steps {
    /// Takes the steps from the log of an execution of the plan.
    pub(super) fn read(&mut self, of: Encoding<'_>, log: &Log) {
        let Steps { steps, open, waiting } = self;
        steps.clear();
        open.clear();
        open.resize(of.calls.ids.len(), None);
        let mut time = 0;
        let mut last_ended = false;
        for (number, note) in log.notes.iter().enumerate() {
            // The order of two beginnings, or of two ends, does not matter.
            let ends = matches!(note, Note::Ended(..));
            if last_ended && !ends {
                time += 1;
            }
            last_ended = ends;
            match note {
                Note::Begun(call, step) => {
                    open[*call] = Some(steps.len());
                    let notes = (number, None);
                    steps.push(TimedStep { call: *call, step: *step, begun: time, ended: None, notes });
                }
                Note::Ended(call, answer) => {
                    let output = of.model.result(of.calls.operations[*call], answer);
                    if let Some(step) = open[*call].take() {
                        steps[step].ended = Some((time, output));
                        steps[step].notes.1 = Some(number);
                    }
                }
            }
        }
        // Logs that differ only in the order of beginnings have the same key.
        steps.sort_by_key(|step| step.call);
        waiting.clear();
        if of.calls.wait {
            waiting.extend(waiting_calls(of, log));
        }
    }

    /// Writes the key of the history: histories with the same key have the same verdict.
    pub(super) fn write_key(&self, key: &mut Vec<u32>, log: &Log, order: Order) {
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

    /// Adds the order of the steps to the key.
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

    /// The history for the checker. A call that `is_unknown` names counts as one that has not returned.
    ///
    /// With `halves`, a step in which a future returned is two operations, one after the other within the time of the step:
    /// another operation may resume the call before the call has noticed that it would have to wait.
    pub(super) fn history(
        &self,
        of: Encoding<'_>,
        halves: bool,
        is_unknown: impl Fn(usize) -> bool,
    ) -> Encoded {
        let mut history = History::new();
        let mut steps = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            // A call that waits for ever has no effect.
            if step.ended.is_none() && self.waiting.iter().any(|&(_, ticket, _)| ticket as usize == step.call)
            {
                continue;
            }
            let (id, ticket) = (of.calls.ids[step.call], step.call as u32);
            let input = Input::Step { call: id, ticket, step: step.step };
            // Begins and ends alternate within one unit of time: begins first.
            let call = u64::from(step.begun) * 2;
            let process = of.plan.thread_of(step.call).map_or(0, |thread| thread as u64 + 1);
            let returned = step.ended.filter(|_| !is_unknown(step.call));
            let outcome = match returned {
                Some((ended, output)) => Outcome::Returned { output, at: u64::from(ended) * 2 + 1 },
                None => Outcome::Unknown,
            };
            if let Some((ended, Output::Result(result))) = returned
                && halves
                && of.model.is_future(id)
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
        Encoded { history, steps }
    }

    /// The history, and after it an operation by which the specification confirms that these calls have to wait.
    pub(super) fn history_at_rest(&self, of: Encoding<'_>, halves: bool, waiting: &[WaitingCall]) -> Encoded {
        let mut encoded = self.history(of, halves, |_| false);
        if !waiting.is_empty() {
            let history = &mut encoded.history;
            let end = history.operations().iter().filter_map(Operation::returned_at).max().unwrap_or(0) + 1;
            history.push(Operation {
                process: 0,
                call: end,
                input: Input::AtRest(waiting.into()),
                outcome: Outcome::Returned { output: Output::AtRest, at: end + 1 },
            });
            encoded.steps.push(None);
        }
        encoded
    }

    /// Whether the first of two operations of the history has to come before the second.
    pub(super) fn before<'a>(
        &'a self,
        encoded: &'a Encoded,
        log: &'a Log,
        order: Order,
    ) -> impl Fn(usize, usize) -> bool + 'a {
        move |i, j| {
            let (Some(first), Some(second)) = (encoded.steps[i], encoded.steps[j]) else {
                // The end of the execution comes last.
                return encoded.steps[i].is_some();
            };
            let operations = encoded.history.operations();
            let (one, other) = (&operations[i], &operations[j]);
            // Nothing overlaps with operations of the init and the post part.
            if one.process == other.process || one.process == 0 || other.process == 0 {
                return one.returned_at().is_some_and(|at| at < other.call);
            }
            let known = self.steps[first].happened_before(&self.steps[second], log);
            order == Order::HappensBefore && known == Some(true)
        }
    }
}

/// The calls that wait when nothing can happen any more.
fn waiting_calls(of: Encoding<'_>, log: &Log) -> Vec<WaitingCall> {
    let may_wait = |operation: usize| of.subject.operations[operation].may_suspend();
    let progress = log.progress(of.plan.len());
    let calls = of.plan.calls().zip(progress).enumerate();
    calls
        .filter_map(|(call, (invocation, progress))| {
            let requested = match progress {
                Progress::Suspended => true,
                Progress::Within if may_wait(invocation.operation) => false,
                _ => return None,
            };
            Some((of.calls.ids[call], call as u32, requested))
        })
        .collect()
}
