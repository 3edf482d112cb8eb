//! The models that come with the checker, what makes one of another, and the list of those that have names.

pub mod bank;
pub mod catalog;
pub mod closure;
pub mod counter;
pub mod deque;
pub mod dual_queue;
pub mod erased;
pub mod keyed;
pub mod kv;
pub mod lock;
pub mod log;
pub mod map;
pub mod marked;
pub mod multi_register;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod set;
pub mod stack;
pub mod starting;

use std::collections::BTreeMap;

use super::Model;
use crate::value::Value;

/// A model whose operations a history file can spell.
pub trait Named: Model<Output = Value> {
    /// The operation called `name` with this argument; the error says what is wrong with them.
    fn operation(&self, name: &str, argument: &Value) -> Result<Self::Input, String>;
}

/// The error for an operation that a model does not have.
fn unknown<T>(name: &str, known: &[&str]) -> Result<T, String> {
    Err(format!("unknown operation `{name}`: this model has {}", known.join(", ")))
}

/// The error for an argument that does not fit.
fn misfit<T>(name: &str, wanted: &str, argument: &Value) -> Result<T, String> {
    Err(format!("`{name}` takes {wanted}, not {argument}"))
}

/// `name(argument) -> output`, the way every built-in model describes an operation.
fn sentence(name: &str, argument: impl std::fmt::Display, output: Option<&Value>) -> String {
    match output {
        Some(Value::Nil) => format!("{name}({argument})"),
        Some(output) => format!("{name}({argument}) -> {output}"),
        None => format!("{name}({argument}) -> ?"),
    }
}

/// A state that is a map, in words.
fn describe_map(map: &BTreeMap<Value, Value>) -> String {
    let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// The memory of a state that is a map.
fn map_bytes(map: &BTreeMap<Value, Value>) -> usize {
    const NODE: usize = 40;
    let entry = |(key, value): (&Value, &Value)| NODE + key.heap_bytes() + value.heap_bytes();
    size_of_val(map) + map.iter().map(entry).sum::<usize>()
}

/// An output in which nil means `nothing` and an unseen one is a question mark.
fn shown(output: Option<&Value>, nothing: &str) -> String {
    match output {
        None => "?".into(),
        Some(Value::Nil) => nothing.into(),
        Some(value) => value.to_string(),
    }
}

/// `[a b c]`; the middle of a long list is left out.
fn shown_list<'a>(values: impl ExactSizeIterator<Item = &'a Value>) -> String {
    const SHOWN: usize = 12;
    let len = values.len();
    let mut words: Vec<String> = Vec::new();
    for (i, value) in values.enumerate() {
        if len <= SHOWN || i < SHOWN / 2 || i >= len - SHOWN / 2 {
            words.push(value.to_string());
        } else if i == SHOWN / 2 {
            words.push(format!("… {} more …", len - SHOWN));
        }
    }
    format!("[{}]", words.join(" "))
}
