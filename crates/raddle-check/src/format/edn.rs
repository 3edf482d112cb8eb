//! EDN: a history is maps, one after another or in one vector, over any number of lines.
//!
//! The `clojure-reader` crate reads a map; finding where each one ends, so that a file of any length is read in
//! constant memory, is done here.

use std::io::BufRead;

use clojure_reader::edn::{self, Edn};

use super::lines::{Input, LONGEST};
use super::{Error, Kind, Record, Source};
use crate::value::Value;

/// Maps nested deeper are no operation; readers of nested text need a bound.
const DEEPEST: usize = 64;

#[derive(Default)]
pub(super) struct Forms {
    form: Vec<u8>,
    /// The bracket that ends the vector or list that holds the whole history, if one does.
    outer: Option<u8>,
    outer_line: u64,
}

impl<R: BufRead> Source<R> for Forms {
    fn next(&mut self, input: &mut Input<R>) -> Option<Result<Record, Error>> {
        loop {
            let line = match self.next_form(input)? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let record = std::str::from_utf8(&self.form)
                .map_err(|_| Error::new(line, "the form is not UTF-8"))
                .and_then(|text| record(line, text));
            if let Some(record) = record.transpose() {
                return Some(record);
            }
        }
    }
}

impl Forms {
    /// Reads the next map into `form` and returns the line it begins on.
    fn next_form<R: BufRead>(&mut self, input: &mut Input<R>) -> Option<Result<u64, Error>> {
        self.form.clear();
        loop {
            let line = input.line;
            let byte = match input.next_byte() {
                Some(Ok(byte)) => byte,
                Some(Err(error)) => return Some(Err(error)),
                None if self.outer.is_some() => {
                    let message = "the history begun here with a bracket never ends: the file is cut off";
                    return Some(Err(Error::new(self.outer_line, message)));
                }
                None => return None,
            };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
                b';' => skip_line(input),
                b'{' => return Some(self.finish_form(input, line).map(|()| line)),
                b'[' | b'(' if self.outer.is_none() => {
                    self.outer = Some(if byte == b'[' { b']' } else { b')' });
                    self.outer_line = line;
                }
                _ if Some(byte) == self.outer => self.outer = None,
                b'#' => {
                    // A record of Jepsen's, `#jepsen.history.Op{…}`: the tag says nothing the map does not.
                    if let Err(error) = skip_tag(input, line) {
                        return Some(Err(error));
                    }
                    return Some(self.finish_form(input, line).map(|()| line));
                }
                _ => return Some(Err(Error::new(line, "an operation should be a map: `{:process 0, …}`"))),
            }
        }
    }

    /// Reads on to the bracket that ends the map whose first one has been read.
    fn finish_form<R: BufRead>(&mut self, input: &mut Input<R>, line: u64) -> Result<(), Error> {
        let mut depth = 1;
        let mut in_text = false;
        self.form.push(b'{');
        while depth > 0 {
            let Some(byte) = input.next_byte().transpose()? else {
                return Err(Error::new(line, "the map begun here never ends: the file is cut off"));
            };
            if self.form.len() == LONGEST {
                return Err(Error::new(line, format!("the map begun here is longer than {LONGEST} bytes")));
            }
            self.form.push(byte);
            match byte {
                b'"' => in_text = !in_text,
                // What is behind a backslash, in a text or as a character, is neither quote nor bracket.
                b'\\' => self.form.extend(input.next_byte().transpose()?),
                _ if in_text => {}
                b';' => {
                    self.form.pop();
                    skip_line(input);
                }
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth -= 1,
                _ => {}
            }
            if depth > DEEPEST {
                return Err(Error::new(line, format!("the map begun here nests more than {DEEPEST} deep")));
            }
        }
        Ok(())
    }
}

fn skip_line<R: BufRead>(input: &mut Input<R>) {
    while let Some(Ok(byte)) = input.next_byte() {
        if byte == b'\n' {
            break;
        }
    }
}

