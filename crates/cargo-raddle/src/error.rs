//! What can go wrong for a user, and the exit code each case has.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Exit codes, as `--help` and the README list them.
pub(crate) mod exit {
    /// Every test passed; a replay showed no failure.
    pub(crate) const PASSED: u8 = 0;
    /// A test failed, or a failure was reproduced.
    pub(crate) const FAILED: u8 = 1;
    /// A usage error, an unreadable, foreign or corrupt file, a refused replay, no debugger.
    pub(crate) const USAGE: u8 = 2;
    /// Nothing is explored: no test is selected, or tests that pass would mean nothing.
    pub(crate) const NOT_EXPLORED: u8 = 4;
    /// The build failed: cargo's own code.
    pub(crate) const BUILD: u8 = 101;
}

/// The part of `--help` that explains the exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    all tests passed
  1    a test failed, or a failure was reproduced
  2    usage error, a file that cannot be read or is not a failure file, a refused replay, or
       no debugger for `debug`
  3    a replay took another course than the recorded execution
  4    nothing is explored: no test is selected, nothing depends on Raddle, the build does not find a
       bug that is put there for it to find, or compiler, target or versions do not fit
  101  the build failed";

/// An error that ends the command. Each message is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The user asked for something that is not possible.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// `read`, `write`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Cargo or rustc answered something this version does not understand.
    #[error("cannot understand the answer of `{program}` ({reason}); is the toolchain older than Rust 1.95?")]
    Answer {
        /// The program.
        program: String,
        /// What was wrong with it.
        reason: String,
    },
    /// Tests that pass would mean nothing.
    #[error("{0}")]
    NotExplored(String),
    /// Cargo failed and has said why.
    #[error("cargo could not build the tests")]
    Build,
}

/// The result of everything that can fail for a user.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A usage error.
    pub(crate) fn usage(message: impl Display) -> Error {
        Error::Usage(message.to_string())
    }

    /// For `map_err` after starting a program.
    pub(crate) fn start(program: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let program = program.as_ref().display().to_string();
        move |source| Error::Start { program, source }
    }

    /// For `map_err` after an operation on a file.
    pub(crate) fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::File { action, path, source }
    }

    /// The exit code of the command.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Build => exit::BUILD,
            Error::NotExplored(_) => exit::NOT_EXPLORED,
            _ => exit::USAGE,
        }
    }

    /// Whether the reason was already printed by somebody else.
    pub(crate) fn already_reported(&self) -> bool {
        matches!(self, Error::Build)
    }
}
