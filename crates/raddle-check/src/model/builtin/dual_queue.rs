//! A blocking queue, as a dual data structure (Scherer and Scott 2004): a take that has to wait is two operations,
//! the request that leaves a reservation behind and the follow-up that collects what was put for it.

use std::collections::VecDeque;

use super::{Named, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A queue whose takes wait for elements, first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct DualQueue;

/// What a [`DualQueue`] holds: elements or reservations, never both, and what fulfilled reservations wait to collect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waiting {
    elements: VecDeque<Value>,
    reservations: VecDeque<Value>,
    /// Ticket and element, by ticket.
    fulfilled: Vec<(Value, Value)>,
}

/// An operation of a [`DualQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DualQueueOp {
    /// Gives an element to the oldest reservation, or adds it at the back.
    Put(Value),
    /// Takes from the front, or returns `[:suspended ticket]` and leaves a reservation. The ticket names the
    /// reservation in the rest of the history; no two are alike.
    Take,
    /// Returns the element that was given to the reservation; possible only once there is one.
    FollowUp(Value),
    /// Withdraws the reservation; returns `false` if it has an element, which it keeps.
    Cancel(Value),
}

use DualQueueOp::{Cancel, FollowUp, Put, Take};

impl Model for DualQueue {
    type State = Waiting;
    type Input = DualQueueOp;
    type Output = Value;

    fn init(&self) -> Waiting {
        Waiting::default()
    }

    fn step(
        &self,
        state: &Waiting,
        op: &DualQueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = Waiting> {
        let mut next = state.clone();
        match op {
            Put(value) => {
                match next.reservations.pop_front() {
                    Some(ticket) => {
                        let at = next.fulfilled.partition_point(|(other, _)| *other < ticket);
                        next.fulfilled.insert(at, (ticket, value.clone()));
                    }
                    None => next.elements.push_back(value.clone()),
                }
                vec![next]
            }
            Take => match (next.elements.pop_front(), output) {
                (Some(_), None) => vec![next],
                (Some(value), Some(seen)) if value == *seen => vec![next],
                (Some(_), Some(_)) => vec![],
                // It may have left a reservation that nobody follows up and that swallows an element.
                (None, None) => {
                    next.reservations.push_back(Value::Nil);
                    vec![next, state.clone()]
                }
                (None, Some(seen)) => match suspended(seen) {
                    Some(ticket) => {
                        next.reservations.push_back(ticket.clone());
                        vec![next]
                    }
                    None => vec![],
                },
            },
            FollowUp(ticket) => match next.fulfilled.iter().position(|(other, _)| other == ticket) {
                Some(at) if output.is_none_or(|seen| *seen == next.fulfilled[at].1) => {
                    next.fulfilled.remove(at);
                    vec![next]
                }
                _ => vec![],
            },
            Cancel(ticket) => {
                let at = next.reservations.iter().position(|other| other == ticket);
                if let Some(at) = at {
                    next.reservations.remove(at);
                }
                let fits = output.is_none_or(|seen| at.is_some() == (*seen != Value::Bool(false)));
                if fits { vec![next] } else { vec![] }
            }
        }
    }

    fn is_read_only(&self, op: &DualQueueOp, output: Option<&Value>) -> bool {
        matches!(op, Cancel(_)) && output == Some(&Value::Bool(false))
    }

    fn describe(&self, op: &DualQueueOp, output: Option<&Value>) -> String {
        match op {
            Put(value) => sentence("put", value, output.map(|_| &Value::Nil)),
            Take => sentence("take", "", output),
            FollowUp(ticket) => sentence("follow-up", ticket, output),
            Cancel(ticket) => sentence("cancel", ticket, output),
        }
    }

    fn describe_state(&self, state: &Waiting) -> String {
        let mut words = super::shown_list(state.elements.iter());
        if !state.reservations.is_empty() {
            words += &format!(", waiting {}", super::shown_list(state.reservations.iter()));
        }
        for (ticket, value) in &state.fulfilled {
            words += &format!(", {value} for {ticket}");
        }
        words
    }

    fn state_bytes(&self, state: &Waiting) -> usize {
        let values = state.elements.len() + state.reservations.len() + 2 * state.fulfilled.len();
        size_of_val(state) + values * size_of::<Value>()
    }
}

/// The ticket in `[:suspended ticket]`.
fn suspended(output: &Value) -> Option<&Value> {
    let (word, ticket) = output.as_pair()?;
    matches!(word.as_text(), Some(":suspended" | "suspended")).then_some(ticket)
}

impl Named for DualQueue {
    fn operation(&self, name: &str, argument: &Value) -> Result<DualQueueOp, String> {
        match name {
            "put" | "send" => Ok(Put(argument.clone())),
            "take" | "receive" => Ok(Take),
            "follow-up" => Ok(FollowUp(argument.clone())),
            "cancel" => Ok(Cancel(argument.clone())),
            _ => unknown(name, &["put", "take", "follow-up", "cancel"]),
        }
    }
}
