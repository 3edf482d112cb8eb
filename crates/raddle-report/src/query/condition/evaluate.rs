//! The value of a condition at one time of the execution.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::parse::{Comparison, Expr, Operand, Part, Path, Start};
use crate::failure::{Action, Datum, Event, Objects, Write};
use crate::query::Index;
use crate::query::accesses::read_value;

/// Pointers are followed this far.
const MAX_POINTERS: usize = 100;

/// The values of objects and locations at one time.
pub(super) struct State<'i> {
    objects: Option<&'i Objects>,
    values: Vec<Option<Datum>>,
    /// The values of locations by address.
    locations: BTreeMap<u64, u128>,
    /// The number of events so far.
    now: usize,
    /// The paths of the condition that had a value at some time, and those that had none.
    known: RefCell<BTreeSet<String>>,
    unknown: RefCell<BTreeSet<String>>,
}

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Number(i128),
    Text(String),
    Bool(bool),
    Null,
    Object(u32),
    Address(u64),
}

/// A place in the graph of objects.
#[derive(Clone, Copy)]
enum Place<'a> {
    Object(u32),
    Value(&'a Datum),
    Length(u64),
    Text(&'a str),
    Bool(bool),
}

impl<'i> State<'i> {
    pub(super) fn before_first_event(index: &Index<'i>) -> State<'i> {
        let objects = index.failure.objects.as_ref();
        // The initial value of a location is known from the first read of it, if no write comes before.
        let mut locations = BTreeMap::new();
        let mut touched = BTreeSet::new();
        for event in index.events() {
            let Some(place) = event.action.place() else { continue };
            let is_initial = match event.reads_from {
                Some(write) => write == Write::Initial,
                None => !touched.contains(&place.address),
            };
            if let (Some(value), true) = (read_value(&event.action), is_initial) {
                locations.entry(place.address).or_insert(value.0);
            }
            touched.insert(place.address);
        }
        State {
            objects,
            values: objects.map_or_else(Vec::new, |objects| objects.at(&index.failure.trace, None)),
            locations,
            now: 0,
            known: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// Goes on by one event.
    pub(super) fn apply(&mut self, number: usize, event: &Event) {
        self.now = number + 1;
        for change in &event.changes {
            change.apply(&mut self.values);
        }
        if let (Some(place), Some(written)) = (event.action.place(), event.action.written()) {
            let held = match event.action {
                Action::Store { newest: Some(newest), .. } => newest,
                _ => written,
            };
            self.locations.insert(place.address, held.0);
        }
    }

    /// Whether the last event freed an object.
    pub(super) fn has_freed(&self) -> bool {
        let last = self.now.checked_sub(1);
        let mut list = self.objects.iter().flat_map(|objects| &objects.list);
        list.any(|object| object.freed.is_some() && object.freed.map(|freed| freed as usize) == last)
    }

    /// A path of the condition that never had a value.
    pub(super) fn never_known(&self) -> Option<String> {
        self.unknown.borrow().difference(&self.known.borrow()).next().cloned()
    }

    /// Whether a condition holds now. A comparison with something that has no value now does not hold.
    pub(super) fn holds(&self, condition: &Expr) -> bool {
        // Each part is evaluated, so that every path is known to have a value or not.
        match condition {
            Expr::Or(parts) => parts.iter().fold(false, |any, part| self.holds(part) | any),
            Expr::And(parts) => parts.iter().fold(true, |all, part| self.holds(part) & all),
            Expr::Not(part) => !self.holds(part),
            Expr::Holds(operand) => self.operand(operand) == Some(Seen::Bool(true)),
            Expr::Is(Operand::Path(path), variant) => self.variant(path).is_some_and(|name| name == *variant),
            Expr::Is(..) => false,
            Expr::Compare(left, comparison, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                left.zip(right).is_some_and(|(left, right)| compare(&left, *comparison, &right))
            }
        }
    }

    fn operand(&self, operand: &Operand) -> Option<Seen> {
        Some(match operand {
            Operand::Number(number) => Seen::Number(*number),
            Operand::Text(text) => Seen::Text(text.clone()),
            Operand::Bool(bool) => Seen::Bool(*bool),
            Operand::Null => Seen::Null,
            Operand::Path(path) => {
                let seen = match path.start {
                    Start::Object(_) => self.place(path).and_then(|place| self.seen(place)),
                    Start::Location(address) if path.parts.is_empty() => self.location(address),
                    Start::Location(_) => None,
                };
                self.note(path, seen.is_some());
                return seen;
            }
        })
    }

    fn location(&self, address: u64) -> Option<Seen> {
        self.locations.get(&address).map(|&value| match i128::try_from(value) {
            Ok(number) => Seen::Number(number),
            Err(_) => Seen::Text(value.to_string()),
        })
    }

    /// The variant or type that a path leads to.
    fn variant(&self, path: &Path) -> Option<String> {
        let value = match self.place(path) {
            Some(Place::Value(value)) => Some(value),
            Some(Place::Object(object)) => self.values.get(object as usize).and_then(Option::as_ref),
            _ => None,
        };
        self.note(path, value.is_some());
        match value? {
            Datum::Fields { name, .. } => Some(name.clone()),
            Datum::Scalar(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn note(&self, path: &Path, has_value: bool) {
        let set = if has_value { &self.known } else { &self.unknown };
        set.borrow_mut().insert(path.text.clone());
    }

    fn place(&self, path: &Path) -> Option<Place<'_>> {
        let Start::Object(object) = path.start else { return None };
        let mut place = Place::Object(object);
        for part in &path.parts {
            place = match part {
                Part::Field(name) => self.field(place, name, MAX_POINTERS)?,
                Part::Index(index) => self.element(place, index, MAX_POINTERS)?,
            };
        }
        Some(place)
    }

    /// A field of a value, through pointers, locks and variants with one field.
    fn field<'s>(&'s self, place: Place<'s>, name: &str, left: usize) -> Option<Place<'s>> {
        let left = left.checked_sub(1)?;
        let value = match place {
            Place::Object(object) => {
                let value = self.values.get(object as usize)?.as_ref();
                let found = value.and_then(|value| self.field(Place::Value(value), name, left));
                let freed = || (name == "freed").then(|| self.freed(object)).flatten().map(Place::Bool);
                return found.or_else(freed);
            }
            Place::Value(value) => value,
            Place::Length(_) | Place::Text(_) | Place::Bool(_) => return None,
        };
        match value {
            Datum::Fields { fields, .. } => match fields.iter().find(|field| field.name == name) {
                Some(field) => Some(Place::Value(&field.value)),
                None if fields.len() == 1 => self.field(Place::Value(&fields[0].value), name, left),
                None => None,
            },
            Datum::Pointer(pointer) => self.field(Place::Object(pointer.object?), name, left),
            Datum::List { length, .. } | Datum::Map { length, .. } if name == "len" => {
                Some(Place::Length(*length))
            }
            Datum::Lock { state, value, .. } => {
                let inner = value.first().and_then(|value| self.field(Place::Value(value), name, left));
                inner.or_else(|| (name == "state").then_some(Place::Text(state)))
            }
            _ => None,
        }
    }

    /// An element of a list, or the value of a key, through pointers, locks and variants with one field.
    fn element<'s>(&'s self, place: Place<'s>, index: &str, left: usize) -> Option<Place<'s>> {
        let left = left.checked_sub(1)?;
        let value = match place {
            Place::Object(object) => self.values.get(object as usize)?.as_ref()?,
            Place::Value(value) => value,
            Place::Length(_) | Place::Text(_) | Place::Bool(_) => return None,
        };
        match value {
            Datum::List { items, .. } => items.get(index.parse::<usize>().ok()?).map(Place::Value),
            Datum::Map { entries, .. } => {
                let is_key = |key: &Datum| matches!(key, Datum::Scalar(text) if text == index);
                entries.iter().find(|(key, _)| is_key(key)).map(|(_, value)| Place::Value(value))
            }
            Datum::Pointer(pointer) => self.element(Place::Object(pointer.object?), index, left),
            Datum::Lock { value, .. } => self.element(Place::Value(value.first()?), index, left),
            Datum::Fields { fields, .. } if fields.len() == 1 => {
                self.element(Place::Value(&fields[0].value), index, left)
            }
            _ => None,
        }
    }

    fn freed(&self, object: u32) -> Option<bool> {
        let object = self.objects?.list.get(object as usize)?;
        Some(object.freed.is_some_and(|freed| (freed as usize) < self.now))
    }

    fn seen(&self, place: Place<'_>) -> Option<Seen> {
        let value = match place {
            Place::Object(object) => match self.values.get(object as usize)? {
                Some(value @ Datum::Scalar(_)) => value,
                Some(_) => return Some(Seen::Object(object)),
                None => return None,
            },
            Place::Value(value) => value,
            Place::Length(length) => return Some(Seen::Number(length.into())),
            Place::Text(text) => return Some(Seen::Text(text.to_owned())),
            Place::Bool(bool) => return Some(Seen::Bool(bool)),
        };
        Some(match value {
            Datum::Scalar(text) => scalar(text),
            Datum::Pointer(pointer) => match pointer.object {
                Some(object) => Seen::Object(object),
                None if pointer.address == 0 => Seen::Null,
                None => Seen::Address(pointer.address),
            },
            Datum::Fields { name, .. } if name == "None" => Seen::Null,
            Datum::Fields { name, fields } => match fields.as_slice() {
                // A variant with one field stands for that field, as `Some` does.
                [only] if only.name == "0" => return self.seen(Place::Value(&only.value)),
                _ => Seen::Text(name.clone()),
            },
            Datum::Lock { value, .. } => return self.seen(Place::Value(value.first()?)),
            Datum::List { .. } | Datum::Map { .. } | Datum::Unknown(_) => return None,
        })
    }
}

/// A printed value as one that can be compared.
fn scalar(text: &str) -> Seen {
    let unquoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match (text, text.parse::<i128>()) {
        ("true", _) => Seen::Bool(true),
        ("false", _) => Seen::Bool(false),
        (_, Ok(number)) => Seen::Number(number),
        _ => Seen::Text(unquoted.unwrap_or(text).to_owned()),
    }
}

fn compare(left: &Seen, comparison: Comparison, right: &Seen) -> bool {
    let equal = match (left, right) {
        (Seen::Address(address), Seen::Number(number)) | (Seen::Number(number), Seen::Address(address)) => {
            i128::from(*address) == *number
        }
        // `None` is spelled as a variant, too.
        (Seen::Null, Seen::Text(text)) | (Seen::Text(text), Seen::Null) => text == "None",
        _ => left == right,
    };
    let order = match (left, right) {
        (Seen::Number(left), Seen::Number(right)) => Some(left.cmp(right)),
        (Seen::Text(left), Seen::Text(right)) => Some(left.cmp(right)),
        _ => None,
    };
    match comparison {
        Comparison::Equal => equal,
        Comparison::NotEqual => !equal,
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}
