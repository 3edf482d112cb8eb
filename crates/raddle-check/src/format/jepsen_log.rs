//! Jepsen's log lines: `INFO  jepsen.util - 3 :invoke :cas [1 2]`.

use std::io::BufRead;

use super::edn::value_of;
use super::lines::Input;
use super::{Error, Kind, Record, Source};

pub(super) struct JepsenLog;

impl<R: BufRead> Source<R> for JepsenLog {
    fn next(&mut self, input: &mut Input<R>) -> Option<Result<Record, Error>> {
        loop {
            let (line, text) = match input.next_line()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            match record(line, text) {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The record on a line; none if it is a line of the log that is not about an operation.
fn record(line: u64, text: &str) -> Result<Option<Record>, Error> {
    let Some((_, logged)) = text.split_once("jepsen.util - ") else {
        return match text.contains("jepsen") {
            true => Ok(None),
            false => Err(Error::new(line, "this is no line of a Jepsen log: it does not name `jepsen.util`")),
        };
    };
    let (process, rest) = word(logged);
    let (kind, rest) = word(rest);
    let (name, value) = word(rest);
    if process.starts_with(":nemesis") {
        return Ok(None);
    }
    let Ok(process) = process.parse() else {
        return Err(Error::new(line, format!("the process should be a number, not `{process}`")));
    };
    let Some(kind) = kind.strip_prefix(':').and_then(Kind::from_name) else {
        return Err(Error::new(line, format!("`{kind}` should be :invoke, :ok, :fail or :info")));
    };
    let Some(name) = name.strip_prefix(':') else {
        return Err(Error::new(line, "the line ends before the name of the operation"));
    };
    if value.is_empty() {
        return Err(Error::new(line, format!("the line ends before the value of `{name}`")));
    }
    let value = value_of(value).map_err(|message| Error::new(line, message))?;
    Ok(Some(Record { line, process, kind, name: name.to_owned(), key: None, value, time: None }))
}

/// The first word of `text`, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}
