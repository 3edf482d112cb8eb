//! Elements that are present or not.

use std::collections::BTreeSet;

use super::{Named, sentence, unknown};
use crate::model::Model;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// A set, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Set;

/// An operation of a [`Set`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    /// Inserts; returns whether the element was absent, or an echo.
    Add(Value),
    /// Removes; returns whether the element was present, or an echo.
    Remove(Value),
    /// Returns whether the element is present.
    Contains(Value),
    /// Returns how many elements there are.
    Size,
    /// Returns all elements, in any order.
    Read,
}

use SetOp::{Add, Contains, Read, Remove, Size};

impl Model for Set {
    type State = BTreeSet<Value>;
    type Input = SetOp;
    type Output = Value;

    fn init(&self) -> BTreeSet<Value> {
        BTreeSet::new()
    }

    fn step(
        &self,
        state: &BTreeSet<Value>,
        op: &SetOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = BTreeSet<Value>> {
        let mut next = state.clone();
        let fits = match op {
            Add(element) => fits_bool(output, next.insert(element.clone())),
            Remove(element) => fits_bool(output, next.remove(element)),
            Contains(element) => output.is_none_or(|seen| *seen == Value::Bool(state.contains(element))),
            Size => output.is_none_or(|seen| *seen == Value::Int(state.len() as i64)),
            Read => output.is_none_or(|seen| {
                let seen: Option<BTreeSet<&Value>> = seen.as_list().map(|list| list.iter().collect());
                seen.is_some_and(|seen| seen.into_iter().eq(state.iter()))
            }),
        };
        fits.then_some(next)
    }

    fn partition(&self, op: &SetOp) -> Option<Value> {
        match op {
            Add(element) | Remove(element) | Contains(element) => Some(element.clone()),
            Size | Read => None,
        }
    }

    fn is_read_only(&self, op: &SetOp, output: Option<&Value>) -> bool {
        match op {
            Add(_) | Remove(_) => output == Some(&Value::Bool(false)),
            Contains(_) | Size | Read => true,
        }
    }

    fn describe(&self, op: &SetOp, output: Option<&Value>) -> String {
        match op {
            Add(element) => sentence("add", element, output),
            Remove(element) => sentence("remove", element, output),
            Contains(element) => sentence("contains", element, output),
            Size => sentence("size", "", output),
            Read => sentence("read", "", output),
        }
    }

    fn describe_state(&self, state: &BTreeSet<Value>) -> String {
        let elements: Vec<String> = state.iter().map(Value::to_string).collect();
        format!("{{{}}}", elements.join(" "))
    }

    fn state_bytes(&self, state: &BTreeSet<Value>) -> usize {
        size_of_val(state) + state.iter().map(|v| 24 + v.heap_bytes()).sum::<usize>()
    }

    fn collection(&self) -> Option<Collection> {
        Some(Collection::Set)
    }

    fn role(&self, op: &SetOp, output: Option<&Value>) -> Option<Role> {
        let Some(Value::Bool(output)) = output else { return None };
        match (op, output) {
            (Add(element), true) => Some(Role::Add(element.clone())),
            (Remove(element), true) => Some(Role::Remove(element.clone())),
            (Add(element), false) | (Contains(element), true) => Some(Role::Peek(element.clone())),
            (Remove(element), false) | (Contains(element), false) => Some(Role::Absent(element.clone())),
            (Size | Read, _) => None,
        }
    }
}

/// Whether the output of an update agrees with what it did; an echo always does.
fn fits_bool(output: Option<&Value>, changed: bool) -> bool {
    match output {
        Some(Value::Bool(seen)) => *seen == changed,
        _ => true,
    }
}

impl Named for Set {
    fn operation(&self, name: &str, argument: &Value) -> Result<SetOp, String> {
        match name {
            "add" | "insert" => Ok(Add(argument.clone())),
            "remove" | "delete" => Ok(Remove(argument.clone())),
            "contains" => Ok(Contains(argument.clone())),
            "size" | "len" => Ok(Size),
            "read" => Ok(Read),
            _ => unknown(name, &["add", "remove", "contains", "size", "read"]),
        }
    }
}
