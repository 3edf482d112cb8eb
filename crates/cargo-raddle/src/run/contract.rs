//! What a test's process is told about the command that runs it: the contract with the `raddle` crate.
//!
//! | variable | meaning |
//! |---|---|
//! | `RADDLE_OWNED` | `1`: the process runs one test only |
//! | `RADDLE_TEST` | the test, as the harness names it |
//! | `RADDLE_PACKAGE` | what it was built from: `my-crate@test:counter` |
//! | `RADDLE_CARGO_ARGS` | how it was built: a JSON array of arguments |
//! | `RADDLE_FAILURES` | the directory for failure files |
//! | `RADDLE_CORES` | how many processors there are for each of the tests that run at once |
//! | `RADDLE_PROGRESS` | a file descriptor for lines `executions⇥total, ~estimate or 0⇥depth⇥strategy`, `promise⇥milliseconds`, `failure⇥file`, `passed⇥what was explored`, `expected⇥0 or 1⇥condition` and `coverage⇥JSON` |
//! | `RADDLE_ALTERNATIVES` | `1`: a replay looks for executions that pass, and adds them to the failure file |
//! | `RADDLE_COVERAGE` | `1`: explorations without failure say which code they reached |
//! | `RADDLE_COLOR`, `RADDLE_COLUMNS` | how reports are to look |

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::binary::TestBinary;
use crate::error::{Error, Result};
use crate::options::RaddleOptions;
use crate::session::Session;
use crate::terminal::Terminal;
use crate::wrapper;

/// The variables that are the same for every test of a command.
#[derive(Debug)]
pub(crate) struct Contract {
    variables: Vec<(&'static str, String)>,
    failures: PathBuf,
}

impl Contract {
    /// What the options and the session say.
    pub(crate) fn new(session: &Session, options: &RaddleOptions, terminal: &Terminal) -> Result<Contract> {
        let mut variables = options.variables();
        let args = serde_json::to_string(&session.build_args()).map_err(Error::usage)?;
        variables.push(("RADDLE_CARGO_ARGS", args));
        variables.push(("RADDLE_COLOR", if terminal.color { "always" } else { "never" }.to_owned()));
        variables.push(("RADDLE_COLUMNS", terminal.columns.to_string()));
        let failures = match std::env::var_os("RADDLE_FAILURES") {
            Some(directory) => {
                std::path::absolute(directory).map_err(Error::file("find", "RADDLE_FAILURES"))?
            }
            None => session.failures(),
        };
        Ok(Contract { variables, failures })
    }

    /// Adds a variable.
    pub(crate) fn set(&mut self, name: &'static str, value: String) {
        self.variables.push((name, value));
    }

    /// Tells a process that may run any number of tests.
    pub(crate) fn apply(&self, command: &mut Command) {
        for inherited in INTERNAL {
            command.env_remove(inherited);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("RADDLE_FAILURES", &self.failures);
    }

    /// Tells nextest, which hands its environment down to processes that run one test each.
    pub(crate) fn apply_for_nextest(&self, nextest: &mut Command) {
        let kept = nextest.get_envs().map(|(name, value)| (name.to_owned(), value.map(OsString::from)));
        let kept: Vec<_> = kept.collect();
        self.apply(nextest);
        // The build happens in there, too: what it needs stays.
        for (name, value) in kept {
            match value {
                Some(value) => nextest.env(name, value),
                None => nextest.env_remove(name),
            };
        }
        nextest.env("RADDLE_OWNED", "1");
    }

    /// Tells a process that runs tests of one binary.
    pub(crate) fn apply_to(&self, command: &mut Command, binary: &TestBinary) {
        self.apply(command);
        command.env("RADDLE_PACKAGE", binary.id());
    }

    /// Tells a process that runs one test.
    pub(crate) fn apply_to_test(&self, command: &mut Command, binary: &TestBinary, test: &str) {
        self.apply_to(command, binary);
        command.env("RADDLE_OWNED", "1").env("RADDLE_TEST", test);
    }
}

/// What must not reach a test from a Raddle further up.
const INTERNAL: [&str; 10] = [
    "RADDLE_OWNED",
    "RADDLE_TEST",
    "RADDLE_PACKAGE",
    "RADDLE_CORES",
    "RADDLE_PROGRESS",
    "RADDLE_DEBUGGER",
    "RADDLE_ALTERNATIVES",
    "RADDLE_COVERAGE",
    wrapper::PLAN,
    wrapper::NEXT,
];
