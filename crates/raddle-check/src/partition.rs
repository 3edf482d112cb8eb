//! Splitting a history into independent parts (P-compositionality: Horn and Kroening 2015).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::history::History;
use crate::model::Model;
use crate::value::Value;

/// Some operations of a history, by index.
pub(crate) struct Piece {
    pub(crate) key: Option<Value>,
    pub(crate) operations: Vec<usize>,
}

/// The whole history as one piece.
pub(crate) fn whole<I, O>(history: &History<I, O>) -> Vec<Piece> {
    vec![Piece { key: None, operations: (0..history.operations().len()).collect() }]
}

/// Splits by the model's key, if every operation has one; the error says why not.
pub(crate) fn by_key<M: Model>(
    history: &History<M::Input, M::Output>,
    model: &M,
) -> Result<Vec<Piece>, String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    for (index, operation) in history.operations().iter().enumerate() {
        let Some(key) = model.partition(&operation.input) else {
            return Err(match index {
                0 => "the model does not split this history".into(),
                _ => format!(
                    "not split: {} does not concern one key only",
                    model.describe(&operation.input, None)
                ),
            });
        };
        let number = match numbers.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                pieces.push(Piece { key: Some(entry.key().clone()), operations: Vec::new() });
                *entry.insert(pieces.len() - 1)
            }
        };
        pieces[number].operations.push(index);
    }
    if pieces.is_empty() { Err("the history is empty".into()) } else { Ok(pieces) }
}
