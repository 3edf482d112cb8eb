//! Schemas from text.

use std::fmt;
use std::str::FromStr;

use super::{Invocation, Schema};
use crate::literal::Literal;

/// A mistake in the text of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The column, counted in characters from 1.
    pub column: usize,
    /// What could have been there.
    pub expected: &'static str,
    /// What is there; nothing at the end of the text.
    pub found: Option<char>,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SchemaError { column, expected, .. } = self;
        match self.found {
            Some(found) => {
                write!(f, "the schema has `{found}` at column {column} where {expected} was expected")
            }
            None => write!(f, "the schema ends at column {column} where {expected} was expected"),
        }
    }
}

impl std::error::Error for SchemaError {}

impl FromStr for Schema {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Schema, SchemaError> {
        let mut parser = Parser { rest: text, text };
        let mut phases = vec![parser.phase()?];
        while parser.takes(";") {
            phases.push(parser.phase()?);
        }
        parser.skip_spaces();
        match parser.rest.is_empty() {
            true => Ok(Schema { phases }),
            false => Err(parser.expected("`||`, `;` or the end")),
        }
    }
}

impl FromStr for Invocation {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Invocation, SchemaError> {
        let mut parser = Parser { rest: text, text };
        let invocation = parser.invocation()?;
        parser.skip_spaces();
        match parser.rest.is_empty() {
            true => Ok(invocation),
            false => Err(parser.expected("the end of the invocation")),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    text: &'a str,
}

impl Parser<'_> {
    fn phase(&mut self) -> Result<Vec<Vec<Invocation>>, SchemaError> {
        let mut sequences = vec![self.sequence()?];
        while self.takes("||") {
            sequences.push(self.sequence()?);
        }
        Ok(sequences)
    }

    fn sequence(&mut self) -> Result<Vec<Invocation>, SchemaError> {
        self.expect("{", "`{`")?;
        let mut invocations = vec![self.invocation()?];
        while self.takes(";") {
            invocations.push(self.invocation()?);
        }
        self.expect("}", "`;` or `}`")?;
        Ok(invocations)
    }

    fn invocation(&mut self) -> Result<Invocation, SchemaError> {
        self.skip_spaces();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
            return Err(self.expected("the name of a method"));
        }
        let method = name.to_owned();
        self.rest = &self.rest[end..];
        self.expect("(", "`(`")?;
        let mut arguments = Vec::new();
        if !self.takes(")") {
            arguments.push(self.literal()?);
            while self.takes(",") {
                arguments.push(self.literal()?);
            }
            self.expect(")", "`,` or `)`")?;
        }
        Ok(Invocation { method, arguments })
    }

    fn literal(&mut self) -> Result<Literal, SchemaError> {
        self.skip_spaces();
        if self.takes("[") {
            return self.collection();
        }
        for (word, literal) in
            [("null", Literal::Null), ("true", Literal::Bool(true)), ("false", Literal::Bool(false))]
        {
            if self.takes(word) {
                return Ok(literal);
            }
        }
        if self.rest.starts_with('"') {
            return self.string();
        }
        let sign = usize::from(self.rest.starts_with('-'));
        let digits = self.rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len() - sign);
        match self.rest[..sign + digits].parse() {
            Ok(value) => {
                self.rest = &self.rest[sign + digits..];
                Ok(Literal::Int(value))
            }
            Err(_) => Err(self.expected("a literal: an integer, true, false, null, \"text\" or [..]")),
        }
    }

    /// What follows a `[`.
    fn collection(&mut self) -> Result<Literal, SchemaError> {
        if self.takes("]") {
            return Ok(Literal::List(Vec::new()));
        }
        let first = self.literal()?;
        if !self.takes("=") {
            let mut items = vec![first];
            while self.takes(",") {
                items.push(self.literal()?);
            }
            self.expect("]", "`,` or `]`")?;
            return Ok(Literal::List(items));
        }
        let mut entries = vec![(first, self.literal()?)];
        while self.takes(",") {
            let key = self.literal()?;
            self.expect("=", "`=`")?;
            entries.push((key, self.literal()?));
        }
        self.expect("]", "`,` or `]`")?;
        Ok(Literal::Map(entries))
    }

    fn string(&mut self) -> Result<Literal, SchemaError> {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        let parsed = stream.next().and_then(Result::ok);
        let end = stream.byte_offset();
        match parsed {
            Some(text) => {
                self.rest = &self.rest[end..];
                Ok(Literal::Text(text))
            }
            None => Err(self.expected("a string as JSON writes it")),
        }
    }

    fn takes(&mut self, token: &str) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), SchemaError> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    fn expected(&self, expected: &'static str) -> SchemaError {
        let before = &self.text[..self.text.len() - self.rest.len()];
        SchemaError { column: before.chars().count() + 1, expected, found: self.rest.chars().next() }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn prints(text: &str, printed: &str) {
        let schema: Schema = text.parse().unwrap();
        assert_eq!(schema.to_string(), printed);
        assert_eq!(printed.parse::<Schema>().unwrap(), schema);
    }

    #[test]
    fn schemas_are_printed_as_violat_prints_them() {
        prints("{put(0, 1);size( )}||{remove(0)}", "{ put(0,1); size() } || { remove(0) }");
        prints(
            "{ addAll([0, 1]) } || { putAll([0=1, 1=-1]) }",
            "{ addAll([0,1]) } || { putAll([0=1,1=-1]) }",
        );
        prints("{ set(\"a)\\\"\") } || { f(true, null) }", "{ set(\"a)\\\"\") } || { f(true,null) }");
    }

    #[test]
    fn phases_follow_one_another() {
        let text = "{ push(0) }; { pop() } || { pop(); push(1) }; { len() }";
        prints(text, text);
        let schema: Schema = text.parse().unwrap();
        assert_eq!(schema.phases.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!((schema.len(), schema.threads()), (5, 2));
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        assert_eq!(text.parse::<Schema>().unwrap_err().to_string(), message);
    }

    #[test]
    fn mistakes_have_a_column_and_what_was_expected() {
        refused("{ put(0,1); }", "the schema has `}` at column 13 where the name of a method was expected");
        refused("{ put(0 1) }", "the schema has `1` at column 9 where `,` or `)` was expected");
        refused("{ put(0)", "the schema ends at column 9 where `;` or `}` was expected");
        refused(
            "{ f() } | { g() }",
            "the schema has `|` at column 9 where `||`, `;` or the end was expected",
        );
        refused("", "the schema ends at column 1 where `{` was expected");
        refused("{ f([1=2,3]) }", "the schema has `]` at column 11 where `=` was expected");
    }
}
