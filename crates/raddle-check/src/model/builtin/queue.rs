//! First in, first out, with or without a bound.

use std::collections::VecDeque;

use super::{Named, sentence, unknown};
use crate::contract::Cost;
use crate::history::Operation;
use crate::model::Model;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// A queue, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// The most elements it holds; an enqueue beyond returns `false` and does nothing.
    pub capacity: Option<usize>,
    /// How far from the head a dequeue may take: 0 is a queue, `k` a k-out-of-order queue, which may also report
    /// empty while it holds up to `k` elements.
    pub slack: usize,
    /// Whether nil is never an element, so that nil always means empty: checkers find out by [`Model::focus`].
    pub without_nil: bool,
}

/// An operation of a [`Queue`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueOp {
    /// Adds at the back. Returns `false` if the queue is full; anything else is success.
    Enqueue(Value),
    /// Takes from the front; nil if the queue is empty.
    Dequeue,
    /// Returns the front; nil if the queue is empty.
    Peek,
}

use QueueOp::{Dequeue, Enqueue, Peek};

impl Queue {
    /// A queue without a bound.
    pub fn new() -> Queue {
        Queue::default()
    }

    /// A queue of at most `capacity` elements.
    pub fn bounded(capacity: usize) -> Queue {
        Queue { capacity: Some(capacity), ..Queue::new() }
    }

    /// The positions a dequeue or peek that saw `output` may have taken from if it may pass over `most` elements;
    /// `None` is that of an empty queue.
    fn positions(&self, queue: &VecDeque<Value>, output: Option<&Value>, most: usize) -> Vec<Option<usize>> {
        let reach = queue.len().min(most.saturating_add(1));
        let mut positions: Vec<Option<usize>> =
            (0..reach).filter(|&i| output.is_none_or(|seen| *seen == queue[i])).map(Some).collect();
        if queue.len() <= most && output.is_none_or(Value::is_nil) {
            positions.push(None);
        }
        positions
    }

    /// Like [`Model::step`] for a dequeue or peek that may pass over `most` elements, with how many it does.
    fn removals(
        &self,
        queue: &VecDeque<Value>,
        op: &QueueOp,
        output: Option<&Value>,
        most: usize,
    ) -> Vec<(VecDeque<Value>, usize)> {
        let taken = |position: Option<usize>| {
            let mut next = queue.clone();
            if *op == Dequeue
                && let Some(i) = position
            {
                next.remove(i);
            }
            (next, position.unwrap_or(queue.len()))
        };
        self.positions(queue, output, most).into_iter().map(taken).collect()
    }
}

impl Model for Queue {
    type State = VecDeque<Value>;
    type Input = QueueOp;
    type Output = Value;

    fn init(&self) -> VecDeque<Value> {
        VecDeque::new()
    }

    fn step(
        &self,
        queue: &VecDeque<Value>,
        op: &QueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = VecDeque<Value>> {
        match op {
            Enqueue(value) => {
                let full = self.capacity.is_some_and(|capacity| queue.len() >= capacity);
                let fits = output.is_none_or(|seen| full == (*seen == Value::Bool(false)));
                let next = || {
                    let mut next = queue.clone();
                    if !full {
                        next.push_back(value.clone());
                    }
                    next
                };
                if fits { vec![next()] } else { vec![] }
            }
            Dequeue => {
                let removals = self.removals(queue, op, output, self.slack).into_iter();
                removals.map(|(next, _)| next).collect()
            }
            Peek if self.positions(queue, output, self.slack).is_empty() => vec![],
            Peek => vec![queue.clone()],
        }
    }

    fn is_read_only(&self, op: &QueueOp, output: Option<&Value>) -> bool {
        match op {
            Enqueue(_) => output == Some(&Value::Bool(false)),
            Dequeue => self.without_nil && output == Some(&Value::Nil),
            Peek => true,
        }
    }

    fn describe(&self, op: &QueueOp, output: Option<&Value>) -> String {
        match op {
            Enqueue(value) => {
                let failed = output.filter(|seen| **seen == Value::Bool(false));
                sentence("enqueue", value, failed.or(output.map(|_| &Value::Nil)))
            }
            Dequeue => format!("dequeue() -> {}", super::shown(output, "empty")),
            Peek => format!("peek() -> {}", super::shown(output, "empty")),
        }
    }

    fn describe_state(&self, queue: &VecDeque<Value>) -> String {
        super::shown_list(queue.iter())
    }

    fn state_bytes(&self, queue: &VecDeque<Value>) -> usize {
        size_of_val(queue) + queue.iter().map(|v| size_of::<Value>() + v.heap_bytes()).sum::<usize>()
    }

    fn has_costs(&self) -> bool {
        true
    }

    fn step_with_cost(
        &self,
        queue: &VecDeque<Value>,
        op: &QueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = (VecDeque<Value>, Cost)> {
        if matches!(op, Enqueue(_)) {
            let steps = self.step(queue, op, output).into_iter();
            return steps.map(|next| (next, Cost::Exempt)).collect::<Vec<_>>();
        }
        let removals = self.removals(queue, op, output, usize::MAX).into_iter();
        removals.map(|(next, passed)| (next, Cost::Of(passed.saturating_sub(self.slack)))).collect()
    }

    fn results(&self, queue: &VecDeque<Value>, op: &QueueOp) -> Vec<Value> {
        match op {
            Enqueue(_) => vec![Value::Bool(self.capacity.is_none_or(|capacity| queue.len() < capacity))],
            Dequeue | Peek => {
                let positions = self.positions(queue, None, self.slack).into_iter();
                positions.map(|position| position.map_or(Value::Nil, |i| queue[i].clone())).collect()
            }
        }
    }

    fn focus(&self, operations: &[&Operation<QueueOp, Value>]) -> Option<Queue> {
        let adds_nil =
            |operation: &&Operation<QueueOp, Value>| matches!(operation.input, Enqueue(Value::Nil));
        let is_news = !self.without_nil && !operations.iter().any(adds_nil);
        is_news.then_some(Queue { without_nil: true, ..*self })
    }

    fn collection(&self) -> Option<Collection> {
        (self.capacity.is_none() && self.slack == 0).then_some(Collection::Queue)
    }

    fn role(&self, op: &QueueOp, output: Option<&Value>) -> Option<Role> {
        match (op, output) {
            (Enqueue(_), Some(Value::Bool(false))) => None,
            // Then nil is not always empty.
            (Enqueue(Value::Nil), _) => None,
            (Enqueue(value), _) => Some(Role::Add(value.clone())),
            (Dequeue | Peek, Some(Value::Nil)) => Some(Role::Empty),
            (Dequeue, Some(value)) => Some(Role::Remove(value.clone())),
            (Peek, Some(value)) => Some(Role::Peek(value.clone())),
            (Dequeue | Peek, None) => None,
        }
    }
}

impl Named for Queue {
    fn operation(&self, name: &str, argument: &Value) -> Result<QueueOp, String> {
        match name {
            "enqueue" | "enq" | "push" | "add" | "send" => Ok(Enqueue(argument.clone())),
            "dequeue" | "deq" | "pop" | "recv" => Ok(Dequeue),
            "peek" => Ok(Peek),
            _ => unknown(name, &["enqueue", "dequeue", "peek"]),
        }
    }
}
