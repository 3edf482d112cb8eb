//! A report in words: plain data that does not know the model any more.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::history::{self, History};
use crate::model::Model;
use crate::verdict::{self, Report, Verdict};

/// What was checked, what came of it and why.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// What the history is called.
    pub name: String,
    /// What it was checked for.
    pub contract: String,
    /// `accepted`, `violation` or `unknown`.
    pub verdict: &'static str,
    /// Why it was or was not split.
    pub partitioning: String,
    /// The parts.
    pub parts: Vec<Part>,
    /// The operations that a violation is about, by index; all of them in a story [with them](Story::with_all).
    #[serde(skip)]
    pub operations: BTreeMap<usize, Operation>,
}

/// One part of the history.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What its operations have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How many operations it has.
    pub size: usize,
    /// `accepted`, `violation` or `unknown`.
    pub verdict: &'static str,
    /// How that was decided.
    pub method: String,
    /// Why in that way.
    pub reason: String,
    /// Configurations expanded.
    pub steps: u64,
    /// The most configurations held at once.
    pub widest: usize,
    /// How far an unknown verdict got, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// Its operations, by index.
    #[serde(skip)]
    pub operations: Vec<usize>,
}

/// What is wrong with a part. Operations are indices into the history.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// In one sentence.
    pub summary: String,
    /// The first operation to return that no order has a place for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<usize>,
    /// How many events of the part are already wrong.
    pub prefix: usize,
    /// How many events the part has.
    pub events: usize,
    /// Operations that are wrong by themselves.
    pub core: Vec<usize>,
    /// The longest orders that fit.
    pub attempts: Vec<Attempt>,
}

/// An order that fits as far as it goes.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The operations, first to last.
    pub order: Vec<usize>,
    /// The states after the last of them.
    pub states: Vec<String>,
    /// What could come next.
    pub next: Vec<Next>,
}

/// An operation that time would allow next.
#[derive(Clone, Debug, Serialize)]
pub struct Next {
    /// The operation.
    pub operation: usize,
    /// Whether the model allows it there too; then what comes after it fails.
    pub fits: bool,
    /// What it would have had to be instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<String>,
}

/// An operation in words.
#[derive(Clone, Debug, Serialize)]
pub struct Operation {
    /// Its index in the history.
    pub index: usize,
    /// Who called it.
    pub process: u64,
    /// When.
    pub call: u64,
    /// When it returned.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    pub returned: Option<u64>,
    /// What it was and what it returned.
    pub text: String,
    /// The line of its call in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl Story {
    /// Tells `report`, which is about `history`; `lines` are those of the calls, if it came from a file.
    pub fn new<M: Model>(
        name: &str,
        contract: &str,
        report: &Report,
        history: &History<M::Input, M::Output>,
        model: &M,
        lines: &[u64],
    ) -> Story {
        let story = Story::untold(name, contract, report, history);
        let mentioned = story.mentioned();
        story.telling(mentioned, history, lines, |op| model.describe(&op.input, op.output()))
    }

    /// The story with every operation of the history, as the page shows it.
    pub fn with_all<M: Model>(
        self,
        history: &History<M::Input, M::Output>,
        model: &M,
        lines: &[u64],
    ) -> Story {
        let all = (0..history.operations().len()).collect();
        self.telling(all, history, lines, |op| model.describe(&op.input, op.output()))
    }

    /// The story without its operations.
    fn untold<I, O>(name: &str, contract: &str, report: &Report, history: &History<I, O>) -> Story {
        let events = |part: &verdict::Part| {
            let ends = |&op: &usize| 1 + usize::from(history.operations()[op].returned_at().is_some());
            part.operations.iter().map(ends).sum()
        };
        Story {
            name: name.to_owned(),
            contract: contract.to_owned(),
            verdict: word(report.verdict()),
            partitioning: report.partitioning.clone(),
            parts: report.parts.iter().map(|part| Part::new(part, events(part))).collect(),
            operations: BTreeMap::new(),
        }
    }

    fn telling<I, O>(
        mut self,
        chosen: BTreeSet<usize>,
        history: &History<I, O>,
        lines: &[u64],
        describe: impl Fn(&history::Operation<I, O>) -> String,
    ) -> Story {
        let describe = |index: usize| {
            let operation = &history.operations()[index];
            let told = Operation {
                index,
                process: operation.process,
                call: operation.call,
                returned: operation.returned_at(),
                text: describe(operation),
                line: lines.get(index).copied(),
            };
            (index, told)
        };
        self.operations = chosen.into_iter().map(describe).collect();
        self
    }

    /// The operations that some violation is about.
    pub(super) fn mentioned(&self) -> BTreeSet<usize> {
        let mut mentioned = BTreeSet::new();
        for (_, violation) in self.violations() {
            mentioned.extend(violation.operation);
            mentioned.extend(&violation.core);
            for attempt in &violation.attempts {
                mentioned.extend(&attempt.order);
                mentioned.extend(attempt.next.iter().map(|next| next.operation));
            }
        }
        mentioned
    }

    /// The parts that are wrong.
    pub fn violations(&self) -> impl Iterator<Item = (&Part, &Violation)> {
        self.parts.iter().filter_map(|part| part.violation.as_ref().map(|violation| (part, violation)))
    }
}

impl Part {
    fn new(part: &verdict::Part, events: usize) -> Part {
        let progress = match &part.verdict {
            Verdict::Unknown(progress) => Some(progress.to_string()),
            _ => None,
        };
        let violation = match &part.verdict {
            Verdict::Violation(violation) => Some(Violation::new(violation, events)),
            _ => None,
        };
        Part {
            key: part.key.as_ref().map(ToString::to_string),
            size: part.operations.len(),
            verdict: word(&part.verdict),
            method: part.method.to_string(),
            reason: part.reason.clone(),
            steps: part.steps,
            widest: part.widest,
            progress,
            violation,
            operations: part.operations.clone(),
        }
    }
}

impl Violation {
    fn new(violation: &verdict::Violation, events: usize) -> Violation {
        let next = |rejection: &verdict::Rejection| Next {
            operation: rejection.operation,
            fits: rejection.fits,
            expected: rejection.expected.clone(),
        };
        let attempt = |order: &verdict::PartialOrder| Attempt {
            order: order.order.clone(),
            states: order.states.clone(),
            next: order.rejected.iter().map(next).collect(),
        };
        Violation {
            summary: violation.summary.clone(),
            operation: violation.operation,
            prefix: violation.prefix,
            events,
            core: violation.core.clone(),
            attempts: violation.attempts.iter().map(attempt).collect(),
        }
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Violation(_) => "violation",
        Verdict::Unknown(_) => "unknown",
    }
}
