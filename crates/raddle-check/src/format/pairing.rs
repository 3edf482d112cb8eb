//! Calls and returns, paired into operations of a model.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use super::{Error, Format, Kind, Record, records};
use crate::history::{History, Operation, Outcome};
use crate::model::Named;
use crate::value::Value;

/// What a record means for the operations so far. Operations are numbered by their calls, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<I> {
    /// A new operation was called.
    Call {
        /// By whom.
        process: u64,
        /// What it is.
        input: I,
    },
    /// An operation returned.
    Return {
        /// Its number.
        operation: usize,
        /// Its result.
        output: Value,
    },
    /// An operation did not happen.
    Never {
        /// Its number.
        operation: usize,
    },
    /// Nobody will learn how an operation ended.
    Unknown {
        /// Its number.
        operation: usize,
    },
    /// The whole system crashed. Operations that are open stay so for ever.
    Crash,
}

/// Follows which operation of each process is open.
#[derive(Debug)]
pub struct Pairing<'a, M> {
    model: &'a M,
    keyed: bool,
    open: FxHashMap<u64, Open>,
    calls: usize,
}

#[derive(Debug)]
struct Open {
    operation: usize,
    line: u64,
    name: String,
}

impl<'a, M: Named> Pairing<'a, M> {
    /// Pairs records of operations of `model`; if `keyed`, every operation is about the object under a key.
    pub fn new(model: &'a M, keyed: bool) -> Self {
        Pairing { model, keyed, open: FxHashMap::default(), calls: 0 }
    }

    /// Takes the next record.
    pub fn step(&mut self, record: Record) -> Result<Step<M::Input>, Error> {
        let Record { line, process, kind, name, key, value, .. } = record;
        if kind == Kind::Crash {
            self.open.clear();
            return Ok(Step::Crash);
        }
        if kind == Kind::Invoke {
            return self.call(line, process, name, key, value);
        }
        let Some(open) = self.open.remove(&process) else {
            let message = format!("process {process} ends `{name}`, but has no operation open");
            return Err(Error::new(line, message));
        };
        if open.name != name {
            let message = format!(
                "process {process} ends `{name}`, but the operation it has open is `{}` of line {}",
                open.name, open.line
            );
            return Err(Error::new(line, message));
        }
        let operation = open.operation;
        Ok(match kind {
            Kind::Ok => Step::Return { operation, output: self.output(key.is_some(), value) },
            Kind::Fail => Step::Never { operation },
            _ => Step::Unknown { operation },
        })
    }

    fn call(
        &mut self,
        line: u64,
        process: u64,
        name: String,
        key: Option<Value>,
        value: Value,
    ) -> Result<Step<M::Input>, Error> {
        if let Some(open) = self.open.get(&process) {
            let message = format!(
                "process {process} calls `{name}` while its `{}` of line {} is open: a process has one operation \
                 open at a time",
                open.name, open.line
            );
            return Err(Error::new(line, message));
        }
        let argument = match key {
            Some(key) if self.keyed => Value::from(vec![key, value]),
            Some(_) => {
                let message =
                    "the operation has a key, but the model is one object: check it with a partition by key";
                return Err(Error::new(line, message));
            }
            None => value,
        };
        let input = self.model.operation(&name, &argument).map_err(|message| Error::new(line, message))?;
        self.open.insert(process, Open { operation: self.calls, line, name });
        self.calls += 1;
        Ok(Step::Call { process, input })
    }

    /// The result in a return. Where the key is not a field of its own, it is half of the value.
    fn output(&self, has_key: bool, value: Value) -> Value {
        match value.as_pair() {
            Some((_, result)) if self.keyed && !has_key => result.clone(),
            _ => value,
        }
    }
}

/// A history from a file.
#[derive(Clone, Debug)]
pub struct Loaded<I> {
    /// The operations, without those that did not happen.
    pub history: History<I, Value>,
    /// The line of each operation's call.
    pub lines: Vec<u64>,
}

/// Reads a whole history of `model`.
pub fn read_history<M: Named>(
    reader: impl BufRead,
    format: Format,
    model: &M,
    keyed: bool,
) -> Result<Loaded<M::Input>, Error> {
    let mut pairing = Pairing::new(model, keyed);
    let mut loaded = Loaded { history: History::new(), lines: Vec::new() };
    let mut never = Vec::new();
    for (count, record) in records(reader, format).enumerate() {
        let record = record?;
        let (line, now) = (record.line, record.time.unwrap_or(count as u64));
        match pairing.step(record)? {
            Step::Call { process, input } => {
                loaded.history.push(Operation { process, call: now, input, outcome: Outcome::Unknown });
                loaded.lines.push(line);
            }
            Step::Return { operation, output } => loaded.history.respond_at(operation, output, now),
            Step::Never { operation } => never.push(operation),
            Step::Unknown { .. } => {}
            Step::Crash => loaded.history.push_crash(now),
        }
    }
    never.sort_unstable();
    let happened = |index: usize| never.binary_search(&index).is_err();
    let mut lines = 0;
    loaded.lines.retain(|_| {
        lines += 1;
        happened(lines - 1)
    });
    loaded.history.retain(happened);
    Ok(loaded)
}
