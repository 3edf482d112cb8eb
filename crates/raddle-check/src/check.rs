//! Checking a whole history: split it, pick a method for each part, decide, explain.

use std::collections::hash_map::Entry;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::contract::{self, Contract, Finding};
use crate::engine::limits::{Budget, Limits};
use crate::engine::lts::Lts;
use crate::history::{History, Operation};
use crate::model::Model;
use crate::monitor::{self, Answer, Seen};
use crate::timeline::{Ties, Timeline};
use crate::value::Value;
use crate::verdict::{Method, Part, PartialOrder, Progress, Report, Verdict, Violation};

/// Checks whether `history` is linearizable with respect to `model`, with no limits.
///
/// For everything else there is [`Checker`].
pub fn check<M: Model>(history: &History<M::Input, M::Output>, model: &M) -> Report {
    Checker::new().check(history, model)
}

/// How to check a history. Every option is a method.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    contract: Contract,
    ties: Ties,
    limits: Limits,
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
    pub fn check<M: Model>(&self, history: &History<M::Input, M::Output>, model: &M) -> Report {
        let start = Instant::now();
        let (pieces, partitioning) = self.split(history, model);
        let parts = pieces
            .into_iter()
            .map(|piece| self.check_piece(history, model, piece, &mut Lts::new(), start))
            .collect();
        Report { parts, partitioning }
    }

    fn split<M: Model>(&self, history: &History<M::Input, M::Output>, model: &M) -> (Vec<Piece>, String) {
        let operations = history.operations();
        let whole = || vec![Piece { key: None, operations: (0..operations.len()).collect() }];
        if self.whole {
            return (whole(), "checked in one piece, as asked".into());
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut by_key: FxHashMap<Value, usize> = FxHashMap::default();
        for (index, operation) in operations.iter().enumerate() {
            let Some(key) = model.partition(&operation.input) else {
                let reason = if index == 0 {
                    "the model does not split histories".into()
                } else {
                    format!(
                        "not split: {} concerns more than one key",
                        model.describe(&operation.input, None)
                    )
                };
                return (whole(), reason);
            };
            let piece = match by_key.entry(key) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    pieces.push(Piece { key: Some(entry.key().clone()), operations: Vec::new() });
                    *entry.insert(pieces.len() - 1)
                }
            };
            pieces[piece].operations.push(index);
        }
        if pieces.is_empty() {
            return (whole(), "the history is empty".into());
        }
        let reason = format!("split by key into {} parts", pieces.len());
        (pieces, reason)
    }

    fn check_piece<M: Model>(
        &self,
        history: &History<M::Input, M::Output>,
        model: &M,
        piece: Piece,
        lts: &mut Lts<M>,
        start: Instant,
    ) -> Part {
        let began = Instant::now();
        let operations: Vec<&Operation<_, _>> =
            piece.operations.iter().map(|&index| &history.operations()[index]).collect();
        let timeline = Timeline::new(&operations, history.crashes(), self.ties);
        let mut budget = Budget::new(self.limits, start);
        let mut widest = 0;
        let (answer, method, reason) = match self.contract {
            Contract::Linearizable => match self.monitor(&operations, &timeline, model) {
                Ok((answer, name)) => {
                    let reason = "the model is a collection and no value is added twice".into();
                    (Some(answer), Method::Monitor(name), reason)
                }
                Err(reason) => (None, Method::Frontier, reason),
            },
        };
        let _ = answer;
        let finding = match answer {
            Some(Answer::Accepted) => Finding::Accepted,
            Some(Answer::Violation(_)) => Finding::Rejected { operation: None, prefix: 0, attempts: vec![] },
            None => {
                contract::linearizable::check(&operations, &timeline, model, lts, &mut budget, &mut widest)
            }
        };
        let verdict = match finding {
            Finding::Accepted => Verdict::Accepted,
            Finding::Unknown { limit, events } => {
                Verdict::Unknown(Progress { limit, events, of: timeline.len() })
            }
            Finding::Rejected { operation, prefix, attempts } => Verdict::Violation(Violation {
                operation: operation.map(|op| piece.operations[op]),
                prefix,
                core: Vec::new(),
                summary: String::new(),
                attempts: attempts
                    .into_iter()
                    .map(|attempt| PartialOrder {
                        order: attempt.order.iter().map(|&op| piece.operations[op]).collect(),
                        states: vec![model.describe_state(lts.state(attempt.state))],
                        rejected: Vec::new(),
                    })
                    .collect(),
            }),
        };
        Part {
            key: piece.key,
            operations: piece.operations,
            verdict,
            method,
            reason,
            steps: budget.steps,
            widest,
            time: began.elapsed(),
        }
    }

    /// Lets a monitor decide, if one can; the error says why not.
    fn monitor<M: Model>(
        &self,
        operations: &[&Operation<M::Input, M::Output>],
        timeline: &Timeline,
        model: &M,
    ) -> Result<(Answer, &'static str), String> {
        let Some(collection) = model.collection() else { return Err("no monitor knows this model".into()) };
        if self.search_only {
            return Err("monitors are off".into());
        }
        let seen = |op: usize| {
            let Operation { input, .. } = operations[op];
            let output = operations[op].output();
            match model.role(input, output) {
                Some(role) => Seen::Role(role),
                None if output.is_none() && model.is_read_only(input, None) => Seen::Ignored,
                None => Seen::Unclear,
            }
        };
        let answer = monitor::decide(&collection, timeline.spans(operations.len()), seen)?;
        Ok((answer, collection.name()))
    }
}

/// Some operations of a history, by index.
struct Piece {
    key: Option<Value>,
    operations: Vec<usize>,
}
