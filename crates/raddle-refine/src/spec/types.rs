//! Types of parameters: which values are tried, and how a value is written in Rust.

use std::fmt;

use crate::literal::{Literal, letter};

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An integer type, by its name.
    Int(String),
    /// `bool`.
    Bool,
    /// `char`: `a`, `b`, ...
    Char,
    /// `String`, or `&str`.
    Text {
        /// Whether the parameter owns it.
        owned: bool,
    },
    /// `Option<T>`.
    Option(Box<Type>),
    /// A collection of `T`, by its path.
    List(String, Box<Type>),
    /// A map from `K` to `V`, by its path.
    Map(String, Box<Type>, Box<Type>),
    /// `&T`.
    Ref(Box<Type>),
    /// `&[T]`.
    Slice(Box<Type>),
    /// `[T; N]`.
    Array(Box<Type>, usize),
    /// `(A, B)`.
    Tuple(Vec<Type>),
}

const INTS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];
const LISTS: [&str; 6] = ["Vec", "VecDeque", "HashSet", "BTreeSet", "LinkedList", "BinaryHeap"];
const MAPS: [&str; 2] = ["HashMap", "BTreeMap"];

impl Type {
    /// The type that this text names in Rust.
    pub fn parse(text: &str) -> Option<Type> {
        let text = text.trim();
        if INTS.contains(&text) {
            return Some(Type::Int(text.to_owned()));
        }
        match text {
            "bool" => return Some(Type::Bool),
            "char" => return Some(Type::Char),
            "String" | "std::string::String" => return Some(Type::Text { owned: true }),
            _ => {}
        }
        if let Some(inner) = text.strip_prefix('&') {
            return Type::parse_reference(inner);
        }
        if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            let parts = split(inner).into_iter().filter(|part| !part.is_empty());
            return Some(Type::Tuple(parts.map(Type::parse).collect::<Option<_>>()?));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (item, length) = inner.rsplit_once(';')?;
            return Some(Type::Array(Box::new(Type::parse(item)?), length.trim().parse().ok()?));
        }
        let (path, arguments) = text.strip_suffix('>')?.split_once('<')?;
        let path = path.trim().trim_end_matches("::");
        let name = path.rsplit("::").next()?;
        let arguments = split(arguments).into_iter().map(Type::parse).collect::<Option<Vec<_>>>()?;
        match (name, <[Type; 1]>::try_from(arguments.clone()), <[Type; 2]>::try_from(arguments)) {
            ("Option", Ok([inner]), _) => Some(Type::Option(Box::new(inner))),
            (_, Ok([inner]), _) if LISTS.contains(&name) => Some(Type::List(full(name), Box::new(inner))),
            (_, _, Ok([key, value])) if MAPS.contains(&name) => {
                Some(Type::Map(full(name), Box::new(key), Box::new(value)))
            }
            _ => None,
        }
    }

    /// What follows a `&`.
    fn parse_reference(text: &str) -> Option<Type> {
        let mut text = text.trim();
        if let Some(rest) = text.strip_prefix('\'') {
            text = rest.split_once(' ')?.1.trim();
        }
        if text == "str" {
            return Some(Type::Text { owned: false });
        }
        if text.starts_with("mut ") {
            return None;
        }
        let slice = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match slice.filter(|inner| !inner.contains(';')) {
            Some(inner) => Some(Type::Slice(Box::new(Type::parse(inner)?))),
            None => Some(Type::Ref(Box::new(Type::parse(text)?))),
        }
    }

    /// The values that are tried, as Violat has it: the first `count` integers, collections of two elements, maps with
    /// two keys.
    pub fn values(&self, count: usize) -> Vec<Literal> {
        let count = count.max(1);
        let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        match self {
            Type::Int(_) => (0..count).map(|value| Literal::Int(number(value))).collect(),
            Type::Bool => vec![Literal::Bool(false), Literal::Bool(true)],
            Type::Char | Type::Text { .. } => (0..count).map(|value| Literal::Text(letter(value))).collect(),
            Type::Option(inner) => [Literal::Null].into_iter().chain(inner.values(count)).collect(),
            Type::Ref(inner) => inner.values(count),
            Type::List(_, inner) | Type::Slice(inner) => lists(&inner.values(count), 2),
            Type::Array(inner, length) => lists(&inner.values(count), *length),
            Type::Map(_, key, value) => maps(&key.values(count), &value.values(count)),
            Type::Tuple(parts) => {
                let parts: Vec<Vec<Literal>> = parts.iter().map(|part| part.values(count)).collect();
                product(&parts).into_iter().map(Literal::List).collect()
            }
        }
    }

    /// The Rust expression for a value of this type; nothing if the literal is none.
    pub fn expression(&self, literal: &Literal) -> Option<String> {
        let items = |inner: &Type, items: &[Literal]| {
            Some(items.iter().map(|item| inner.expression(item)).collect::<Option<Vec<_>>>()?.join(", "))
        };
        Some(match (self, literal) {
            (Type::Int(name), Literal::Int(value)) => {
                fits(name, *value)?;
                value.to_string()
            }
            (Type::Bool, Literal::Bool(value)) => value.to_string(),
            (Type::Char, Literal::Text(text)) if text.chars().count() == 1 => {
                format!("{:?}", text.chars().next()?)
            }
            (Type::Text { owned: true }, Literal::Text(text)) => format!("{text:?}.to_owned()"),
            (Type::Text { owned: false }, Literal::Text(text)) => format!("{text:?}"),
            (Type::Option(_), Literal::Null) => "None".to_owned(),
            (Type::Option(inner), value) => format!("Some({})", inner.expression(value)?),
            (Type::Ref(inner), value) => format!("&{}", inner.expression(value)?),
            (Type::List(path, inner), Literal::List(list)) if path == "Vec" => {
                format!("vec![{}]", items(inner, list)?)
            }
            (Type::List(path, inner), Literal::List(list)) => {
                format!("{path}::from([{}])", items(inner, list)?)
            }
            (Type::Slice(inner), Literal::List(list)) => format!("&[{}]", items(inner, list)?),
            (Type::Array(inner, length), Literal::List(list)) if list.len() == *length => {
                format!("[{}]", items(inner, list)?)
            }
            (Type::Map(path, ..), Literal::List(list)) if list.is_empty() => format!("{path}::new()"),
            (Type::Map(path, key, value), Literal::Map(entries)) => {
                let entry = |(k, v): &(Literal, Literal)| {
                    Some(format!("({}, {})", key.expression(k)?, value.expression(v)?))
                };
                let entries = entries.iter().map(entry).collect::<Option<Vec<_>>>()?;
                format!("{path}::from([{}])", entries.join(", "))
            }
            (Type::Tuple(parts), Literal::List(list)) if parts.len() == list.len() => {
                let parts = parts.iter().zip(list).map(|(part, item)| part.expression(item));
                format!("({},)", parts.collect::<Option<Vec<_>>>()?.join(", "))
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Int(name) => f.write_str(name),
            Type::Bool => f.write_str("bool"),
            Type::Char => f.write_str("char"),
            Type::Text { owned: true } => f.write_str("String"),
            Type::Text { owned: false } => f.write_str("&str"),
            Type::Option(inner) => write!(f, "Option<{inner}>"),
            Type::List(path, inner) => write!(f, "{path}<{inner}>"),
            Type::Map(path, key, value) => write!(f, "{path}<{key}, {value}>"),
            Type::Ref(inner) => write!(f, "&{inner}"),
            Type::Slice(inner) => write!(f, "&[{inner}]"),
            Type::Array(inner, length) => write!(f, "[{inner}; {length}]"),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({},)", parts.join(", "))
            }
        }
    }
}

