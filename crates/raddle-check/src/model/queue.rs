//! First in, first out, with or without a bound.

use std::collections::VecDeque;

use super::{Named, sentence, unknown};
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
        Queue { capacity: Some(capacity), slack: 0 }
    }

    /// The positions a dequeue or peek that saw `output` may have taken from; `None` is that of an empty queue.
    fn positions(&self, queue: &VecDeque<Value>, output: Option<&Value>) -> Vec<Option<usize>> {
        let reach = queue.len().min(self.slack + 1);
        let mut positions: Vec<Option<usize>> =
            (0..reach).filter(|&i| output.is_none_or(|seen| *seen == queue[i])).map(Some).collect();
        if queue.len() <= self.slack && output.is_none_or(Value::is_nil) {
            positions.push(None);
        }
        positions
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
                let without = |position: Option<usize>| {
                    let mut next = queue.clone();
                    if let Some(i) = position {
                        next.remove(i);
                    }
                    next
                };
                self.positions(queue, output).into_iter().map(without).collect()
            }
            Peek if self.positions(queue, output).is_empty() => vec![],
            Peek => vec![queue.clone()],
        }
    }

    fn is_read_only(&self, op: &QueueOp, output: Option<&Value>) -> bool {
        match op {
            Enqueue(_) => output == Some(&Value::Bool(false)),
            Dequeue => output == Some(&Value::Nil),
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

    fn relaxed(&self, k: usize) -> Option<Queue> {
        Some(Queue { slack: k, ..*self })
    }

    fn collection(&self) -> Option<Collection> {
        (self.capacity.is_none() && self.slack == 0).then_some(Collection::Queue)
    }

    fn role(&self, op: &QueueOp, output: Option<&Value>) -> Option<Role> {
        match (op, output) {
            (Enqueue(_), Some(Value::Bool(false))) => None,
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
