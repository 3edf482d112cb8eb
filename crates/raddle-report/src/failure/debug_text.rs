//! Values from what `Debug` prints: the parts become parts, so that a change concerns one of them and not the whole text.

use super::{Datum, Field};

/// Depth limit, and the most parts of a value. What is beyond stays text.
const DEPTH: usize = 16;
const PARTS: usize = 2_000;

/// Most elements of a list or map that are shown.
const ELEMENTS: usize = 64;

impl Datum {
    /// The value that a text of `Debug` stands for: `Queue { items: [1, 2], len: 2 }` has two fields. A text that is not of this
    /// form is a scalar.
    pub fn of_debug(text: &str) -> Datum {
        let text = text.trim();
        let mut reader = Reader { rest: text, parts: 0 };
        match reader.value(0) {
            Some(value) if reader.rest.is_empty() => value,
            _ => Datum::Scalar(text.to_owned()),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    parts: usize,
}

impl<'a> Reader<'a> {
    /// The next value; none if this is not one.
    fn value(&mut self, depth: usize) -> Option<Datum> {
        self.parts += 1;
        if depth > DEPTH || self.parts > PARTS {
            return None;
        }
        self.skip_space();
        let head = self.scalar()?;
        match self.rest.chars().next() {
            Some('(') if is_name(head) || head.is_empty() => {
                let items = self.items('(', ')', depth)?.into_iter().enumerate();
                let fields: Vec<Field> =
                    items.map(|(index, value)| Field { name: index.to_string(), value }).collect();
                Some(match fields.is_empty() {
                    true => Datum::Scalar(format!("{head}()")),
                    false => Datum::Fields { name: head.to_owned(), fields },
                })
            }
            Some('{') if is_name(head) => {
                Some(Datum::Fields { name: head.to_owned(), fields: self.fields(depth)? })
            }
            Some('[') if head.is_empty() => {
                let items = self.items('[', ']', depth)?;
                Some(list(items))
            }
            Some('{') if head.is_empty() => self.entries(depth),
            _ if head.is_empty() => None,
            _ => Some(Datum::Scalar(head.to_owned())),
        }
    }

    /// The text up to what ends a value or begins its parts: a number, a name, a string.
    fn scalar(&mut self) -> Option<&'a str> {
        let mut chars = self.rest.char_indices();
        let mut angles = 0_u32;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => loop {
                    match chars.next()?.1 {
                        '\\' => _ = chars.next(),
                        '"' => break,
                        _ => {}
                    }
                },
                '\'' => {
                    // `'a'`, but not the apostrophe of a text.
                    let quoted = self.rest[at + 1..].strip_prefix('\\').unwrap_or(&self.rest[at + 1..]);
                    let length = quoted.chars().next().map_or(0, char::len_utf8);
                    if quoted[length..].starts_with('\'') {
                        let after = self.rest.len() - quoted.len() + length + 1;
                        while chars.offset() < after {
                            chars.next()?;
                        }
                    }
                }
                '<' => angles += 1,
                '>' => angles = angles.saturating_sub(1),
                ',' | ':' | '(' | ')' | '[' | ']' | '{' | '}' if angles == 0 => {
                    // The `::` of a path.
                    if c == ':' && self.rest[at + 1..].starts_with(':') {
                        chars.next();
                        continue;
                    }
                    let (text, rest) = self.rest.split_at(at);
                    self.rest = rest;
                    return Some(text.trim_end());
                }
                _ => {}
            }
        }
        Some(std::mem::take(&mut self.rest).trim_end())
    }

    /// `(1, 2)`, `[1, 2]`.
    fn items(&mut self, open: char, close: char, depth: usize) -> Option<Vec<Datum>> {
        self.eat(open)?;
        let mut items = Vec::new();
        while !self.ends(close) {
            items.push(self.value(depth + 1)?);
            self.comma(close)?;
        }
        Some(items)
    }

    /// `{ a: 1, b: 2 }`; a final `..` says that there are more, which `Debug` does not show.
    fn fields(&mut self, depth: usize) -> Option<Vec<Field>> {
        self.eat('{')?;
        let mut fields = Vec::new();
        while !self.ends('}') {
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                continue;
            }
            let name = self.scalar().filter(|name| is_name(name))?.to_owned();
            self.eat(':')?;
            fields.push(Field { name, value: self.value(depth + 1)? });
            self.comma('}')?;
        }
        Some(fields)
    }

    /// `{1: 2}` is a map, `{1, 2}` is a set.
    fn entries(&mut self, depth: usize) -> Option<Datum> {
        self.eat('{')?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        while !self.ends('}') {
            keys.push(self.value(depth + 1)?);
            if self.eat(':').is_some() {
                values.push(self.value(depth + 1)?);
            }
            self.comma('}')?;
        }
        if values.is_empty() && !keys.is_empty() {
            return Some(list(keys));
        }
        let length = keys.len();
        (length == values.len()).then(|| Datum::Map {
            entries: keys.into_iter().zip(values).take(ELEMENTS).collect(),
            length: length as u64,
        })
    }

    fn ends(&mut self, close: char) -> bool {
        self.eat(close).is_some()
    }

    /// A comma, or the end, which stays.
    fn comma(&mut self, close: char) -> Option<()> {
        match self.eat(',') {
            Some(()) => Some(()),
            None => self.rest.starts_with(close).then_some(()),
        }
    }

    fn eat(&mut self, c: char) -> Option<()> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(c)?;
        self.skip_space();
        Some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