/// All ways to choose one of each.
pub(crate) fn product(choices: &[Vec<Literal>]) -> Vec<Vec<Literal>> {
    choices.iter().fold(vec![Vec::new()], |tuples, values| {
        let longer = |tuple: &Vec<Literal>, value: &Literal| {
            let mut tuple = tuple.clone();
            tuple.push(value.clone());
            tuple
        };
        tuples.iter().flat_map(|tuple| values.iter().map(move |value| longer(tuple, value))).collect()
    })
}

fn lists(values: &[Literal], length: usize) -> Vec<Literal> {
    product(&vec![values.to_vec(); length.min(4)]).into_iter().map(Literal::List).collect()
}

fn maps(keys: &[Literal], values: &[Literal]) -> Vec<Literal> {
    let mut maps = Vec::new();
    for (number, first) in keys.iter().enumerate() {
        for second in &keys[number + 1..] {
            for chosen in product(&[values.to_vec(), values.to_vec()]) {
                let entries = [first, second].into_iter().cloned().zip(chosen).collect();
                maps.push(Literal::Map(entries));
            }
        }
    }
    if maps.is_empty() {
        let entry = |key: &Literal, value: &Literal| Literal::Map(vec![(key.clone(), value.clone())]);
        maps = keys.iter().flat_map(|key| values.iter().map(move |value| entry(key, value))).collect();
    }
    maps
}

