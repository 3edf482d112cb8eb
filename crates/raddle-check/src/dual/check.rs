//! Checking one history of an object that may block, with reasons.

use std::time::Instant;

use super::lts::{Lts, Move, StateId};
use super::search::{Attempt, Config, Ending, Found, Haste, Problem, Status, search};
use super::{Blocking, Step};
use crate::check::Checker;
use crate::contract::Contract;
use crate::contract::order::{Precedence, is_program_order, precedes};
use crate::engine::limits::Budget;
use crate::history::{History, Operation};
use crate::timeline::Ties;
use crate::verdict::{
    Method, Part, PartialOrder, Progress, Rejection, Report, Unsupported, Verdict, Violation,
};

/// How many attempts are shown.
const ATTEMPTS: usize = 3;

impl Checker {
    /// Checks a history of an object whose operations may have to wait; the error says why the contract does not go
    /// with such objects.
    pub fn check_blocking<B: Blocking>(
        &self,
        history: &History<B::Input, B::Output>,
        spec: &B,
    ) -> Result<Report, Unsupported> {
        self.admit_blocking()?;
        let order = order_in_time(self.contract, spec, history.operations(), self.ties);
        Ok(self.report(history, spec, order))
    }

    /// Like [`check_blocking`](Checker::check_blocking), with operation `i` over before operation `j` begins wherever
    /// `before(i, j)`, and only there.
    pub fn check_blocking_partial_order<B: Blocking>(
        &self,
        history: &History<B::Input, B::Output>,
        spec: &B,
        before: impl Fn(usize, usize) -> bool,
    ) -> Result<Report, Unsupported> {
        self.admit_blocking()?;
        let order = order_given(self.contract, spec, history.operations(), before);
        Ok(self.report(history, spec, order))
    }

    fn admit_blocking(&self) -> Result<(), Unsupported> {
        match self.contract == Contract::Anything || Precedence::is_all_of(self.contract) {
            true => Ok(()),
            false => Err(Unsupported(refusal(self.contract))),
        }
    }

    fn report<B: Blocking>(
        &self,
        history: &History<B::Input, B::Output>,
        spec: &B,
        order: Option<Precedence>,
    ) -> Report {
        let began = Instant::now();
        let mut budget = Budget::new(self.limits, began);
        let verdict = match order {
            Some(order) => decide(history.operations(), spec, order, &mut budget),
            None => Verdict::Accepted,
        };
        let part = Part {
            key: None,
            operations: (0..history.operations().len()).collect(),
            verdict,
            method: Method::Dual,
            reason: "operations may have to wait".into(),
            steps: budget.steps,
            widest: 0,
            time: began.elapsed(),
        };
        Report { parts: vec![part], partitioning: "not split: operations may wait for each other".into() }
    }
}

/// Why a contract cannot be asked of an object that blocks.
pub(super) fn refusal(contract: Contract) -> String {
    format!(
        "objects whose operations wait cannot be checked for {contract}: only for linearizable, sequential, \
         serializable, strictly-serializable, quiescent or anything"
    )
}

/// The order that the contract asks for, with time as the clock has it; `None` if it asks for nothing.
pub(super) fn order_in_time<B: Blocking>(
    contract: Contract,
    spec: &B,
    operations: &[Operation<B::Input, B::Output>],
    ties: Ties,
) -> Option<Precedence> {
    let in_time = |i: usize, j: usize| precedes(&operations[i], &operations[j], ties);
    let in_program = |i: usize, j: usize| is_program_order((i, &operations[i]), (j, &operations[j]));
    order(contract, spec, operations, in_time, in_program)
}

/// The order that the contract asks for, with `before` in the place of time; `None` if it asks for nothing.
pub(super) fn order_given<B: Blocking>(
    contract: Contract,
    spec: &B,
    operations: &[Operation<B::Input, B::Output>],
    before: impl Fn(usize, usize) -> bool,
) -> Option<Precedence> {
    let in_program = |i: usize, j: usize| operations[i].process == operations[j].process && before(i, j);
    order(contract, spec, operations, &before, in_program)
}

fn order<B: Blocking>(
    contract: Contract,
    spec: &B,
    operations: &[Operation<B::Input, B::Output>],
    in_time: impl Fn(usize, usize) -> bool,
    in_program: impl Fn(usize, usize) -> bool,
) -> Option<Precedence> {
    Precedence::of_contract(
        contract,
        operations.len(),
        |op| operations[op].ended_at().is_some(),
        in_time,
        in_program,
        |op| spec.is_relaxed(&operations[op].input),
    )
}

