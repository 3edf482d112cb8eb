//! Text that is put, appended to and read whole: one key of a key-value store.

use std::sync::Arc;

use super::{Model, Named, misfit, sentence, unknown};
use crate::history::Operation;
use crate::model::keyed::Keyed;
use crate::value::Value;

/// A key-value store with append: a [`Text`] under every key.
pub type Kv = Keyed<Text>;

/// A text, empty at first.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// What the operations of the history saw, sorted, if that is known.
    seen: Option<Arc<Vec<String>>>,
}

/// What a [`Text`] holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Held {
    /// This.
    Text(Arc<String>),
    /// Something that no operation of this history sees, and none sees anything it can be appended to become.
    Unseen,
}

/// An operation of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextOp {
    /// Returns the text.
    Get,
    /// Replaces the text; whatever it returns is taken as an echo.
    Put(Arc<String>),
    /// Adds to the end; whatever it returns is taken as an echo.
    Append(Arc<String>),
}

use TextOp::{Append, Get, Put};

impl Text {
    /// An empty text.
    pub fn new() -> Text {
        Text::default()
    }

    fn hold(&self, text: Arc<String>) -> Held {
        let Some(seen) = &self.seen else { return Held::Text(text) };
        // What starts with the text sorts right behind it.
        let next = seen.partition_point(|other| *other < *text);
        match seen.get(next) {
            Some(other) if other.starts_with(text.as_str()) => Held::Text(text),
            _ => Held::Unseen,
        }
    }
}

impl Model for Text {
    type State = Held;
    type Input = TextOp;
    type Output = Value;

    fn init(&self) -> Held {
        Held::Text(Arc::default())
    }

    fn step(&self, held: &Held, op: &TextOp, output: Option<&Value>) -> impl IntoIterator<Item = Held> {
        match (op, held) {
            (Get, Held::Text(text)) => output.is_none_or(|seen| sees(seen, text)).then(|| held.clone()),
            (Get, Held::Unseen) => output.is_none().then_some(Held::Unseen),
            (Put(text), _) => Some(self.hold(text.clone())),
            (Append(tail), Held::Text(text)) => Some(self.hold(Arc::new(format!("{text}{tail}")))),
            (Append(_), Held::Unseen) => Some(Held::Unseen),
        }
    }

    fn is_read_only(&self, op: &TextOp, _: Option<&Value>) -> bool {
        matches!(op, Get)
    }

    fn describe(&self, op: &TextOp, output: Option<&Value>) -> String {
        match op {
            Get => format!("get() -> {}", output.map_or("?".into(), Value::to_string)),
            Put(text) => sentence("put", format_args!("{text:?}"), output.map(|_| &Value::Nil)),
            Append(text) => sentence("append", format_args!("{text:?}"), output.map(|_| &Value::Nil)),
        }
    }

    fn describe_state(&self, held: &Held) -> String {
        match held {
            Held::Text(text) => format!("{text:?}"),
            Held::Unseen => "a text that no operation saw".into(),
        }
    }

    fn state_bytes(&self, held: &Held) -> usize {
        match held {
            Held::Text(text) => size_of::<Held>() + 40 + text.len(),
            Held::Unseen => size_of::<Held>(),
        }
    }

    fn focus(&self, operations: &[&Operation<TextOp, Value>]) -> Option<Text> {
        let reads = operations.iter().filter(|operation| operation.input == Get);
        let texts =
            reads.filter_map(|read| read.output()).map(|seen| seen.as_text().unwrap_or("").to_owned());
        let mut seen: Vec<String> = texts.collect();
        seen.sort_unstable();
        seen.dedup();
        Some(Text { seen: Some(Arc::new(seen)) })
    }
}

/// Whether a read of `text` may return `seen`: nil and the empty text are the same.
fn sees(seen: &Value, text: &str) -> bool {
    match seen {
        Value::Nil => text.is_empty(),
        _ => seen.as_text() == Some(text),
    }
}

impl Named for Text {
    fn operation(&self, name: &str, argument: &Value) -> Result<TextOp, String> {
        let text = |op: fn(Arc<String>) -> TextOp| match argument {
            Value::Text(text) => Ok(op(text.clone())),
            Value::Int(n) => Ok(op(Arc::new(n.to_string()))),
            _ => misfit(name, "a text", argument),
        };
        match name {
            "get" | "read" => Ok(Get),
            "put" | "write" => text(Put),
            "append" => text(Append),
            _ => unknown(name, &["get", "put", "append"]),
        }
    }
}