fn skip_tag<R: BufRead>(input: &mut Input<R>, line: u64) -> Result<(), Error> {
    for _ in 0..256 {
        match input.next_byte().transpose()? {
            Some(b'{') => return Ok(()),
            Some(b'\n') | None => break,
            Some(_) => {}
        }
    }
    Err(Error::new(line, "a tag should be followed by a map: `#jepsen.history.Op{…}`"))
}

/// The record that a map is; none if it is not about a client's operation.
fn record(line: u64, text: &str) -> Result<Option<Record>, Error> {
    let form = edn::read_string(text);
    let map = match &form {
        Ok(Edn::Map(map)) => map,
        Ok(_) => return Err(Error::new(line, "an operation should be a map: `{:process 0, …}`")),
        Err(error) => return Err(Error::new(line, format!("this is not EDN: {}", reason(error)))),
    };
    let field = |name: &'static str| map.get(&Edn::Key(name.into()));
    let process = match field("process") {
        Some(Edn::Int(process)) => u64::try_from(*process).ok(),
        // The nemesis is no client.
        Some(Edn::Key(_)) => return Ok(None),
        _ => None,
    };
    let kind = match field("type") {
        Some(Edn::Key(name)) => Kind::from_name(name),
        _ => None,
    };
    let name = match field("f") {
        Some(Edn::Key(name)) => name.as_ref(),
        _ if kind == Some(Kind::Crash) => "",
        _ => return Err(Error::new(line, "`:f`, the name of the operation, is missing or no keyword")),
    };
    let Some(kind) = kind else {
        return Err(Error::new(line, "`:type` should be :invoke, :ok, :fail, :info or :crash"));
    };
    let Some(process) = process.or((kind == Kind::Crash).then_some(0)) else {
        return Err(Error::new(line, "`:process` should be a number"));
    };
    let key = field("key").map(convert).transpose().map_err(|message| Error::new(line, message))?;
    let value =
        field("value").map_or(Ok(Value::Nil), convert).map_err(|message| Error::new(line, message))?;
    Ok(Some(Record { line, process, kind, name: name.to_owned(), key, value, time: None }))
}

/// The value that a piece of EDN is.
pub(super) fn value_of(text: &str) -> Result<Value, String> {
    if text.bytes().filter(|byte| b"[({".contains(byte)).count() > DEEPEST {
        return Err(format!("the value nests more than {DEEPEST} deep"));
    }
    let edn = edn::read_string(text).map_err(|error| format!("this is not EDN: {}", reason(&error)))?;
    convert(&edn)
}

fn convert(edn: &Edn<'_>) -> Result<Value, String> {
    let list = |items: &mut dyn Iterator<Item = &Edn<'_>>| {
        items.map(convert).collect::<Result<Vec<Value>, String>>().map(Value::from)
    };
    match edn {
        Edn::Nil => Ok(Value::Nil),
        Edn::Bool(b) => Ok(Value::Bool(*b)),
        Edn::Int(n) => Ok(Value::Int(*n)),
        Edn::Str(text) => Ok(Value::from(text.as_ref())),
        Edn::Key(name) => Ok(Value::from(format!(":{name}"))),
        Edn::Symbol(name) => Ok(Value::from(name.as_ref())),
        Edn::Char(c) => Ok(Value::from(c.to_string())),
        Edn::Vector(items) | Edn::List(items) => list(&mut items.iter()),
        Edn::Set(items) => list(&mut items.iter()),
        Edn::Map(map) => {
            let pair = |(k, v)| Ok(Value::from(vec![convert(k)?, convert(v)?]));
            let mut pairs = map.iter().map(pair).collect::<Result<Vec<Value>, String>>()?;
            pairs.sort();
            Ok(Value::from(pairs))
        }
        Edn::Tagged(_, value) => convert(value),
        Edn::Double(_) => Err("numbers with a fraction are not supported".into()),
        other => Err(format!("`{other}` is a kind of value that is not supported")),
    }
}

fn reason(error: &clojure_reader::error::Error) -> String {
    format!("{:?}", error.code)
}
