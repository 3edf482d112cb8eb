//! One schema in a process of its own.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_refine::schema::Schema;
use raddle_refine::{Verdict, driver};

use super::pace::Pace;
use super::project::{Program, Project};
use crate::error::{Error, Result};
use crate::options::RaddleOptions;
use crate::run::{self, Contract};
use crate::terminal::Terminal;

/// Runs schemas of a project.
pub(crate) struct Runner<'a> {
    project: &'a Project,
    contract: Option<Contract>,
    /// The seed of schedules.
    seed: u64,
}

/// What a process may take beyond the time that its schema is tried.
const GRACE: Duration = Duration::from_secs(20);

impl<'a> Runner<'a> {
    /// A runner for a project.
    pub(crate) fn new(
        project: &'a Project,
        options: &RaddleOptions,
        seed: u64,
        terminal: &Terminal,
    ) -> Result<Runner<'a>> {
        let contract = match &project.program {
            Program::Explored(session, _) => Some(Contract::new(session, options, terminal)?),
            Program::Plain(_) => None,
        };
        Ok(Runner { project, contract, seed })
    }

    /// Runs all schemas, several at once if each has a processor, and returns what came of each.
    pub(crate) fn run_all(
        &self,
        schemas: &[Schema],
        pace: &Pace,
        progress: impl Fn(usize) + Sync,
    ) -> Result<Vec<Verdict>> {
        let lines = self.project.add_schemas(schemas)?;
        let workers = match self.project.program {
            // Explorations have one thread; stress wants the machine for itself.
            Program::Explored(..) => thread::available_parallelism().map_or(1, usize::from),
            Program::Plain(_) => 1,
        };
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let verdicts = Mutex::new(vec![Verdict::default(); schemas.len()]);
        thread::scope(|scope| {
            for _ in 0..workers.min(schemas.len()) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(schema) = schemas.get(number) else { return };
                        let time = pace.share(schemas.len() - number, workers);
                        let verdict = self.run(schema, lines[number], time);
                        verdicts.lock().unwrap_or_else(PoisonError::into_inner)[number] = verdict;
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                });
            }
        });
        Ok(verdicts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn run(&self, schema: &Schema, line: usize, time: Duration) -> Verdict {
        let text = schema.to_string();
        match self.execute(&format!("schema_{line}"), time) {
            Ok(Ended { output, status, timed_out }) => match driver::parse(&output) {
                Some(verdict) => verdict,
                None if timed_out => {
                    let limit = (time + GRACE).as_secs();
                    Verdict::problem(
                        &text,
                        format!("its process did not end within {limit} s, and was ended"),
                    )
                }
                None => {
                    let how = status.map_or("was lost".to_owned(), run::describe_status);
                    Verdict {
                        failure: Some(raddle_refine::backend::Failed {
                            what: format!("its process {how}"),
                            file: None,
                        }),
                        schema: text,
                        ..Verdict::default()
                    }
                }
            },
            Err(error) => Verdict::problem(&text, error.to_string()),
        }
    }

    /// What is expected of schemas, without running them.
    pub(crate) fn expected(&self, schemas: &[Schema]) -> Result<Vec<Verdict>> {
        let lines = self.project.add_schemas(schemas)?;
        let one = |(schema, line): (&Schema, usize)| {
            let ended = self.execute(&format!("expected_{line}"), Duration::ZERO)?;
            let lost = || {
                Verdict::problem(&schema.to_string(), "its process ended before it had computed the outcomes")
            };
            Ok(driver::parse(&ended.output).unwrap_or_else(lost))
        };
        schemas.iter().zip(lines).map(one).collect()
    }

    /// Finds an execution with an unexpected outcome again, for its failure file.
    pub(crate) fn find_violation(&self, schema: &Schema, time: Duration) -> Result<Option<String>> {
        let Some(_) = &self.contract else { return Ok(None) };
        let line = self.project.add_schemas(std::slice::from_ref(schema))?[0];
        let ended = self.execute(&format!("violation_{line}"), time)?;
        let plain = console::strip_ansi_codes(&ended.output).into_owned();
        let replay = plain.lines().find_map(|line| line.strip_prefix("replay:"));
        Ok(replay.and_then(|command| command.trim().strip_prefix("cargo raddle replay ")).map(str::to_owned))
    }

    fn execute(&self, name: &str, time: Duration) -> Result<Ended> {
        let mut command = match &self.project.program {
            Program::Explored(_, binary) => {
                let mut command = binary.command();
                if let Some(contract) = &self.contract {
                    contract.apply_to_test(&mut command, binary, name);
                }
                command
            }
            Program::Plain(executable) => {
                let mut command = Command::new(executable);
                command.current_dir(&self.project.directory);
                command
            }
        };
        let milliseconds = time.as_millis().to_string();
        command.arg(name).env("REFINEMENT_MILLISECONDS", milliseconds);
        command.env("REFINEMENT_SEED", self.seed.to_string()).env("RUST_BACKTRACE", "0");
        wait(command, time + GRACE)
    }
}

/// What a process left.
pub(super) struct Ended {
    pub(super) output: String,
    status: Option<ExitStatus>,
    timed_out: bool,
}

/// Runs a process to its end, or ends it.
pub(super) fn wait(mut command: Command, limit: Duration) -> Result<Ended> {
    let program = command.get_program().to_owned();
    let (mut reader, writer) = std::io::pipe().map_err(Error::start(&program))?;
    command.stdin(Stdio::null()).stderr(writer.try_clone().map_err(Error::start(&program))?).stdout(writer);
    run::prepare(&mut command, None);
    let mut child = command.spawn().map_err(Error::start(&program))?;
    // The command holds the write ends of the pipe; they must go, or reading would never end.
    drop(command);
    let listener = thread::spawn(move || {
        let mut output = Vec::new();
        let _ = reader.read_to_end(&mut output);
        String::from_utf8_lossy(&output).into_owned()
    });
    let began = Instant::now();
    let mut timed_out = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if began.elapsed() > limit => {
                timed_out = true;
                let _ = child.kill();
                break child.wait().ok();
            }
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(_) => break None,
        }
    };
    Ok(Ended { output: listener.join().unwrap_or_default(), status, timed_out })
}
