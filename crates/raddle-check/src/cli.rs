//! The command line: `verify FILE --model MODEL`.
//!
//! Exit codes: 0 if the history keeps the contract, 1 if it does not, 2 for bad input or usage, 3 if a limit was reached
//! first.

mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::explain::{Story, html, json, text};
use crate::format::{self, Format, Pairing, Step, read_history, records};
use crate::model::catalog;
use crate::model::erased::Erased;
use crate::stream::{Stop, Stream};
use crate::{Checker, Contract, Limits};
use options::{Cli, Command, Partition, Verify};

const ACCEPTED: u8 = 0;
const VIOLATION: u8 = 1;
const MISTAKE: u8 = 2;
const UNKNOWN: u8 = 3;

/// Runs the command that `args` are: the program's name, then `verify` and its arguments.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done if the terminal is gone.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let result = match cli.command {
        Command::Verify(verify) => verify_file(&verify),
        Command::Models => {
            let lines =
                catalog::MODELS.iter().map(|entry| format!("{:<24} {}\n", entry.name, entry.operations));
            print(&lines.collect::<String>());
            Ok(ACCEPTED)
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(mistake) => {
            eprintln!("error: {mistake}");
            ExitCode::from(MISTAKE)
        }
    }
}

fn verify_file(verify: &Verify) -> Result<u8, String> {
    let name = verify.file.display().to_string();
    let locate = |error: format::Error| format!("{name}: {error}");
    let mut reader: Box<dyn BufRead> = if verify.file == Path::new("-") {
        Box::new(BufReader::new(stdin()))
    } else {
        Box::new(BufReader::new(File::open(&verify.file).map_err(|error| format!("{name}: {error}"))?))
    };
    let format = match verify.format {
        Some(format) => format,
        None => {
            let beginning = reader.fill_buf().map_err(|error| format!("{name}: {error}"))?;
            format::detect(beginning).map_err(locate)?
        }
    };
    let keyed = verify.partition == Some(Partition::Key) || catalog::has_keys(&verify.model);
    let model = catalog::find_with(&verify.model, keyed, verify.nil.into())?;
    let run = Run { verify, reader, format, keyed, name: &name };
    if verify.stream { run.stream(&model) } else { run.whole(&model) }
}

/// A history and how it is to be checked.
struct Run<'a> {
    verify: &'a Verify,
    reader: Box<dyn BufRead>,
    format: Format,
    keyed: bool,
    name: &'a str,
}

impl Run<'_> {
    fn limits(&self) -> Limits {
        Limits { time: self.verify.time_limit, memory: self.verify.memory_limit }
    }

    fn is_whole(&self) -> bool {
        self.verify.partition == Some(Partition::None)
    }

    /// Reads the whole history, then checks it.
    fn whole(self, model: &Erased) -> Result<u8, String> {
        let (verify, limits, is_whole) = (self.verify, self.limits(), self.is_whole());
        let loaded = read_history(self.reader, self.format, model, self.keyed)
            .map_err(|error| format!("{}: {error}", self.name))?;
        let mut checker = Checker::new().contract(verify.contract).ties(verify.ties.into()).limits(limits);
        if is_whole {
            checker = checker.whole();
        }
        let report = checker.try_check_parallel(&loaded.history, model).map_err(|error| error.to_string())?;
        let contract = verify.contract.to_string();
        let story = Story::new(self.name, &contract, &report, &loaded.history, model, &loaded.lines);
        if let Some(path) = &verify.html {
            std::fs::write(path, html::render(&story))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        print(&if verify.json { json::render(&story) } else { text::render(&story, verify.explain) });
        Ok(match story.verdict {
            "accepted" => ACCEPTED,
            "violation" => VIOLATION,
            _ => UNKNOWN,
        })
    }

    /// Checks the history as it comes.
    fn stream(self, model: &Erased) -> Result<u8, String> {
        if self.verify.contract != Contract::Linearizable {
            return Err(format!(
                "a stream can be checked for linearizable only, not {}",
                self.verify.contract
            ));
        }
        if self.verify.html.is_some() || self.verify.json || self.verify.explain {
            return Err("--html, --json and --explain need the whole history: leave out --stream".into());
        }
        let mut stream = Stream::new(model.clone()).limits(self.limits());
        if self.is_whole() {
            stream = stream.whole();
        }
        let name = self.name;
        let mut count = 0u64;
        let stopped = match self.feed(model, &mut stream, &mut count)? {
            Ok(()) => stream.finish().map(Some),
            Err(stop) => Err(stop),
        };
        let (line, code) = match stopped {
            Ok(Some(true)) => (format!("accepted: {name} is linearizable ({count} events)"), ACCEPTED),
            Ok(_) => (format!("unknown: {name}: an operation was given up on and returned later"), UNKNOWN),
            Err(Stop::Violation(found)) => {
                let key = found.key.map_or(String::new(), |key| format!("key {key}: "));
                (format!("violation: {name}: line {}: {key}{}", found.position, found.summary), VIOLATION)
            }
            Err(Stop::Limit(limit)) => {
                (format!("unknown: {name}: {} after {count} events", Stop::Limit(limit)), UNKNOWN)
            }
            Err(Stop::Unsupported(reason)) => (format!("unknown: {name}: {reason}"), UNKNOWN),
        };
        print(&format!("{line}\n"));
        Ok(code)
    }

    /// Passes the records on to `stream`. The outer error is a mistake in the input.
    fn feed(
        self,
        model: &Erased,
        stream: &mut Stream<Erased>,
        count: &mut u64,
    ) -> Result<Result<(), Stop>, String> {
        let locate = |error: format::Error| format!("{}: {error}", self.name);
        let mut pairing = Pairing::new(model, self.keyed);
        // The stream and the pairing both count calls, so an operation has the same number in both.
        for record in records(self.reader, self.format) {
            let record = record.map_err(locate)?;
            let line = record.line;
            *count += 1;
            let fed = match pairing.step(record).map_err(locate)? {
                Step::Call { input, .. } => stream.call(input).map(drop),
                Step::Return { operation, output } => stream.respond(operation as u64, output, line),
                Step::Never { operation } => stream.retract(operation as u64),
                Step::Unknown { operation } => stream.forget(operation as u64),
                Step::Crash => {
                    return Err(format!(
                        "{}: line {line}: crashes need the whole history: leave out --stream",
                        self.name
                    ));
                }
            };
            if let Err(stop) = fed {
                return Ok(Err(stop));
            }
        }
        Ok(Ok(()))
    }
}

/// Prints to standard output; a reader that has gone away is no error.
fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
