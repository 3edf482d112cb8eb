//! Objects: the memory that threads share, as typed values, and how events change them.
//!
//! The state of an object at an event is its value at the beginning ([`Objects::initial`]) with the changes of all events up to
//! that one ([`Event::changes`](super::Event::changes)) applied in the order of the trace: [`Objects::at`].

use serde::{Deserialize, Serialize};

use super::Trace;

/// The objects of an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// The names by which the code under test reaches objects: statics, locals, the object of a declarative test.
    pub roots: Vec<Root>,
    /// The objects, in the order of their first appearance. Changes and pointers refer to objects by index.
    pub list: Vec<Object>,
    /// The values of the objects that existed before the first event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<Change>,
    /// The event after which objects were not looked at any more, because that had taken too long or the values were too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u32>,
}

/// A name that leads to an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The name: `queue`, `COUNTER`, `self`.
    pub name: String,
    /// The object: an index into [`Objects::list`].
    pub object: u32,
}

/// A block of memory with a type: a static, a local, or a block of the heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The name, unique in the execution and the same in every replay: the type and a number, `Node#2`.
    pub name: String,
    /// The type as a person writes it, without paths: `Node<i32>`.
    #[serde(rename = "type")]
    pub of: String,
    /// The crate that declares the type; none for types without a path.
    #[serde(default, rename = "crate", skip_serializing_if = "Option::is_none")]
    pub in_crate: Option<String>,
    /// The address, which is the same in every replay.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The first event after which the object exists; none for objects that existed before the first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
    /// The first event after which the memory of the object is freed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed: Option<u32>,
}

/// A new value of an object, or of a part of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The object: an index into [`Objects::list`].
    pub object: u32,
    /// The changed part: the index of a child at each level, from the outside in; empty for the whole object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<u32>,
    /// The new value.
    pub value: Datum,
}

/// A value as its type describes it, with wrappers folded away: an `AtomicUsize` is a number, an `Arc<Node>` a pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Datum {
    /// A number, `bool`, `char`, string, or anything else that has no parts, as Rust's `Debug` would print it.
    Scalar(String),
    /// A pointer, reference or handle.
    Pointer(Pointer),
    /// A structure, tuple, or variant of an enum, with its fields by name.
    Fields {
        /// The type, or the variant: `Node`, `Some`; empty for tuples.
        name: String,
        /// The fields in the order of their declaration; those of tuples are named `0`, `1`, ...
        fields: Vec<Field>,
    },
    /// An array, slice, `Vec`, `VecDeque` or set.
    List {
        /// The elements; long lists are cut off.
        items: Vec<Datum>,
        /// The number of elements.
        length: u64,
    },
    /// A map, by its entries.
    Map {
        /// The entries; long maps are cut off.
        entries: Vec<(Datum, Datum)>,
        /// The number of entries.
        length: u64,
    },
    /// A lock and the value that it protects.
    Lock {
        /// The kind: `Mutex`, `RwLock`.
        kind: String,
        /// The state in words: `unlocked`, `locked`, `read-locked by 2`.
        state: String,
        /// The protected value; one element.
        value: Vec<Datum>,
    },
    /// A value whose memory is not initialised, not mapped, or of no known type, in words.
    Unknown(String),
}

/// One field of a structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// The value of the field.
    pub value: Datum,
}

/// The target of a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The object that the pointer leads to: an index into [`Objects::list`]; none for null and for pointers out of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<u32>,
    /// The address; 0 is null.
    pub address: u64,
    /// The bits below the alignment of the target, which some structures use for marks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tag: u64,
    /// Whether the memory of the target is freed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangling: bool,
}

impl Objects {
    /// The value of each object after an event of the trace (before the first one, if `event` is none). Objects that did not exist
    /// yet have no value.
    pub fn at(&self, trace: &Trace, event: Option<usize>) -> Vec<Option<Datum>> {
        let mut values = vec![None; self.list.len()];
        let events = event.map_or(&[][..], |event| &trace.events[..=event.min(trace.events.len() - 1)]);
        for change in self.initial.iter().chain(events.iter().flat_map(|event| &event.changes)) {
            change.apply(&mut values);
        }
        values
    }
}

impl Change {
    /// Makes the change. A change of a part that does not exist is ignored.
    pub fn apply(&self, values: &mut [Option<Datum>]) {
        let Some(whole) = values.get_mut(self.object as usize) else { return };
        if self.path.is_empty() {
            *whole = Some(self.value.clone());
            return;
        }
        let mut part = whole.as_mut();
        for &child in &self.path {
            part = part.and_then(|value| value.child_mut(child as usize));
        }
        if let Some(part) = part {
            *part = self.value.clone();
        }
    }
}

