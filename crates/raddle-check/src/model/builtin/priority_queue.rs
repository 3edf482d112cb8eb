//! Best first.

use super::{Named, sentence, unknown};
use crate::contract::Cost;
use crate::history::Operation;
use crate::model::Model;
use crate::monitor::{Collection, Role, priority};
use crate::value::Value;

/// A priority queue, empty at first.
///
/// The priority of a pair is its first half, that of any other element is the element. Elements of equal priority
/// come out in any order.
#[derive(Clone, Copy, Debug, Default)]
pub struct PriorityQueue {
    /// Whether the smallest priority comes out first instead of the largest.
    pub smallest_first: bool,
    /// How many better elements a removal may pass over: 0 is a priority queue, `k` a k-out-of-order one, which may
    /// also report empty while it holds up to `k` elements.
    pub slack: usize,
    /// Whether nil is never an element, so that nil always means empty: checkers find out by [`Model::focus`].
    pub without_nil: bool,
}

/// An operation of a [`PriorityQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PriorityQueueOp {
    /// Adds.
    Insert(Value),
    /// Takes a best element; nil if the queue is empty.
    Remove,
    /// Returns a best element; nil if the queue is empty.
    Peek,
}

use PriorityQueueOp::{Insert, Peek, Remove};

impl PriorityQueue {
    /// A queue that gives its largest element first.
    pub fn new() -> PriorityQueue {
        PriorityQueue::default()
    }

    /// The elements that may be taken if up to `most` better ones may be passed over, with how many are. They are
    /// sorted, so equal ones are neighbours.
    fn candidates<'a>(
        &self,
        queue: &'a [Value],
        most: usize,
    ) -> impl Iterator<Item = (usize, &'a Value, usize)> {
        let smallest_first = self.smallest_first;
        let passed = move |element: &Value| {
            let mine = priority(element);
            let is_better = |other: &&Value| match smallest_first {
                true => priority(other) < mine,
                false => priority(other) > mine,
            };
            queue.iter().filter(is_better).count()
        };
        let candidates = queue.iter().enumerate().map(move |(i, element)| (i, element, passed(element)));
        candidates.filter(move |(.., passed)| *passed <= most)
    }

    /// The positions a removal or peek that saw `output` may have taken, with how many elements it passed over; `None`
    /// is that of an empty queue.
    fn positions(&self, queue: &[Value], output: Option<&Value>, most: usize) -> Vec<(Option<usize>, usize)> {
        let fitting = self.candidates(queue, most).filter(|(_, e, _)| output.is_none_or(|seen| seen == *e));
        let mut positions: Vec<_> = fitting.map(|(i, _, passed)| (Some(i), passed)).collect();
        if queue.len() <= most && output.is_none_or(Value::is_nil) {
            positions.push((None, queue.len()));
        }
        positions
    }

    /// Like [`Model::step`] for a removal or peek that may pass over `most` elements, with how many it does.
    fn removals(
        &self,
        queue: &[Value],
        op: &PriorityQueueOp,
        output: Option<&Value>,
        most: usize,
    ) -> Vec<(Vec<Value>, usize)> {
        let taken = |(position, passed): (Option<usize>, usize)| {
            let mut next = queue.to_vec();
            if *op == Remove
                && let Some(i) = position
            {
                next.remove(i);
            }
            (next, passed)
        };
        self.positions(queue, output, most).into_iter().map(taken).collect()
    }
}

impl Model for PriorityQueue {
    /// Sorted.
    type State = Vec<Value>;
    type Input = PriorityQueueOp;
    type Output = Value;

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(
        &self,
        queue: &Vec<Value>,
        op: &PriorityQueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = Vec<Value>> {
        match op {
            Insert(value) => {
                let mut next = queue.clone();
                next.insert(queue.partition_point(|other| other <= value), value.clone());
                vec![next]
            }
            Remove => {
                let removals = self.removals(queue, op, output, self.slack).into_iter();
                removals.map(|(next, _)| next).collect()
            }
            Peek if self.positions(queue, output, self.slack).is_empty() => vec![],
            Peek => vec![queue.clone()],
        }
    }

    fn is_read_only(&self, op: &PriorityQueueOp, output: Option<&Value>) -> bool {
        match op {
            Insert(_) => false,
            Remove => self.without_nil && output == Some(&Value::Nil),
            Peek => true,
        }
    }

    fn describe(&self, op: &PriorityQueueOp, output: Option<&Value>) -> String {
        match op {
            Insert(value) => sentence("insert", value, output.map(|_| &Value::Nil)),
            Remove => format!("remove() -> {}", super::shown(output, "empty")),
            Peek => format!("peek() -> {}", super::shown(output, "empty")),
        }
    }

    fn describe_state(&self, queue: &Vec<Value>) -> String {
        super::shown_list(queue.iter())
    }

    fn state_bytes(&self, queue: &Vec<Value>) -> usize {
        size_of_val(queue) + queue.iter().map(|v| size_of::<Value>() + v.heap_bytes()).sum::<usize>()
    }

    fn has_costs(&self) -> bool {
        true
    }

    fn step_with_cost(
        &self,
        queue: &Vec<Value>,
        op: &PriorityQueueOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = (Vec<Value>, Cost)> {
        if matches!(op, Insert(_)) {
            let steps = self.step(queue, op, output).into_iter();
            return steps.map(|next| (next, Cost::Exempt)).collect::<Vec<_>>();
        }
        let removals = self.removals(queue, op, output, usize::MAX).into_iter();
        removals.map(|(next, passed)| (next, Cost::Of(passed.saturating_sub(self.slack)))).collect()
    }

    fn results(&self, queue: &Vec<Value>, op: &PriorityQueueOp) -> Vec<Value> {
        match op {
            Insert(_) => vec![Value::Nil],
            Remove | Peek => {
                let positions = self.positions(queue, None, self.slack).into_iter();
                positions.map(|(position, _)| position.map_or(Value::Nil, |i| queue[i].clone())).collect()
            }
        }
    }

    fn focus(&self, operations: &[&Operation<PriorityQueueOp, Value>]) -> Option<PriorityQueue> {
        let adds_nil =
            |operation: &&Operation<PriorityQueueOp, Value>| matches!(operation.input, Insert(Value::Nil));
        let is_news = !self.without_nil && !operations.iter().any(adds_nil);
        is_news.then_some(PriorityQueue { without_nil: true, ..*self })
    }

    fn collection(&self) -> Option<Collection> {
        (self.slack == 0).then_some(Collection::PriorityQueue { smallest_first: self.smallest_first })
    }

    fn role(&self, op: &PriorityQueueOp, output: Option<&Value>) -> Option<Role> {
        match (op, output) {
            // Then nil is not always empty.
            (Insert(Value::Nil), _) => None,
            (Insert(value), _) => Some(Role::Add(value.clone())),
            (Remove | Peek, Some(Value::Nil)) => Some(Role::Empty),
            (Remove, Some(value)) => Some(Role::Remove(value.clone())),
            (Peek, Some(value)) => Some(Role::Peek(value.clone())),
            (Remove | Peek, None) => None,
        }
    }
}

impl Named for PriorityQueue {
    fn operation(&self, name: &str, argument: &Value) -> Result<PriorityQueueOp, String> {
        match name {
            "insert" | "add" | "push" => Ok(Insert(argument.clone())),
            "remove" | "poll" | "pop" => Ok(Remove),
            "peek" => Ok(Peek),
            _ => unknown(name, &["insert", "remove", "peek"]),
        }
    }
}
