use std::path::PathBuf;
use std::{fmt, io};

/// The reason why a program could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReflectError {
    /// The file could not be read.
    Unreadable {
        /// The program.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not a 64-bit little-endian ELF program, the only kind that is understood.
    NotElf {
        /// The program.
        path: PathBuf,
    },
    /// The load address of the running program is unknown.
    NotMapped,
}

impl fmt::Display for ReflectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReflectError::Unreadable { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            ReflectError::NotElf { path } => write!(
                f,
                "{} is not a 64-bit little-endian ELF program: its debug information cannot be read",
                path.display()
            ),
            ReflectError::NotMapped => {
                write!(f, "/proc/self/maps does not say where this program was loaded; is /proc mounted?")
            }
        }
    }
}

impl std::error::Error for ReflectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReflectError::Unreadable { error, .. } => Some(error),
            _ => None,
        }
    }
}