fn list(mut items: Vec<Datum>) -> Datum {
    let length = items.len() as u64;
    items.truncate(ELEMENTS);
    Datum::List { items, length }
}

/// Whether this is the name of a type, a variant or a field, perhaps with a path and generic arguments.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || "_:<>#&, ".contains(c))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Debug;
    use std::sync::Mutex;

    use super::*;

    /// What `Debug` prints becomes a value that is printed alike.
    #[track_caller]
    fn check(value: impl Debug, text: &str) -> Datum {
        let datum = Datum::of_debug(&format!("{value:?}"));
        assert_eq!(datum.text(&[]).to_string(), text);
        assert_eq!(Datum::of_debug(&format!("{value:#?}")), datum, "the same on many lines");
        datum
    }

    #[derive(Debug)]
    #[allow(dead_code, reason = "they are printed")]
    struct Queue {
        items: Vec<Option<i32>>,
        name: &'static str,
        unit: (),
    }

    /// Prints what is no value, and that there is more.
    struct Held;

    impl Debug for Held {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Held").field("data", &format_args!("<held, by T1>")).finish_non_exhaustive()
        }
    }

    #[test]
    fn what_debug_prints_has_parts() {
        let queue = Queue { items: vec![Some(-1), None], name: "a, \"b\": {", unit: () };
        let datum = check(queue, r#"Queue { items: [Some(-1), None], name: "a, \"b\": {", unit: () }"#);
        assert_eq!(datum.children().len(), 3);
        check((1.5, 'x', '\'', '"', "it's"), r#"(1.5, 'x', '\'', '"', "it's")"#);
        check(BTreeMap::from([(1, "a"), (2, "b")]), r#"{1: "a", 2: "b"}"#);
        check(BTreeSet::from([1, 2]), "[1, 2]");
        check(BTreeMap::<u8, u8>::new(), "{}");
        check([[1, 2], [3, 4]], "[[1, 2], [3, 4]]");
        check(std::time::Duration::from_millis(1500), "1.5s");
        check(Mutex::new(7), "Mutex { data: 7, poisoned: false }");
        check(3..5, "3..5");
        check(Held, "Held { data: <held, by T1> }");
    }

    #[test]
    fn long_lists_are_cut_off() {
        let items: Vec<u32> = (0..100).collect();
        let Datum::List { items, length } = Datum::of_debug(&format!("{items:?}")) else { panic!("a list") };
        assert_eq!((items.len(), length), (64, 100));
    }

    #[test]
    fn other_text_stays_text() {
        for text in [
            "",
            "two words",
            "a: b",
            "(1, 2",
            "[1 2] 3",
            "\"open",
            "}{",
            "Node { next 1 }",
            "'",
            "x -> y",
            "{1: 2, 3}",
        ] {
            assert_eq!(Datum::of_debug(text), Datum::Scalar(text.to_owned()), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(Datum::of_debug(&deep), Datum::Scalar(deep.clone()));
    }
}
