//! The grader's side of a sandbox.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::cgroup::Groups;
use super::probe::{self, Isolation};
use super::spec::{Ending, Limit, Outcome, Spec};
use super::supervisor::ARGUMENT;

/// How much longer than the program a supervisor may take before it is taken for stuck.
const GRACE: Duration = Duration::from_secs(20);

/// Runs programs in isolation.
#[derive(Clone, Debug)]
pub struct Sandbox {
    executable: PathBuf,
    root: PathBuf,
    isolation: Isolation,
}

/// The sandbox itself failed; this says nothing about the program.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The supervisor could not be started or talked to.
    #[error("cannot run the sandbox: {0}")]
    Start(#[from] io::Error),
    /// The supervisor says what it could not do.
    #[error("the sandbox failed: {0}")]
    Supervisor(String),
    /// The grader was asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Sandbox {
    /// A sandbox whose supervisor is `executable`, which must call [`supervise`](super::supervise) if
    /// [`is_supervisor`](super::is_supervisor). Of the isolation in `wanted` it uses what this machine allows. The directory `root`
    /// must exist and be empty.
    pub fn new(executable: PathBuf, root: PathBuf, wanted: Isolation) -> Sandbox {
        let isolation = probe::probe(&executable, &root).and(wanted);
        Sandbox { executable, root, isolation }
    }

    /// The isolation in use.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Runs a program to its end, or until `stop` is set.
    ///
    /// # Errors
    ///
    /// When the sandbox itself fails.
    pub fn run(&self, spec: &Spec, stop: &AtomicBool) -> Result<Outcome, SandboxError> {
        let groups = match self.isolation.groups {
            true => Some(Groups::create(&spec.limits)?),
            false => None,
        };
        let spec = Spec {
            isolation: self.isolation,
            root: self.root.clone(),
            groups: groups.as_ref().map(Groups::entrances).unwrap_or_default(),
            ..spec.clone()
        };
        let result = run(&self.executable, &spec, stop);
        let starved = groups.is_some_and(|groups| groups.ran_out_of_memory());
        let mut outcome = match result {
            // The kernel has ended the supervisor together with the program.
            Err(SandboxError::Supervisor(_)) if starved => Outcome::out_of_memory(&spec),
            result => result?,
        };
        if starved && outcome.ending != Ending::Exited(0) {
            outcome.ending = Ending::Limit(Limit::Memory);
        }
        Ok(outcome)
    }
}

/// Starts a supervisor and waits for its answer.
pub(super) fn run(executable: &Path, spec: &Spec, stop: &AtomicBool) -> Result<Outcome, SandboxError> {
    let mut child = Command::new(executable)
        .arg(ARGUMENT)
        .process_group(0)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let text = serde_json::to_vec(spec).map_err(io::Error::other)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A supervisor that has already failed says why on its standard error.
        let _ = stdin.write_all(&text);
    }
    let mut streams = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let result = streams.0.as_mut().map_or(Ok(0), |stdout| stdout.read_to_end(&mut answer));
        result.map(|_| answer)
    });
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = streams.1.as_mut().map_or(Ok(0), |stderr| stderr.read_to_string(&mut text));
        text
    });
    let finished = wait(&mut child, spec.limits.wall + GRACE, stop);
    let answer = reader.join().unwrap_or_else(|_| Err(io::Error::other("lost")));
    let complaints = complaints.join().unwrap_or_default();
    finished?;
    let said = |why: &str| SandboxError::Supervisor(format!("{why} {}", complaints.trim()).trim().to_owned());
    let answer = answer?;
    if answer.is_empty() {
        return Err(said(""));
    }
    serde_json::from_slice(&answer).map_err(|error| said(&error.to_string()))
}

fn wait(child: &mut Child, longest: Duration, stop: &AtomicBool) -> Result<(), SandboxError> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || began.elapsed() > longest {
            // With the supervisor goes all that it has started.
            child.kill()?;
            child.wait()?;
            let stuck = || SandboxError::Supervisor("it did not end in time".to_owned());
            return Err(if stopped { SandboxError::Interrupted } else { stuck() });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
