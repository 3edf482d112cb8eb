//! Our own format: one JSON object a line. See the crate's README and `schema/history.schema.json`.

use std::io::BufRead;

use serde::Deserialize;

use super::lines::Input;
use super::{Error, Kind, Record, Source};
use crate::value::Value;

#[derive(Default)]
pub(super) struct Jsonl {
    last_time: Option<u64>,
}

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    process: Option<u64>,
    f: Option<String>,
    #[serde(default)]
    key: Option<Value>,
    #[serde(default)]
    value: Value,
    time: Option<u64>,
}

impl<R: BufRead> Source<R> for Jsonl {
    fn next(&mut self, input: &mut Input<R>) -> Option<Result<Record, Error>> {
        let (line, text) = match input.next_line()? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        Some(self.record(line, text))
    }
}

impl Jsonl {
    fn record(&mut self, line: u64, text: &str) -> Result<Record, Error> {
        let read: Line = serde_json::from_str(text).map_err(|error| {
            // The column counts; the line is always the first of this text.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message);
            Error::new(line, format!("{message} (column {})", error.column()))
        })?;
        let Some(kind) = Kind::from_name(&read.kind) else {
            let known = "invoke, ok, fail, info or crash";
            return Err(Error::new(line, format!("`type` should be {known}, not `{}`", read.kind)));
        };
        let (process, name) = match (kind, read.process, read.f) {
            (Kind::Crash, ..) => (0, String::new()),
            (_, Some(process), Some(name)) => (process, name),
            (_, None, _) => return Err(Error::new(line, "`process` is missing")),
            (_, _, None) => return Err(Error::new(line, "`f`, the name of the operation, is missing")),
        };
        if read.time < self.last_time {
            return Err(Error::new(line, "`time` is missing or earlier than that of the line before"));
        }
        self.last_time = read.time;
        Ok(Record { line, process, kind, name, key: read.key, value: read.value, time: read.time })
    }
}
