//! Last in, first out.

use super::{Named, sentence, unknown};
use crate::contract::Cost;
use crate::history::Operation;
use crate::model::Model;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// A stack, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack {
    /// How far from the top a pop may take: 0 is a stack, `k` a k-out-of-order stack, which may also report empty
    /// while it holds up to `k` elements.
    pub slack: usize,
    /// Whether nil is never an element, so that nil always means empty: checkers find out by [`Model::focus`].
    pub without_nil: bool,
}

/// An operation of a [`Stack`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StackOp {
    /// Adds on top.
    Push(Value),
    /// Takes from the top; nil if the stack is empty.
    Pop,
    /// Returns the top; nil if the stack is empty.
    Peek,
}

use StackOp::{Peek, Pop, Push};

impl Stack {
    /// A stack.
    pub fn new() -> Stack {
        Stack::default()
    }

    /// The indices a pop or peek that saw `output` may have taken if it may pass over `most` elements; `None` is that
    /// of an empty stack.
    fn positions(&self, stack: &[Value], output: Option<&Value>, most: usize) -> Vec<Option<usize>> {
        let bottom = stack.len().saturating_sub(most.saturating_add(1));
        let mut positions: Vec<Option<usize>> = (bottom..stack.len())
            .filter(|&i| output.is_none_or(|seen| *seen == stack[i]))
            .map(Some)
            .collect();
        if stack.len() <= most && output.is_none_or(Value::is_nil) {
            positions.push(None);
        }
        positions
    }

    /// Like [`Model::step`] for a pop or peek that may pass over `most` elements, with how many it does.
    fn removals(
        &self,
        stack: &[Value],
        op: &StackOp,
        output: Option<&Value>,
        most: usize,
    ) -> Vec<(Vec<Value>, usize)> {
        let taken = |position: Option<usize>| {
            let mut next = stack.to_vec();
            if *op == Pop
                && let Some(i) = position
            {
                next.remove(i);
            }
            (next, position.map_or(stack.len(), |i| stack.len() - 1 - i))
        };
        self.positions(stack, output, most).into_iter().map(taken).collect()
    }
}

impl Model for Stack {
    type State = Vec<Value>;
    type Input = StackOp;
    type Output = Value;

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(
        &self,
        stack: &Vec<Value>,
        op: &StackOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = Vec<Value>> {
        match op {
            Push(value) => vec![stack.iter().chain([value]).cloned().collect()],
            Pop => {
                let removals = self.removals(stack, op, output, self.slack).into_iter();
                removals.map(|(next, _)| next).collect()
            }
            Peek if self.positions(stack, output, self.slack).is_empty() => vec![],
            Peek => vec![stack.clone()],
        }
    }

    fn is_read_only(&self, op: &StackOp, output: Option<&Value>) -> bool {
        match op {
            Push(_) => false,
            Pop => self.without_nil && output == Some(&Value::Nil),
            Peek => true,
        }
    }

    fn describe(&self, op: &StackOp, output: Option<&Value>) -> String {
        match op {
            Push(value) => sentence("push", value, output.map(|_| &Value::Nil)),
            Pop => format!("pop() -> {}", super::shown(output, "empty")),
            Peek => format!("peek() -> {}", super::shown(output, "empty")),
        }
    }

    fn describe_state(&self, stack: &Vec<Value>) -> String {
        super::shown_list(stack.iter())
    }

    fn state_bytes(&self, stack: &Vec<Value>) -> usize {
        size_of_val(stack) + stack.iter().map(|v| size_of::<Value>() + v.heap_bytes()).sum::<usize>()
    }

    fn has_costs(&self) -> bool {
        true
    }

    fn step_with_cost(
        &self,
        stack: &Vec<Value>,
        op: &StackOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = (Vec<Value>, Cost)> {
        if matches!(op, Push(_)) {
            let steps = self.step(stack, op, output).into_iter();
            return steps.map(|next| (next, Cost::Exempt)).collect::<Vec<_>>();
        }
        let removals = self.removals(stack, op, output, usize::MAX).into_iter();
        removals.map(|(next, passed)| (next, Cost::Of(passed.saturating_sub(self.slack)))).collect()
    }

    fn results(&self, stack: &Vec<Value>, op: &StackOp) -> Vec<Value> {
        match op {
            Push(_) => vec![Value::Nil],
            Pop | Peek => {
                let positions = self.positions(stack, None, self.slack).into_iter();
                positions.map(|position| position.map_or(Value::Nil, |i| stack[i].clone())).collect()
            }
        }
    }

    fn focus(&self, operations: &[&Operation<StackOp, Value>]) -> Option<Stack> {
        let adds_nil = |operation: &&Operation<StackOp, Value>| matches!(operation.input, Push(Value::Nil));
        let is_news = !self.without_nil && !operations.iter().any(adds_nil);
        is_news.then_some(Stack { without_nil: true, ..*self })
    }

    fn collection(&self) -> Option<Collection> {
        (self.slack == 0).then_some(Collection::Stack)
    }

    fn role(&self, op: &StackOp, output: Option<&Value>) -> Option<Role> {
        match (op, output) {
            // Then nil is not always empty.
            (Push(Value::Nil), _) => None,
            (Push(value), _) => Some(Role::Add(value.clone())),
            (Pop | Peek, Some(Value::Nil)) => Some(Role::Empty),
            (Pop, Some(value)) => Some(Role::Remove(value.clone())),
            (Peek, Some(value)) => Some(Role::Peek(value.clone())),
            (Pop | Peek, None) => None,
        }
    }
}

impl Named for Stack {
    fn operation(&self, name: &str, argument: &Value) -> Result<StackOp, String> {
        match name {
            "push" | "add" => Ok(Push(argument.clone())),
            "pop" | "remove" => Ok(Pop),
            "peek" | "top" => Ok(Peek),
            _ => unknown(name, &["push", "pop", "peek"]),
        }
    }
}
