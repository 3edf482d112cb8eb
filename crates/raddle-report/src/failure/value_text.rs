//! Values in one line, as `Debug` would print them, with objects by name.

use std::fmt::{self, Display, Formatter};

use super::{Datum, Field, Object, Pointer};

/// A value, printed in one line: `Node { value: 1, next: Node#2 }`.
#[derive(Clone, Copy, Debug)]
pub struct ValueText<'a> {
    value: &'a Datum,
    objects: &'a [Object],
}

impl Datum {
    /// The value in one line. Pointers are printed as the names of these objects.
    pub fn text<'a>(&'a self, objects: &'a [Object]) -> ValueText<'a> {
        ValueText { value: self, objects }
    }
}

impl<'a> ValueText<'a> {
    fn part(&self, value: &'a Datum) -> ValueText<'a> {
        ValueText { value, ..*self }
    }

    fn pointer(&self, pointer: &Pointer, f: &mut Formatter<'_>) -> fmt::Result {
        match pointer.object.and_then(|object| self.objects.get(object as usize)) {
            Some(object) if object.address == pointer.address => f.write_str(&object.name)?,
            Some(object) => {
                write!(f, "{}+{}", object.name, pointer.address.saturating_sub(object.address))?;
            }
            None if pointer.address == 0 => f.write_str("null")?,
            None => write!(f, "{:#x}", pointer.address)?,
        }
        if pointer.tag > 0 {
            write!(f, " tagged {}", pointer.tag)?;
        }
        if pointer.dangling {
            f.write_str(" (freed)")?;
        }
        Ok(())
    }

    fn fields(&self, name: &str, fields: &'a [Field], f: &mut Formatter<'_>) -> fmt::Result {
        let has_names = !fields.iter().enumerate().all(|(index, field)| field.name == index.to_string());
        f.write_str(name)?;
        f.write_str(match (has_names, name) {
            (true, "") => "{ ",
            (true, _) => " { ",
            (false, _) => "(",
        })?;
        for (index, field) in fields.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            if has_names {
                write!(f, "{}: ", field.name)?;
            }
            self.part(&field.value).fmt(f)?;
        }
        f.write_str(if has_names { " }" } else { ")" })
    }
}

impl Display for ValueText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.value {
            Datum::Scalar(text) => f.write_str(text),
            Datum::Pointer(pointer) => self.pointer(pointer, f),
            Datum::Fields { name, fields } => self.fields(name, fields, f),
            Datum::List { items, length } => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    self.part(item).fmt(f)?;
                }
                more(*length, items.len(), f)?;
                f.write_str("]")
            }
            Datum::Map { entries, length } => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{}: {}", self.part(key), self.part(value))?;
                }
                more(*length, entries.len(), f)?;
                f.write_str("}")
            }
            Datum::Lock { kind, state, value } => {
                write!(f, "{kind}({state}")?;
                for value in value {
                    write!(f, ": {}", self.part(value))?;
                }
                f.write_str(")")
            }
            Datum::Unknown(reason) => write!(f, "<{reason}>"),
        }
    }
}

/// The number of elements that are cut off.
fn more(length: u64, shown: usize, f: &mut Formatter<'_>) -> fmt::Result {
    match length.saturating_sub(shown as u64) {
        0 => Ok(()),
        cut => write!(f, "{}… {cut} more", if shown > 0 { ", " } else { "" }),
    }
}
