//! Questions, and how a person writes them.

use serde::{Deserialize, Serialize};

use super::accesses::values;
use super::{Index, NoAnswer, condition};
use crate::failure::{Action, ThreadEnd, Value, WaitingFor};

/// A question about a failure. Events are named by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Where did the value that an event read or wrote come from?
    Origin {
        /// The event.
        event: u32,
    },
    /// Who wrote a memory location, who read it, and who missed a write?
    Accesses {
        /// The location: a name or number as the report prints it, an address (`0x8800`), or an object (`Node#2`).
        location: String,
    },
    /// Who should have seen a write and did not?
    Missed {
        /// The event that writes.
        event: u32,
    },
    /// What must have happened before an event?
    Before {
        /// The event.
        event: u32,
    },
    /// Does one event happen before another one, and why?
    Order {
        /// One event.
        first: u32,
        /// The other event.
        second: u32,
    },
    /// When did a condition on objects or locations hold?
    When {
        /// The condition, in the language that `QUERY.md` describes: `queue.len > 1`.
        condition: String,
    },
    /// From which event on was the failure unavoidable?
    PointOfNoReturn,
    /// Which execution is most like this one and passes?
    NearestPass,
    /// Everything that there is to say about an event, a value, a location or a condition, as a person writes it.
    Why {
        /// The target, as on the command line: `13`, `=5`, `counter.value`, `queue.len > 1`.
        target: String,
    },
}

/// The questions that a person means by a target.
///
/// - a number is an event; `T1` the last event of a thread; nothing the event that failed;
/// - `=5` is a value: the last event that read or wrote it;
/// - a text with a comparison is a condition;
/// - everything else is a location.
pub(super) fn questions(index: &Index<'_>, target: &str) -> Result<Vec<Question>, NoAnswer> {
    let target = target.trim();
    if target.is_empty() {
        return Ok(about_failure(index));
    }
    if target.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = target.parse().map_err(|_| NoAnswer(format!("there is no event {target}")))?;
        index.event(number)?;
        return Ok(about_event(index, number));
    }
    if let Some(value) = target.strip_prefix('=').filter(|value| !value.starts_with('=')) {
        return Ok(about_event(index, with_value(index, value.trim())?));
    }
    let thread = target.strip_prefix('T').and_then(|number| number.parse::<u32>().ok());
    if let Some(thread) = thread {
        let last = index.events().iter().rposition(|event| event.thread == thread);
        let last = last.ok_or_else(|| NoAnswer(format!("T{thread} has no events")))?;
        return Ok(about_event(index, last as u32));
    }
    if condition::is_condition(target) {
        return Ok(vec![Question::When { condition: target.to_owned() }]);
    }
    Ok(vec![Question::Accesses { location: target.to_owned() }])
}

fn about_event(index: &Index<'_>, number: u32) -> Vec<Question> {
    let action = &index.events()[number as usize].action;
    let mut questions = Vec::new();
    let explains = matches!(action, Action::Panic { .. } | Action::Return { .. });
    match action {
        // The value of a lock says less than who took it.
        Action::Wait { place, .. } => questions.push(Question::Accesses { location: index.name(place) }),
        _ if values(action).next().is_some() || explains => {
            questions.push(Question::Origin { event: number });
        }
        _ => {}
    }
    if action.written().is_some() || matches!(action, Action::Write { .. }) {
        questions.push(Question::Missed { event: number });
    }
    questions.push(Question::Before { event: number });
    questions
}

/// The questions about the failure itself: the last event of the thread that failed, or of one that waits.
fn about_failure(index: &Index<'_>) -> Vec<Question> {
    let failure = index.failure;
    // A thread that waits for something of another kind than a thread explains more.
    let waits = |end: &ThreadEnd| match end {
        ThreadEnd::Waiting { awaited, .. } => {
            !matches!(awaited, Some(WaitingFor::Thread(_) | WaitingFor::Scope))
        }
        _ => false,
    };
    let thread = failure.thread.or_else(|| {
        let waiting = failure.threads.iter().position(|thread| waits(&thread.end));
        waiting.map(|thread| thread as u32)
    });
    let panics = |action: &Action| matches!(action, Action::Panic { .. });
    let events = index.events();
    let panic =
        events.iter().rposition(|event| panics(&event.action) && failure.thread == Some(event.thread));
    let last = || events.iter().rposition(|event| Some(event.thread) == thread);
    let event = panic.or_else(last).or(events.len().checked_sub(1));
    let mut questions = event.map_or_else(Vec::new, |event| about_event(index, event as u32));
    if failure.point_of_no_return.is_some() {
        questions.push(Question::PointOfNoReturn);
    }
    if failure.nearest_pass.is_some() {
        questions.push(Question::NearestPass);
    }
    questions
}

/// The last event that read or wrote a value.
fn with_value(index: &Index<'_>, text: &str) -> Result<u32, NoAnswer> {
    let wanted = parse_value(text).ok_or_else(|| {
        NoAnswer(format!("`{text}` is not a value: give a number such as `=5` or `=0x7f00`"))
    })?;
    let has_value = |action: &Action| values(action).any(|value| value == wanted);
    let found = index.events().iter().rposition(|event| has_value(&event.action));
    found
        .map(|event| event as u32)
        .ok_or_else(|| NoAnswer(format!("no event reads or writes the value {text}")))
}

fn parse_value(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let value = match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(Value(value))
}
