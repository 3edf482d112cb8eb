//! Arguments of invocations, as schemas write them.

use std::fmt;

/// A literal argument.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// `null`: no value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// `"text"`.
    Text(String),
    /// `[1,2]`.
    List(Vec<Literal>),
    /// `[1=2,3=4]`: keys and values.
    Map(Vec<(Literal, Literal)>),
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("null"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Text(text) => {
                f.write_str(&serde_json::to_string(text).unwrap_or_else(|_| format!("{text:?}")))
            }
            Literal::List(items) => write_list(f, items, |f, item| write!(f, "{item}")),
            // A map without entries prints like a list without elements; where a map is expected, both are one.
            Literal::Map(entries) => write_list(f, entries, |f, (key, value)| write!(f, "{key}={value}")),
        }
    }
}

fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            f.write_str(",")?;
        }
        write(f, item)?;
    }
    f.write_str("]")
}

/// `a`, `b`, ..., and then numbers.
pub(crate) fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'a' + number).to_string(),
        _ => number.to_string(),
    }
}
