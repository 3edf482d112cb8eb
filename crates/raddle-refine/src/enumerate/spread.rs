//! Values of a schema, spread over a range.
//!
//! Whether two keys of a map lie in one shard or in one bucket decides what a scan can miss. So the few values that a schema has are not
//! always the first ones: they are replaced by others, equal ones by equal ones.

use std::collections::BTreeSet;

use super::rng::Rng;
use crate::literal::{Literal, letter};
use crate::schema::Schema;

/// Replaces the values of a schema by as many of the first `range`, at random. A range below 2 leaves them as they are.
pub(super) fn spread(schema: &mut Schema, range: usize, rng: &mut Rng) {
    let mut names: Vec<usize> = (0..range).collect();
    for last in (1..range).rev() {
        names.swap(last, rng.below(last + 1));
    }
    replace(schema, &names, true);
}

/// The schema with its integers replaced by the first ones, in the same order: what is left to read once it is known that others do not matter.
pub fn gathered(schema: &Schema) -> Schema {
    let mut values = BTreeSet::new();
    for argument in schema.invocations().flat_map(|invocation| &invocation.arguments) {
        collect(argument, &mut values);
    }
    let most = values.last().map_or(0, |&value| value + 1);
    let number = |value: &usize| values.iter().position(|other| other == value).unwrap_or(*value);
    let names: Vec<usize> = (0..most).map(|value| number(&value)).collect();
    let mut schema = schema.clone();
    replace(&mut schema, &names, false);
    schema
}

/// Replaces values by their names; texts only if that is wanted.
fn replace(schema: &mut Schema, names: &[usize], texts: bool) {
    for invocation in schema.phases.iter_mut().flatten().flatten() {
        invocation.arguments.iter_mut().for_each(|argument| rename(argument, names, texts));
    }
}

/// The integers of a literal that spreading may have chosen.
fn collect(literal: &Literal, values: &mut BTreeSet<usize>) {
    match literal {
        Literal::Null | Literal::Bool(_) | Literal::Text(_) => {}
        Literal::Int(value) => values.extend(usize::try_from(*value).ok().filter(|value| *value < MOST)),
        Literal::List(items) => items.iter().for_each(|item| collect(item, values)),
        Literal::Map(entries) => {
            for (key, value) in entries {
                collect(key, values);
                collect(value, values);
            }
        }
    }
}

/// Larger integers were written by somebody, and are left alone.
const MOST: usize = 1 << 10;

fn rename(literal: &mut Literal, names: &[usize], texts: bool) {
    match literal {
        Literal::Text(text) if texts => {
            let number = (0..names.len()).find(|&number| letter(number) == *text);
            if let Some(number) = number {
                *text = letter(names[number]);
            }
        }
        Literal::Null | Literal::Bool(_) | Literal::Text(_) => {}
        Literal::Int(value) => {
            let name = usize::try_from(*value).ok().and_then(|value| names.get(value));
            *value = name.and_then(|&name| i64::try_from(name).ok()).unwrap_or(*value);
        }
        Literal::List(items) => items.iter_mut().for_each(|item| rename(item, names, texts)),
        Literal::Map(entries) => {
            entries.iter_mut().for_each(|(key, value)| {
                rename(key, names, texts);
                rename(value, names, texts);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_stay_equal_and_others_stay_different() {
        let text = "{ put(0,\"a\"); all([0,1]) } || { put(1,\"b\"); flag(true) }";
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut schema: Schema = text.parse().unwrap();
            spread(&mut schema, 8, &mut Rng::new(seed));
            let calls: Vec<_> = schema.invocations().cloned().collect();
            let (a, b) = (&calls[0].arguments[0], &calls[2].arguments[0]);
            assert_ne!(a, b);
            assert_eq!(calls[1].arguments[0], Literal::List(vec![a.clone(), b.clone()]));
            assert_ne!(calls[0].arguments[1], calls[2].arguments[1]);
            assert_eq!(calls[3].to_string(), "flag(true)");
            seen.insert(a.clone());
        }
        assert_eq!(seen.len(), 8, "each value of the range comes");
        let mut schema: Schema = text.parse().unwrap();
        spread(&mut schema, 0, &mut Rng::new(1));
        assert_eq!(schema, text.parse().unwrap());
    }

    #[test]
    fn gathered_values_keep_their_order() {
        let schema: Schema = "{ put(5,3); all([7,3]); far(-1,4096) } || { put(3,5) }".parse().unwrap();
        assert_eq!(gathered(&schema).to_string(), "{ put(1,0); all([2,0]); far(-1,4096) } || { put(0,1) }");
    }
}
