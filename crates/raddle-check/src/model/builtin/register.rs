//! One cell, read and written whole, with or without compare-and-set.

use super::{Named, misfit, sentence, unknown};
use crate::model::Model;
use crate::monitor::{Collection, Role};
use crate::value::Value;

/// A register with compare-and-set.
#[derive(Clone, Debug, Default)]
pub struct Register {
    /// What it holds at first.
    pub initial: Value,
    /// What it means that a read returned nil.
    pub nil: Nil,
}

/// What it means that a read returned nil.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nil {
    /// It saw nil.
    #[default]
    Value,
    /// Nobody knows what it saw, so any value will do: the reading of Knossos, on which histories of Jepsen rely.
    Anything,
}

impl Nil {
    /// Whether a read that returned `seen` may have seen `held`.
    pub(super) fn allows(self, seen: &Value, held: &Value) -> bool {
        seen == held || (self == Nil::Anything && seen.is_nil())
    }
}

/// An operation of a [`Register`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterOp {
    /// Returns what is held.
    Read,
    /// Replaces what is held; whatever it returns is taken as an echo.
    Write(Value),
    /// Replaces the first by the second. Returns `false` if something else was held; anything else is success.
    Cas(Value, Value),
}

use RegisterOp::{Cas, Read, Write};

impl Model for Register {
    type State = Value;
    type Input = RegisterOp;
    type Output = Value;

    fn init(&self) -> Value {
        self.initial.clone()
    }

    fn step(&self, held: &Value, op: &RegisterOp, output: Option<&Value>) -> impl IntoIterator<Item = Value> {
        match op {
            Read => output.is_none_or(|seen| self.nil.allows(seen, held)).then(|| held.clone()),
            Write(value) => Some(value.clone()),
            Cas(from, to) => {
                let swapped = held == from;
                let fits = output.is_none_or(|seen| swapped == (*seen != Value::Bool(false)));
                fits.then(|| if swapped { to.clone() } else { held.clone() })
            }
        }
    }

    fn is_read_only(&self, op: &RegisterOp, output: Option<&Value>) -> bool {
        match op {
            Read => true,
            Write(_) => false,
            Cas(from, to) => from == to || output == Some(&Value::Bool(false)),
        }
    }

    fn results(&self, held: &Value, op: &RegisterOp) -> Vec<Value> {
        match op {
            Read => vec![held.clone()],
            Write(_) => vec![Value::Nil],
            Cas(from, _) => vec![Value::Bool(held == from)],
        }
    }

    fn describe(&self, op: &RegisterOp, output: Option<&Value>) -> String {
        match op {
            Read => format!("read() -> {}", output.map_or("?".into(), Value::to_string)),
            Write(value) => sentence("write", value, output.map(|_| &Value::Nil)),
            Cas(from, to) => {
                let result = output.map(|seen| Value::Bool(*seen != Value::Bool(false)));
                sentence("cas", format_args!("{from}, {to}"), result.as_ref())
            }
        }
    }

    fn describe_state(&self, held: &Value) -> String {
        held.to_string()
    }

    fn state_bytes(&self, held: &Value) -> usize {
        size_of::<Value>() + held.heap_bytes()
    }

    fn collection(&self) -> Option<Collection> {
        Some(Collection::Register { initial: self.initial.clone() })
    }

    fn role(&self, op: &RegisterOp, output: Option<&Value>) -> Option<Role> {
        match op {
            Read if self.nil == Nil::Anything && output?.is_nil() => None,
            Read => Some(Role::Peek(output?.clone())),
            Write(value) => Some(Role::Add(value.clone())),
            Cas(..) => None,
        }
    }
}

impl Named for Register {
    fn operation(&self, name: &str, argument: &Value) -> Result<RegisterOp, String> {
        match name {
            "read" => Ok(Read),
            "write" => Ok(Write(argument.clone())),
            "cas" => match argument.as_pair() {
                Some((from, to)) => Ok(Cas(from.clone(), to.clone())),
                None => misfit(name, "a pair [expected new]", argument),
            },
            _ => unknown(name, &["read", "write", "cas"]),
        }
    }
}
