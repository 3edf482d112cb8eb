//! Many registers, read and written several at once by transactions.

use std::collections::BTreeMap;

use super::{Named, describe_map, map_bytes, misfit, sentence, unknown};
use crate::model::Model;
use crate::model::register::Nil;
use crate::value::Value;

/// Registers under keys, nil at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct MultiRegister {
    /// What it means that a read returned nil.
    pub nil: Nil,
}

/// A transaction: its steps happen in order, with nothing in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transaction(pub Vec<Access>);

/// One step of a [`Transaction`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads a register; the value comes with the output of the transaction.
    Read(Value),
    /// Writes a register.
    Write(Value, Value),
}

use Access::{Read, Write};

impl Model for MultiRegister {
    type State = BTreeMap<Value, Value>;
    type Input = Transaction;
    /// The steps as pairs or triples `[:r key value]`, `[:w key value]`, with what the reads saw filled in.
    type Output = Value;

    fn init(&self) -> BTreeMap<Value, Value> {
        BTreeMap::new()
    }

    fn step(
        &self,
        state: &BTreeMap<Value, Value>,
        transaction: &Transaction,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = BTreeMap<Value, Value>> {
        let seen = output.map(|output| output.as_list().unwrap_or(&[]));
        if seen.is_some_and(|seen| seen.len() != transaction.0.len()) {
            return None;
        }
        let mut next = state.clone();
        for (i, access) in transaction.0.iter().enumerate() {
            match access {
                Write(key, value) => drop(next.insert(key.clone(), value.clone())),
                Read(key) => {
                    let held = next.get(key).unwrap_or(&Value::Nil);
                    let saw = seen.map(|seen| seen[i].as_list().and_then(|step| step.get(2)));
                    if saw.is_some_and(|saw| !self.nil.allows(saw.unwrap_or(&Value::Nil), held)) {
                        return None;
                    }
                }
            }
        }
        Some(next)
    }

    fn partition(&self, transaction: &Transaction) -> Option<Value> {
        let mut keys = transaction.0.iter().map(|access| match access {
            Read(key) | Write(key, _) => key,
        });
        let first = keys.next()?;
        keys.all(|key| key == first).then(|| first.clone())
    }

    fn is_read_only(&self, transaction: &Transaction, _: Option<&Value>) -> bool {
        transaction.0.iter().all(|access| matches!(access, Read(_)))
    }

    fn describe(&self, transaction: &Transaction, output: Option<&Value>) -> String {
        let step = |access: &Access| match access {
            Read(key) => format!("r {key}"),
            Write(key, value) => format!("w {key} {value}"),
        };
        let steps: Vec<String> = transaction.0.iter().map(step).collect();
        sentence("txn", steps.join(", "), output)
    }

    fn describe_state(&self, state: &BTreeMap<Value, Value>) -> String {
        describe_map(state)
    }

    fn state_bytes(&self, state: &BTreeMap<Value, Value>) -> usize {
        map_bytes(state)
    }
}

impl Named for MultiRegister {
    fn operation(&self, name: &str, argument: &Value) -> Result<Transaction, String> {
        let access = |value: &Value| {
            let [kind, key, rest @ ..] = value.as_list()? else { return None };
            match (kind.as_text()?.trim_start_matches(':'), rest) {
                ("r" | "read", _) => Some(Read(key.clone())),
                ("w" | "write", [value]) => Some(Write(key.clone(), value.clone())),
                _ => None,
            }
        };
        match name {
            "txn" | "transaction" => {
                let steps = argument.as_list().and_then(|list| list.iter().map(access).collect());
                steps.map_or_else(
                    || misfit(name, "a list of [:r key nil] and [:w key value]", argument),
                    |s| Ok(Transaction(s)),
                )
            }
            _ => unknown(name, &["txn"]),
        }
    }
}
