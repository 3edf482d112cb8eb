//! A number that is added to and read.

use super::{Named, misfit, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A counter, 0 at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

/// An operation of a [`Counter`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CounterOp {
    /// Returns the number.
    Read,
    /// Adds; whatever it returns is taken as an echo.
    Add(i64),
    /// Adds and returns the sum.
    AddAndGet(i64),
    /// Adds and returns the number before.
    GetAndAdd(i64),
}

use CounterOp::{Add, AddAndGet, GetAndAdd, Read};

impl Model for Counter {
    type State = i64;
    type Input = CounterOp;
    type Output = Value;

    fn init(&self) -> i64 {
        0
    }

    fn step(&self, &before: &i64, op: &CounterOp, output: Option<&Value>) -> impl IntoIterator<Item = i64> {
        let (after, result) = apply(before, op);
        let fits = match (output, result) {
            (Some(seen), Some(result)) => *seen == Value::Int(result),
            _ => true,
        };
        fits.then_some(after)
    }

    fn is_read_only(&self, op: &CounterOp, _: Option<&Value>) -> bool {
        matches!(op, Read | Add(0) | AddAndGet(0) | GetAndAdd(0))
    }

    fn results(&self, &before: &i64, op: &CounterOp) -> Vec<Value> {
        vec![apply(before, op).1.into()]
    }

    fn describe(&self, op: &CounterOp, output: Option<&Value>) -> String {
        match op {
            Read => sentence("read", "", output),
            Add(n) => sentence("add", n, output.map(|_| &Value::Nil)),
            AddAndGet(n) => sentence("add-and-get", n, output),
            GetAndAdd(n) => sentence("get-and-add", n, output),
        }
    }
}

/// The number after the operation, and what it returns if that is not an echo.
fn apply(before: i64, op: &CounterOp) -> (i64, Option<i64>) {
    match *op {
        Read => (before, Some(before)),
        Add(n) => (before.wrapping_add(n), None),
        AddAndGet(n) => (before.wrapping_add(n), Some(before.wrapping_add(n))),
        GetAndAdd(n) => (before.wrapping_add(n), Some(before)),
    }
}

impl Named for Counter {
    fn operation(&self, name: &str, argument: &Value) -> Result<CounterOp, String> {
        let amount = |op: fn(i64) -> CounterOp| match argument.as_int() {
            Some(n) => Ok(op(n)),
            None => misfit(name, "an integer", argument),
        };
        match name {
            "read" => Ok(Read),
            "inc" | "increment" => Ok(Add(1)),
            "dec" | "decrement" => Ok(Add(-1)),
            "add" => amount(Add),
            "add-and-get" => amount(AddAndGet),
            "get-and-add" => amount(GetAndAdd),
            _ => unknown(name, &["read", "inc", "dec", "add", "add-and-get", "get-and-add"]),
        }
    }
}
