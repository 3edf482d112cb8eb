//! Keys with values.

use std::collections::BTreeMap;

use super::{Named, describe_map, map_bytes, misfit, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A map, empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Map;

/// An operation of a [`Map`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// Puts a value at a key; whatever it returns is taken as an echo.
    Put(Value, Value),
    /// Puts a value at a key and returns the one before, or nil.
    Insert(Value, Value),
    /// Returns the value at a key, or nil.
    Get(Value),
    /// Removes a key and returns its value, or nil.
    Remove(Value),
    /// Returns whether a key is there.
    Contains(Value),
    /// Returns how many keys there are.
    Size,
}

use MapOp::{Contains, Get, Insert, Put, Remove, Size};

impl Model for Map {
    type State = BTreeMap<Value, Value>;
    type Input = MapOp;
    type Output = Value;

    fn init(&self) -> BTreeMap<Value, Value> {
        BTreeMap::new()
    }

    fn step(
        &self,
        state: &BTreeMap<Value, Value>,
        op: &MapOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = BTreeMap<Value, Value>> {
        let mut next = state.clone();
        let result: Option<Value> = match op {
            Put(key, value) => {
                next.insert(key.clone(), value.clone());
                None
            }
            Insert(key, value) => Some(next.insert(key.clone(), value.clone()).unwrap_or_default()),
            Get(key) => Some(state.get(key).cloned().unwrap_or_default()),
            Remove(key) => Some(next.remove(key).unwrap_or_default()),
            Contains(key) => Some(Value::Bool(state.contains_key(key))),
            Size => Some(Value::Int(state.len() as i64)),
        };
        let fits = match (output, result) {
            (Some(seen), Some(result)) => *seen == result,
            _ => true,
        };
        fits.then_some(next)
    }

    fn partition(&self, op: &MapOp) -> Option<Value> {
        match op {
            Put(key, _) | Insert(key, _) | Get(key) | Remove(key) | Contains(key) => Some(key.clone()),
            Size => None,
        }
    }

    fn is_read_only(&self, op: &MapOp, _: Option<&Value>) -> bool {
        matches!(op, Get(_) | Contains(_) | Size)
    }

    fn describe(&self, op: &MapOp, output: Option<&Value>) -> String {
        match op {
            Put(key, value) => sentence("put", format_args!("{key}, {value}"), output.map(|_| &Value::Nil)),
            Insert(key, value) => sentence("insert", format_args!("{key}, {value}"), output),
            Get(key) => sentence("get", key, output),
            Remove(key) => sentence("remove", key, output),
            Contains(key) => sentence("contains", key, output),
            Size => sentence("size", "", output),
        }
    }

    fn describe_state(&self, state: &BTreeMap<Value, Value>) -> String {
        describe_map(state)
    }

    fn state_bytes(&self, state: &BTreeMap<Value, Value>) -> usize {
        map_bytes(state)
    }
}

impl Named for Map {
    fn operation(&self, name: &str, argument: &Value) -> Result<MapOp, String> {
        let pair = |op: fn(Value, Value) -> MapOp| match argument.as_pair() {
            Some((key, value)) => Ok(op(key.clone(), value.clone())),
            None => misfit(name, "a pair [key value]", argument),
        };
        match name {
            "put" => pair(Put),
            "insert" => pair(Insert),
            "get" | "read" => Ok(Get(argument.clone())),
            "remove" | "delete" => Ok(Remove(argument.clone())),
            "contains" => Ok(Contains(argument.clone())),
            "size" | "len" => Ok(Size),
            _ => unknown(name, &["put", "insert", "get", "remove", "contains", "size"]),
        }
    }
}
