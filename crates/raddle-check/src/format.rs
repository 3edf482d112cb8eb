//! Histories in files: read record by record, paired into operations, mistakes named by line.
//!
//! [`records`] reads any of the formats; [`read_history`] makes a history of a model of them.

mod edn;
mod jepsen_log;
mod jsonl;
mod lines;
mod pairing;

use std::fmt;
use std::io::BufRead;
use std::str::FromStr;

pub use pairing::{Loaded, Pairing, Step, read_history};

use crate::value::Value;

/// How a history is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines, one event a line, as documented in this crate's README and JSON Schema.
    Jsonl,
    /// EDN maps, as Jepsen and Knossos store histories and Porcupine its key-value ones: one after another or all
    /// in one vector.
    Edn,
    /// A log of Jepsen, as Porcupine's etcd histories.
    JepsenLog,
}

/// One line or form of a history file: something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it begins, counted from 1.
    pub line: u64,
    /// Whose operation it is about; 0 for a crash.
    pub process: u64,
    /// What happened.
    pub kind: Kind,
    /// The name of the operation.
    pub name: String,
    /// The key of the object, if the record has a field for it.
    pub key: Option<Value>,
    /// The argument of a call, the result of a return.
    pub value: Value,
    /// When it happened, if the order of the lines is not all there is to say.
    pub time: Option<u64>,
}

/// What can happen in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operation was called.
    Invoke,
    /// It returned.
    Ok,
    /// It did not happen, for certain.
    Fail,
    /// Nobody knows whether it happened or still will.
    Info,
    /// The whole system crashed.
    Crash,
}

/// What is wrong with a history file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, counted from 1; 0 if the file could not be read at all.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
}

impl Error {
    fn new(line: u64, message: impl Into<String>) -> Error {
        Error { line, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        match name {
            "jsonl" | "json" => Ok(Format::Jsonl),
            "edn" | "porcupine-kv" => Ok(Format::Edn),
            "jepsen-log" | "porcupine-etcd" => Ok(Format::JepsenLog),
            _ => Err(format!(
                "no format is called `{name}`: there are jsonl, edn (porcupine-kv), jepsen-log (porcupine-etcd)"
            )),
        }
    }
}

impl Kind {
    fn from_name(name: &str) -> Option<Kind> {
        match name {
            "invoke" => Some(Kind::Invoke),
            "ok" => Some(Kind::Ok),
            "fail" => Some(Kind::Fail),
            "info" => Some(Kind::Info),
            "crash" => Some(Kind::Crash),
            _ => None,
        }
    }
}

/// Reads the records of a history one by one, in memory that does not depend on how many there are.
pub fn records<R: BufRead>(reader: R, format: Format) -> impl Iterator<Item = Result<Record, Error>> {
    let mut source: Box<dyn Source<R>> = match format {
        Format::Jsonl => Box::new(jsonl::Jsonl::default()),
        Format::Edn => Box::new(edn::Forms::default()),
        Format::JepsenLog => Box::new(jepsen_log::JepsenLog),
    };
    let mut reader = lines::Input::new(reader);
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let record = source.next(&mut reader);
        failed = matches!(record, Some(Err(_)));
        record
    })
}

/// A reader of one format.
trait Source<R> {
    fn next(&mut self, input: &mut lines::Input<R>) -> Option<Result<Record, Error>>;
}

/// Tells the format by how the file begins.
pub fn detect(beginning: &[u8]) -> Result<Format, Error> {
    let text = String::from_utf8_lossy(beginning);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let first = start.lines().next().unwrap_or("");
    if first.contains("jepsen.") {
        Ok(Format::JepsenLog)
    } else if start.starts_with('{') && start[1..].trim_start().starts_with(['"', '}']) {
        Ok(Format::Jsonl)
    } else if start.is_empty() || start.starts_with(['{', '[', '(', ';', '#']) {
        Ok(Format::Edn)
    } else {
        Err(Error::new(1, "this is no history: neither JSON Lines nor EDN nor a Jepsen log"))
    }
}
