//! The gist of a rejection, small enough to stand in a larger report.

use crate::verdict::{Report, Verdict};

/// The order that comes closest to explaining a history, and where it ends. Operations are indices into the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    /// What is wrong, in one sentence.
    pub summary: String,
    /// The operations that fit, first to last.
    pub order: Vec<Place>,
    /// What could come next but does not fit; if nothing is listed, it is the end of the history that does not.
    pub stuck: Vec<Stuck>,
}

/// An operation in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The operation.
    pub operation: usize,
    /// The state after it, in words; absent if the order is so long that its beginning does not matter.
    pub state: Option<String>,
}

/// An operation that is the next but cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The operation.
    pub operation: usize,
    /// Whether it fits by itself, and only what comes after it does not.
    pub fits: bool,
    /// What it would have had to be, in words such as `pop() -> 2`; empty if it fits or the model does not say.
    pub expected: Vec<String>,
}

/// The order that comes closest to explaining the history that was rejected; of several parts, the first that was.
///
/// ```
/// use raddle_check::model::counter::{Counter, CounterOp};
/// use raddle_check::{History, Model, check, explain};
///
/// let mut history = History::new();
/// let calls = [0, 1].map(|process| history.invoke(process, CounterOp::AddAndGet(1)));
/// calls.iter().for_each(|&call| history.respond(call, 1.into())); // An update is lost.
///
/// let closest = explain::closest(&check(&history, &Counter)).unwrap();
/// let describe = |op: usize| {
///     let operation = &history.operations()[op];
///     Counter.describe(&operation.input, operation.output())
/// };
/// assert_eq!(
///     closest.lines(10, describe),
///     [
///         "this order fits:",
///         "  add-and-get(1) -> 1  => 1",
///         "but then this does not:",
///         "  add-and-get(1) -> 1  (should be add-and-get(1) -> 2)",
///     ]
/// );
/// ```
pub fn closest(report: &Report) -> Option<Closest> {
    let violation = report.parts.iter().find_map(|part| match &part.verdict {
        Verdict::Violation(violation) => Some(violation),
        _ => None,
    })?;
    let mut closest = Closest { summary: violation.summary.clone(), order: Vec::new(), stuck: Vec::new() };
    let Some(attempt) = violation.attempts.first() else { return Some(closest) };
    let without_state = attempt.order.len().saturating_sub(attempt.states.len());
    closest.order = (0..attempt.order.len())
        .map(|at| Place {
            operation: attempt.order[at],
            state: at.checked_sub(without_state).map(|at| attempt.states[at].clone()),
        })
        .collect();
    let stuck = attempt.rejected.iter().map(|rejection| Stuck {
        operation: rejection.operation,
        fits: rejection.fits,
        expected: rejection.expected.clone(),
    });
    closest.stuck = stuck.collect();
    // What does not fit by itself says more.
    closest.stuck.sort_by_key(|stuck| stuck.fits);
    Some(closest)
}

/// More results that would have been right are not listed.
const MOST_EXPECTED: usize = 3;

impl Stuck {
    /// Why it cannot be the next, in words.
    pub fn why(&self) -> String {
        why_not(self.fits, &self.expected)
    }
}

/// Why an operation cannot be the next, in words.
pub(super) fn why_not(fits: bool, expected: &[String]) -> String {
    match expected {
        _ if fits => "fits here, but nothing fits after it".into(),
        [] => "does not fit this state".into(),
        _ if expected.len() <= MOST_EXPECTED => format!("should be {}", expected.join(" or ")),
        _ => format!("should be {} or another", expected[..MOST_EXPECTED].join(" or ")),
    }
}

impl Closest {
    /// The gist in at most `most` lines, though never fewer than four; `describe` names operations.
    pub fn lines(&self, most: usize, describe: impl Fn(usize) -> String) -> Vec<String> {
        let place = |place: &Place| (describe(place.operation), place.state.clone());
        let stuck = |stuck: &Stuck| format!("  {}  ({})", describe(stuck.operation), stuck.why());
        // Two lines of heading; what does not fit may have a third of the rest.
        let room = most.max(4) - 2;
        let stuck: Vec<_> = self.stuck.iter().take((room / 3).max(1)).map(stuck).collect();
        let all: Vec<_> = self.order.iter().map(place).collect();
        let room = room - stuck.len();
        let hidden = if all.len() > room { all.len() + 1 - room } else { 0 };

        let mut lines = vec![match all.is_empty() {
            true => "no operation can be the first:".to_owned(),
            false => "this order fits:".to_owned(),
        }];
        if hidden > 0 {
            lines.push(format!("  … {hidden} before"));
        }
        let width = all[hidden..].iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0);
        lines.extend(all[hidden..].iter().map(|(text, state)| match state {
            Some(state) => format!("  {text:<width$}  => {state}"),
            None => format!("  {text}"),
        }));
        let heading = match stuck.len() {
            // There is nothing before it.
            _ if all.is_empty() => None,
            0 => None,
            1 => Some("but then this does not:"),
            _ => Some("but then none of these does:"),
        };
        lines.extend(heading.map(str::to_owned));
        lines.extend(stuck);
        lines
    }
}