fn decide<B: Blocking>(
    operations: &[Operation<B::Input, B::Output>],
    spec: &B,
    order: Precedence,
    budget: &mut Budget,
) -> Verdict {
    let mut lts = Lts::new();
    let problem = Problem::new(&mut lts, operations, order);
    let events = operations.iter().map(|op| 1 + usize::from(op.ended_at().is_some())).sum();
    let found = match search(&problem, spec, &mut lts, budget, Haste::Deep) {
        Ok(Found::Accepted) => return Verdict::Accepted,
        Ok(found) => found,
        Err(limit) => return Verdict::Unknown(Progress { limit, events: 0, of: events }),
    };
    // Once more, for a better explanation; that is not counted, and a limit that is reached only now costs no verdict.
    let steps = budget.steps;
    let found = search(&problem, spec, &mut lts, budget, Haste::Wide).unwrap_or(found);
    budget.steps = steps;
    let mut told =
        |attempt| Explanation { operations, spec, problem: &problem, lts: &mut lts }.order(attempt);
    let (summary, lost_wake_ups, attempts) = match found {
        Found::Accepted => return Verdict::Accepted,
        Found::LostWakeUp(lost, attempt) => {
            let names: Vec<String> = lost.iter().map(|&op| spec.describe(&operations[op].input)).collect();
            let summary = format!("lost wake-up: {} could go on, but stays suspended", names.join(", "));
            (summary, lost, vec![told(attempt)])
        }
        Found::Rejected(attempts) => {
            let attempts = attempts.into_iter().take(ATTEMPTS).map(told).collect();
            ("no order of the operations fits".into(), Vec::new(), attempts)
        }
    };
    Verdict::Violation(Violation { prefix: events, summary, lost_wake_ups, attempts, ..Violation::default() })
}

struct Explanation<'a, B: Blocking> {
    operations: &'a [Operation<B::Input, B::Output>],
    spec: &'a B,
    problem: &'a Problem,
    lts: &'a mut Lts<B>,
}

impl<B: Blocking> Explanation<'_, B> {
    fn order(&mut self, attempt: Attempt) -> PartialOrder {
        let Attempt { steps, config } = attempt;
        let states = steps.iter().map(|&(.., state)| self.state(state)).collect();
        PartialOrder {
            order: steps.iter().map(|&(op, ..)| op).collect(),
            phases: steps.iter().map(|&(_, phase, _)| phase).collect(),
            states,
            rejected: self.rejected(&config),
        }
    }

    fn state(&self, state: StateId) -> String {
        self.spec.describe_state(self.lts.state(state))
    }

    /// What time would allow to be next, but for the specification.
    fn rejected(&mut self, config: &Config) -> Vec<Rejection> {
        let is_over = |op: usize| config.statuses[op] == Status::Over;
        let may_come = |op: &usize| self.problem.order.before(*op).iter().all(is_over);
        let next: Vec<usize> =
            (0..self.operations.len()).filter(|&op| !is_over(op)).filter(may_come).collect();
        next.into_iter().filter_map(|op| self.rejection(config, op)).collect()
    }

    fn rejection(&mut self, config: &Config, op: usize) -> Option<Rejection> {
        let taken = match config.statuses[op] {
            Status::Waiting(ticket) => Move::FollowUp(ticket),
            _ => Move::Request(self.problem.inputs[op], config.free_ticket()),
        };
        let ending = self.problem.endings[op];
        let step = self.lts.take(self.spec, config.state, taken).map(|arrival| arrival.step);
        let (fits, expected) = match (step, ending) {
            (_, Ending::Unknown) => return None,
            // It has to wait, and does.
            (None | Some(Step::Suspend), Ending::Suspended) => return None,
            (None | Some(Step::Suspend), Ending::Cancelled) => (true, Vec::new()),
            (None | Some(Step::Suspend), Ending::Returned(_)) => {
                (false, vec![self.sentence(op, "has to wait")])
            }
            (Some(Step::Return(output)), Ending::Returned(seen)) if output == Some(seen) => {
                (true, Vec::new())
            }
            (Some(Step::Return(output)), _) => {
                let output = output.map(|output| self.spec.describe_output(self.lts.output_named(output)));
                (false, output.iter().map(|output| self.sentence(op, &format!("-> {output}"))).collect())
            }
        };
        Some(Rejection { operation: op, fits, expected })
    }

    fn sentence(&self, op: usize, end: &str) -> String {
        format!("{} {end}", self.spec.describe(&self.operations[op].input))
    }
}
