//! JSON with places. (serde's own reader forgets where values were once it has read them.)

use super::tree::{Entry, Mistake, Node, Place, Value};

/// Reads one JSON value.
pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let mut parser = Parser { text, at: 0 };
    let node = parser.value(0)?;
    parser.skip_spaces();
    match parser.rest().is_empty() {
        true => Ok(node),
        false => Err(parser.expected("the end of the file")),
    }
}

/// How deeply values may be nested: far more than a specification needs.
const DEEPEST: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<Node, Mistake> {
        self.skip_spaces();
        let place = self.place();
        if depth > DEEPEST {
            return Err(place.mistake(format!("expected at most {DEEPEST} levels of lists and tables")));
        }
        let value = match self.rest().chars().next() {
            Some('{') => self.table(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { place, value })
    }

    fn table(&mut self, depth: usize) -> Result<Value, Mistake> {
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        if self.takes('}') {
            return Ok(Value::Table(entries));
        }
        loop {
            self.skip_spaces();
            let place = self.place();
            if !self.rest().starts_with('"') {
                return Err(self.expected("a key in quotes"));
            }
            let key = self.string()?;
            if entries.iter().any(|entry| entry.key == key) {
                return Err(place.mistake(format!("`{key}` is there twice, expected each key once")));
            }
            if !self.takes(':') {
                return Err(self.expected("`:`"));
            }
            let node = self.value(depth + 1)?;
            entries.push(Entry { key, place, node });
            if self.takes('}') {
                return Ok(Value::Table(entries));
            }
            if !self.takes(',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Mistake> {
        self.at += 1;
        let mut items = Vec::new();
        if self.takes(']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes(']') {
                return Ok(Value::List(items));
            }
            if !self.takes(',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Mistake> {
        let mut stream = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        match stream.next() {
            Some(Ok(text)) => {
                self.at += stream.byte_offset();
                Ok(text)
            }
            _ => Err(self.place().mistake("expected a string that ends with `\"` on its line")),
        }
    }

    fn number(&mut self) -> Result<Value, Mistake> {
        let end = self.rest().find(|c: char| !matches!(c, '-' | '+' | '.' | '0'..='9' | 'e' | 'E'));
        let text = &self.rest()[..end.unwrap_or(self.rest().len())];
        let value = match serde_json::from_str::<serde_json::Number>(text) {
            Ok(number) => number.as_i64().map(Value::Int).or(number.as_f64().map(Value::Float)),
            Err(_) => None,
        };
        let value =
            value.ok_or_else(|| self.place().mistake(format!("expected a number, found `{text}`")))?;
        self.at += text.len();
        Ok(value)
    }

    fn word(&mut self) -> Result<Value, Mistake> {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }

    fn takes(&mut self, token: char) -> bool {
        self.skip_spaces();
        let takes = self.rest().starts_with(token);
        self.at += if takes { token.len_utf8() } else { 0 };
        takes
    }

    fn expected(&self, what: &str) -> Mistake {
        let found = match self.rest().chars().next() {
            Some(found) => format!("`{found}`"),
            None => "the end of the file".to_owned(),
        };
        self.place().mistake(format!("expected {what}, found {found}"))
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn place(&self) -> Place {
        Place::of_byte(self.text, self.at)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
