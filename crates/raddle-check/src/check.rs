//! Checking a whole history: split it, pick a method for each part, decide, explain.

use std::sync::Mutex;
use std::time::Instant;

use crate::contract::relaxed::Graded;
use crate::contract::{self, Contract, Durability, Finding, Problem};
use crate::engine::limits::{Budget, Limits};
use crate::engine::lts::Lts;
use crate::explain::reason;
use crate::history::{History, Operation};
use crate::model::Model;
use crate::monitor::{self, Answer, Seen};
use crate::partition::{self, Piece};
use crate::timeline::{Ties, Timeline};
use crate::verdict::{Method, Part, Progress, Report, Unsupported, Verdict};

/// Checks whether `history` is linearizable with respect to `model`, with no limits.
///
/// For everything else there is [`Checker`].
pub fn check<M: Model>(history: &History<M::Input, M::Output>, model: &M) -> Report {
    Checker::new().check(history, model)
}

/// How to check a history. Every option is a method.
///
/// ```
/// use std::time::Duration;
/// use raddle_check::model::queue::{Queue, QueueOp};
/// use raddle_check::{Checker, Contract, History, Limits, Relaxation};
///
/// let mut history = History::new();
/// for value in [1, 2] {
///     let enqueue = history.invoke(0, QueueOp::Enqueue(value.into()));
///     history.respond(enqueue, 0.into());
/// }
/// let dequeue = history.invoke(1, QueueOp::Dequeue);
/// history.respond(dequeue, 2.into());
///
/// let strict = Checker::new().limits(Limits { time: Some(Duration::from_secs(1)), memory: None });
/// assert!(strict.check(&history, &Queue::new()).is_violation());
/// let relaxed = strict.contract(Contract::Relaxed(Relaxation::out_of_order(1)));
/// assert!(relaxed.check(&history, &Queue::new()).is_accepted());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Checker {
    pub(crate) contract: Contract,
    pub(crate) ties: Ties,
    pub(crate) limits: Limits,
    whole: bool,
    search_only: bool,
}

impl Checker {
    /// Linearizability, concurrent ties, no limits.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// What makes the history correct.
    pub fn contract(mut self, contract: Contract) -> Checker {
        self.contract = contract;
        self
    }

    /// What equal times mean.
    pub fn ties(mut self, ties: Ties) -> Checker {
        self.ties = ties;
        self
    }

    /// When to give up.
    pub fn limits(mut self, limits: Limits) -> Checker {
        self.limits = limits;
        self
    }

    /// Checks the history in one piece even if the model can split it.
    pub fn whole(mut self) -> Checker {
        self.whole = true;
        self
    }

    /// Searches even where a monitor could decide.
    pub fn search_only(mut self) -> Checker {
        self.search_only = true;
        self
    }

    /// Checks `history` against `model`.
    ///
    /// # Panics
    /// If the contract does not go with them: see [`try_check`](Checker::try_check).
    pub fn check<M: Model>(&self, history: &History<M::Input, M::Output>, model: &M) -> Report {
        self.try_check(history, model).unwrap_or_else(|unsupported| panic!("{unsupported}"))
    }

