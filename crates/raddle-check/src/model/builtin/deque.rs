//! A queue with two ends.

use std::collections::VecDeque;

use super::{Named, sentence, unknown};
use crate::history::Operation;
use crate::model::Model;
use crate::value::Value;

/// A double-ended queue, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deque {
    /// Whether nil is never an element, so that nil always means empty: checkers find out by [`Model::focus`].
    pub without_nil: bool,
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The front.
    Front,
    /// The back.
    Back,
}

/// An operation of a [`Deque`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DequeOp {
    /// Adds at an end.
    Push(End, Value),
    /// Takes from an end; nil if the deque is empty.
    Pop(End),
    /// Returns what is at an end; nil if the deque is empty.
    Peek(End),
}

use DequeOp::{Peek, Pop, Push};
use End::{Back, Front};

impl Model for Deque {
    type State = VecDeque<Value>;
    type Input = DequeOp;
    type Output = Value;

    fn init(&self) -> VecDeque<Value> {
        VecDeque::new()
    }

    fn step(
        &self,
        deque: &VecDeque<Value>,
        op: &DequeOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = VecDeque<Value>> {
        let mut next = deque.clone();
        let result = match op {
            Push(Front, value) => {
                next.push_front(value.clone());
                None
            }
            Push(Back, value) => {
                next.push_back(value.clone());
                None
            }
            Pop(Front) => Some(next.pop_front().unwrap_or_default()),
            Pop(Back) => Some(next.pop_back().unwrap_or_default()),
            Peek(Front) => Some(deque.front().cloned().unwrap_or_default()),
            Peek(Back) => Some(deque.back().cloned().unwrap_or_default()),
        };
        let fits = match (output, result) {
            (Some(seen), Some(result)) => *seen == result,
            _ => true,
        };
        fits.then_some(next)
    }

    fn is_read_only(&self, op: &DequeOp, output: Option<&Value>) -> bool {
        match op {
            Push(..) => false,
            Pop(_) => self.without_nil && output == Some(&Value::Nil),
            Peek(_) => true,
        }
    }

    fn describe(&self, op: &DequeOp, output: Option<&Value>) -> String {
        let end = |end: &End| if *end == Front { "front" } else { "back" };
        match op {
            Push(at, value) => sentence(&format!("push-{}", end(at)), value, output.map(|_| &Value::Nil)),
            Pop(at) => format!("pop-{}() -> {}", end(at), super::shown(output, "empty")),
            Peek(at) => format!("peek-{}() -> {}", end(at), super::shown(output, "empty")),
        }
    }

    fn describe_state(&self, deque: &VecDeque<Value>) -> String {
        super::shown_list(deque.iter())
    }

    fn state_bytes(&self, deque: &VecDeque<Value>) -> usize {
        size_of_val(deque) + deque.iter().map(|v| size_of::<Value>() + v.heap_bytes()).sum::<usize>()
    }

    fn focus(&self, operations: &[&Operation<DequeOp, Value>]) -> Option<Deque> {
        let adds_nil =
            |operation: &&Operation<DequeOp, Value>| matches!(operation.input, Push(_, Value::Nil));
        let is_news = !self.without_nil && !operations.iter().any(adds_nil);
        is_news.then_some(Deque { without_nil: true })
    }
}

impl Named for Deque {
    fn operation(&self, name: &str, argument: &Value) -> Result<DequeOp, String> {
        match name {
            "push-front" => Ok(Push(Front, argument.clone())),
            "push-back" => Ok(Push(Back, argument.clone())),
            "pop-front" => Ok(Pop(Front)),
            "pop-back" => Ok(Pop(Back)),
            "peek-front" => Ok(Peek(Front)),
            "peek-back" => Ok(Peek(Back)),
            _ => unknown(
                name,
                &["push-front", "push-back", "pop-front", "pop-back", "peek-front", "peek-back"],
            ),
        }
    }
}
