//! TOML with places.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree::{Entry, Mistake, Node, Place, Value};

/// Reads a TOML file.
pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| {
        let byte = error.span().map_or(text.len(), |span| span.start);
        Place::of_byte(text, byte).mistake(error.message().to_owned())
    })?;
    Ok(Node { place: Place { line: 1, column: 1 }, value: table_of(text, table.get_ref())? })
}

fn table_of(text: &str, table: &DeTable<'_>) -> Result<Value, Mistake> {
    let entries = table.iter().map(|(key, value)| {
        let place = Place::of_byte(text, key.span().start);
        Ok(Entry { key: key.get_ref().to_string(), place, node: node(text, value)? })
    });
    Ok(Value::Table(entries.collect::<Result<_, Mistake>>()?))
}

fn node(text: &str, value: &Spanned<DeValue<'_>>) -> Result<Node, Mistake> {
    let place = Place::of_byte(text, value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Int(number),
            Err(_) => return Err(place.mistake("expected an integer of 64 bits")),
        },
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| node(text, item)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => table_of(text, table)?,
    };
    Ok(Node { place, value })
}