    /// Checks `history` against `model`; the error says why the contract does not go with them.
    pub fn try_check<M: Model>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
    ) -> Result<Report, Unsupported> {
        let start = Instant::now();
        self.admit(history, model)?;
        let (pieces, partitioning) = self.split(history, model);
        let parts = pieces.into_iter().map(|piece| self.check_piece(history, model, piece, start)).collect();
        Ok(Report { parts, partitioning })
    }

    /// Like [`try_check`](Checker::try_check), with the parts of the history checked on all processors. The report is
    /// the same.
    pub fn try_check_parallel<M>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
    ) -> Result<Report, Unsupported>
    where
        M: Model<Input: Sync, Output: Sync> + Sync,
    {
        let start = Instant::now();
        self.admit(history, model)?;
        let (pieces, partitioning) = self.split(history, model);
        // Small parts first: if a limit ends the check, most parts have their verdict.
        let mut queue: Vec<(usize, Piece)> = pieces.into_iter().enumerate().collect();
        queue.sort_by_key(|(_, piece)| std::cmp::Reverse(piece.operations.len()));
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(queue.len());
        let (queue, done) = (Mutex::new(queue), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().expect("no holder panics").pop();
                        let Some((number, piece)) = next else { break };
                        let part = self.check_piece(history, model, piece, start);
                        done.lock().expect("no holder panics").push((number, part));
                    }
                });
            }
        });
        let mut done = done.into_inner().expect("no holder panics");
        done.sort_by_key(|(number, _)| *number);
        Ok(Report { parts: done.into_iter().map(|(_, part)| part).collect(), partitioning })
    }

    /// Checks `history` with operation `i` over before operation `j` begins wherever `before(i, j)`, and only there:
    /// for an engine that knows which operations happen before which, whatever the clock says.
    ///
    /// # Panics
    /// If the contract does not go with the model, or is durable: nothing says where in a partial order a crash is.
    pub fn check_partial_order<M: Model>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
        before: impl Fn(usize, usize) -> bool,
    ) -> Report {
        self.admit(history, model).unwrap_or_else(|unsupported| panic!("{unsupported}"));
        let piece = partition::whole(history).remove(0);
        let graded = Graded { model, relaxation: self.contract.relaxation() };
        let part = self.decide(history, &graded, piece, Instant::now(), |problem| {
            let finding = contract::partial_order::check(self.contract, problem, before);
            (finding, Method::Chains, String::from("the order of operations was given"))
        });
        Report {
            parts: vec![part],
            partitioning: "not split: the order was given for the whole history".into(),
        }
    }

    /// Whether the contract, the model and the history go together.
    fn admit<M: Model>(&self, history: &History<M::Input, M::Output>, model: &M) -> Result<(), Unsupported> {
        if let Some(refusal) = self.contract.refusal(model) {
            return Err(Unsupported(refusal));
        }
        let survivor = match self.contract {
            Contract::Durable(Durability::Strict | Durability::Buffered) => {
                contract::durable::survivor(history)
            }
            _ => None,
        };
        match survivor {
            Some(op) => Err(Unsupported(format!(
                "{} of process {} is open during a crash and returns after it: no process survives one",
                model.describe(&op.input, op.output()),
                op.process
            ))),
            None => Ok(()),
        }
    }

    fn split<M: Model>(&self, history: &History<M::Input, M::Output>, model: &M) -> (Vec<Piece>, String) {
        if self.whole {
            return (partition::whole(history), "in one piece, as asked".into());
        }
        if !self.contract.is_local() {
            let reason = format!("not split: {} does not hold part by part", self.contract);
            return (partition::whole(history), reason);
        }
        match partition::by_key(history, model) {
            Ok(pieces) => {
                let reason = format!("split by key into {} parts", pieces.len());
                (pieces, reason)
            }
            Err(reason) => (partition::whole(history), reason),
        }
    }

    fn check_piece<M: Model>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
        piece: Piece,
        start: Instant,
    ) -> Part {
        if self.contract.relaxation().is_some() {
            let graded = Graded { model, relaxation: self.contract.relaxation() };
            return self.decide(history, &graded, piece, start, |problem| self.find(problem));
        }
        let operations: Vec<&Operation<_, _>> =
            piece.operations.iter().map(|&index| &history.operations()[index]).collect();
        let focused = model.focus(&operations);
        drop(operations);
        let model = focused.as_ref().unwrap_or(model);
        self.decide(history, model, piece, start, |problem| self.find(problem))
    }

    /// Decides by whichever method is best.
    fn find<M: Model>(&self, problem: &mut Problem<'_, M>) -> (Finding, Method, String) {
        let reason = match self.monitor(problem) {
            Ok((Answer::Accepted, method)) => return (Finding::Accepted, method, MONITORED.into()),
            Ok((Answer::Violation(complaint), method)) => {
                return (reason::of_complaint(problem, complaint), method, MONITORED.into());
            }
            Err(reason) => reason,
        };
        let method = match self.contract {
            Contract::Sequential | Contract::Serializable | Contract::Quiescent => Method::Chains,
            Contract::Quasi(_) => Method::TwoOrders,
            Contract::SetLinearizable | Contract::IntervalLinearizable => Method::Sets,
            Contract::Anything => Method::Nothing,
            _ => Method::Frontier,
        };
        (contract::check(self.contract, problem), method, reason)
    }

    /// Sets up the problem that a piece is, has it decided, and makes a report of what was found.
    fn decide<M: Model>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
        piece: Piece,
        start: Instant,
        decide: impl FnOnce(&mut Problem<'_, M>) -> (Finding, Method, String),
    ) -> Part {
        let began = Instant::now();
        let operations: Vec<&Operation<_, _>> =
            piece.operations.iter().map(|&index| &history.operations()[index]).collect();
        let timeline = Timeline::new(&operations, history.crashes(), self.ties);
        let (mut lts, mut budget) = (Lts::new(), Budget::new(self.limits, start));
        let mut problem = Problem {
            operations: &operations,
            timeline: &timeline,
            model,
            lts: &mut lts,
            budget: &mut budget,
            explain: true,
            widest: 0,
        };
        let (finding, method, reason) = decide(&mut problem);
        let verdict = match finding {
            Finding::Accepted => Verdict::Accepted,
            Finding::Unknown { limit, events } => {
                Verdict::Unknown(Progress { limit, events, of: timeline.len() })
            }
            Finding::Rejected(rejected) => {
                Verdict::Violation(reason::violation(&problem, rejected, &piece.operations))
            }
        };
        let widest = problem.widest;
        Part {
            key: piece.key,
            verdict,
            method,
            reason,
            steps: budget.steps,
            widest,
            time: began.elapsed(),
            operations: piece.operations,
        }
    }

    /// Lets a monitor decide, if one can; the error says why not.
    fn monitor<M: Model>(&self, problem: &Problem<'_, M>) -> Result<(Answer, Method), String> {
        if !self.contract.is_linearizability() {
            return Err(format!("monitors decide linearizability, not {}", self.contract));
        }
        if self.search_only {
            return Err("monitors are off".into());
        }
        let Problem { operations, timeline, model, .. } = problem;
        let Some(collection) = model.collection() else { return Err("no monitor knows the model".into()) };
        let seen = |op: usize| {
            let (input, output) = (&operations[op].input, operations[op].output());
            match model.role(input, output) {
                Some(role) => Seen::Role(role),
                None if output.is_none() && model.is_read_only(input, None) => Seen::Ignored,
                None => Seen::Unclear,
            }
        };
        let answer =
            monitor::decide(&collection, operations.len(), || timeline.spans(operations.len()), seen)
                .map_err(|reason| format!("no monitor: {reason}"))?;
        Ok((answer, Method::Monitor(collection.name())))
    }
}

const MONITORED: &str = "the model is a collection, and no value is added twice";