impl Datum {
    /// The changes that turn one value of an object into another.
    pub fn changes(&self, new: &Datum, object: u32) -> Vec<Change> {
        let mut changes = Vec::new();
        self.differences(new, object, &mut Vec::new(), &mut changes);
        changes
    }

    /// The parts of the value: fields, elements, keys and values of entries.
    pub fn children(&self) -> Vec<&Datum> {
        match self {
            Datum::Scalar(_) | Datum::Pointer(_) | Datum::Unknown(_) => Vec::new(),
            Datum::Fields { fields, .. } => fields.iter().map(|field| &field.value).collect(),
            Datum::List { items, .. } => items.iter().collect(),
            Datum::Map { entries, .. } => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
            Datum::Lock { value, .. } => value.iter().collect(),
        }
    }

    fn child_mut(&mut self, index: usize) -> Option<&mut Datum> {
        match self {
            Datum::Scalar(_) | Datum::Pointer(_) | Datum::Unknown(_) => None,
            Datum::Fields { fields, .. } => fields.get_mut(index).map(|field| &mut field.value),
            Datum::List { items, .. } => items.get_mut(index),
            Datum::Map { entries, .. } => {
                let (key, value) = entries.get_mut(index / 2)?;
                Some(if index.is_multiple_of(2) { key } else { value })
            }
            Datum::Lock { value, .. } => value.get_mut(index),
        }
    }

    fn differences(&self, new: &Datum, object: u32, path: &mut Vec<u32>, changes: &mut Vec<Change>) {
        if self == new {
            return;
        }
        if !self.has_shape_of(new) {
            changes.push(Change { object, path: path.clone(), value: new.clone() });
            return;
        }
        for (index, (old, new)) in self.children().into_iter().zip(new.children()).enumerate() {
            path.push(index as u32);
            old.differences(new, object, path, changes);
            path.pop();
        }
    }

    /// Whether the values differ in their children alone.
    fn has_shape_of(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Fields { name, fields }, Datum::Fields { name: other, fields: others }) => {
                name == other
                    && fields.len() == others.len()
                    && fields.iter().zip(others).all(|(field, other)| field.name == other.name)
            }
            (Datum::List { items, length }, Datum::List { items: others, length: other }) => {
                length == other && items.len() == others.len()
            }
            (Datum::Map { entries, length }, Datum::Map { entries: others, length: other }) => {
                length == other && entries.len() == others.len()
            }
            (
                Datum::Lock { kind, state, value },
                Datum::Lock { kind: other, state: other_state, value: others },
            ) => kind == other && state == other_state && value.len() == others.len(),
            _ => false,
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Datum {
        Datum::Scalar(text.into())
    }

    fn node(value: &str, next: Datum) -> Datum {
        let field = |name: &str, value: Datum| Field { name: name.into(), value };
        Datum::Fields {
            name: "Node".into(),
            fields: vec![field("value", scalar(value)), field("next", next)],
        }
    }

    /// Every pair of these values is turned into each other.
    fn values() -> Vec<Datum> {
        let list = |items: &[&str], length| Datum::List {
            items: items.iter().map(|item| scalar(item)).collect(),
            length,
        };
        let map = |value: &str| Datum::Map { entries: vec![(scalar("1"), scalar(value))], length: 1 };
        let lock = |state: &str, value: &str| Datum::Lock {
            kind: "Mutex".into(),
            state: state.into(),
            value: vec![node(value, list(&["7"], 1))],
        };
        vec![
            scalar("1"),
            node("1", list(&["1", "2"], 2)),
            node("1", list(&["1", "3"], 2)),
            node("2", list(&["1"], 1)),
            node("2", list(&["1"], 9)),
            node("1", map("4")),
            node("3", map("5")),
            lock("unlocked", "1"),
            lock("unlocked", "2"),
            lock("locked", "1"),
            Datum::Unknown("not mapped".into()),
        ]
    }

    #[test]
    fn changes_turn_the_old_value_into_the_new_one() {
        for old in values() {
            for new in values() {
                let mut state = vec![None, Some(old.clone())];
                old.changes(&new, 1).iter().for_each(|change| change.apply(&mut state));
                assert_eq!(state, [None, Some(new)]);
            }
        }
    }

    #[test]
    fn changes_are_as_small_as_the_shape_allows() {
        let old = node("1", Datum::List { items: vec![scalar("1"), scalar("2")], length: 2 });
        let new = node("1", Datum::List { items: vec![scalar("1"), scalar("3")], length: 2 });
        assert_eq!(old.changes(&new, 0), [Change { object: 0, path: vec![1, 1], value: scalar("3") }]);
        assert_eq!(old.changes(&old, 0), []);
    }
}