fn fits(name: &str, value: i64) -> Option<()> {
    let fits = match name {
        "i8" => i8::try_from(value).is_ok(),
        "i16" => i16::try_from(value).is_ok(),
        "i32" => i32::try_from(value).is_ok(),
        "u8" => u8::try_from(value).is_ok(),
        "u16" => u16::try_from(value).is_ok(),
        "u32" => u32::try_from(value).is_ok(),
        "u64" | "u128" | "usize" => value >= 0,
        _ => true,
    };
    fits.then_some(())
}

fn full(name: &str) -> String {
    match name {
        "Vec" => "Vec".to_owned(),
        _ => format!("std::collections::{name}"),
    }
}

/// The parts between commas that are in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn writes(ty: &str, values: &str) {
        let ty = Type::parse(ty).unwrap();
        let written: Vec<String> = ty.values(2).iter().map(|value| ty.expression(value).unwrap()).collect();
        assert_eq!(written.join(" | "), values);
    }

    #[test]
    fn values_are_written_in_rust() {
        writes("i32", "0 | 1");
        writes("&u8", "&0 | &1");
        writes("&'static str", "\"a\" | \"b\"");
        writes("String", "\"a\".to_owned() | \"b\".to_owned()");
        writes("Option<bool>", "None | Some(false) | Some(true)");
        writes("Vec<i32>", "vec![0, 0] | vec![0, 1] | vec![1, 0] | vec![1, 1]");
        writes("&[char]", "&['a', 'a'] | &['a', 'b'] | &['b', 'a'] | &['b', 'b']");
        writes(
            "std::collections::BTreeMap<i32, bool>",
            "std::collections::BTreeMap::from([(0, false), (1, false)]) | std::collections::BTreeMap::from([(0, false), (1, true)]) | \
             std::collections::BTreeMap::from([(0, true), (1, false)]) | std::collections::BTreeMap::from([(0, true), (1, true)])",
        );
        writes("(i32, bool)", "(0, false,) | (0, true,) | (1, false,) | (1, true,)");
    }

    #[test]
    fn types_without_values_and_literals_without_type_are_refused() {
        for text in ["&mut i32", "impl Fn()", "T", "HashMap<i32>", "Vec<T>", "Box<i32>"] {
            assert_eq!(Type::parse(text), None, "{text}");
        }
        let byte = Type::parse("u8").unwrap();
        assert_eq!(byte.expression(&Literal::Int(256)), None);
        assert_eq!(byte.expression(&Literal::Null), None);
    }
}
