//! An append-only log.

use super::{Named, misfit, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A log, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

/// An operation of a [`Log`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogOp {
    /// Adds at the end; returns the offset, or an echo that is not an offset (a nil).
    Append(Value),
    /// Returns the entry at an offset; nil if the log is not that long.
    ReadAt(usize),
    /// Returns all entries.
    Read,
    /// Returns how many entries there are.
    Length,
}

use LogOp::{Append, Length, Read, ReadAt};

impl Model for Log {
    type State = Vec<Value>;
    type Input = LogOp;
    type Output = Value;

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(
        &self,
        log: &Vec<Value>,
        op: &LogOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = Vec<Value>> {
        let fits = match (op, output) {
            (_, None) | (Append(_), Some(Value::Nil)) => true,
            (Append(_) | Length, Some(seen)) => *seen == Value::Int(log.len() as i64),
            (ReadAt(offset), Some(seen)) => log.get(*offset).unwrap_or(&Value::Nil) == seen,
            (Read, Some(seen)) => seen.as_list().unwrap_or(&[]) == log.as_slice(),
        };
        let entry = match op {
            Append(value) => Some(value),
            _ => None,
        };
        fits.then(|| log.iter().chain(entry).cloned().collect())
    }

    fn is_read_only(&self, op: &LogOp, _: Option<&Value>) -> bool {
        !matches!(op, Append(_))
    }

    fn describe(&self, op: &LogOp, output: Option<&Value>) -> String {
        match op {
            Append(value) => sentence("append", value, output),
            ReadAt(offset) => sentence("read", offset, output),
            Read => sentence("read", "", output),
            Length => sentence("length", "", output),
        }
    }

    fn describe_state(&self, log: &Vec<Value>) -> String {
        super::shown_list(log.iter())
    }

    fn state_bytes(&self, log: &Vec<Value>) -> usize {
        size_of_val(log) + log.iter().map(|v| size_of::<Value>() + v.heap_bytes()).sum::<usize>()
    }
}

impl Named for Log {
    fn operation(&self, name: &str, argument: &Value) -> Result<LogOp, String> {
        match (name, argument) {
            ("append", _) => Ok(Append(argument.clone())),
            ("read", Value::Nil) => Ok(Read),
            ("read", Value::Int(offset)) if *offset >= 0 => Ok(ReadAt(*offset as usize)),
            ("read", _) => misfit(name, "an offset or nothing", argument),
            ("length" | "len", _) => Ok(Length),
            _ => unknown(name, &["append", "read", "length"]),
        }
    }
}
