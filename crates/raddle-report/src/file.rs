//! The failure file: reading, writing and errors. The format is described in `FORMAT.md` beside this crate's sources.

mod layout;
mod save;
mod validate;

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::failure::{FORMAT, Failure, ThreadEnd, WaitingFor};

use layout::Layout;
use save::Temporary;
use validate::validate;

pub use save::{replace, write_new};

/// An error in reading a failure file. Every message is one sentence that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not exist.
    Missing {
        /// The requested file.
        path: PathBuf,
    },
    /// The system refused to read the file.
    Unreadable {
        /// The requested file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file ends in the middle.
    CutOff {
        /// The requested file.
        path: PathBuf,
    },
    /// The file is not JSON.
    NotJson {
        /// The requested file.
        path: PathBuf,
        /// The syntax error.
        error: serde_json::Error,
    },
    /// The file is JSON, but not a failure file.
    Foreign {
        /// The requested file.
        path: PathBuf,
    },
    /// A part of the failure file is missing or invalid.
    Damaged {
        /// The requested file.
        path: PathBuf,
        /// The missing or invalid part.
        error: serde_json::Error,
    },
    /// The file has the format of a newer version.
    Newer {
        /// The requested file.
        path: PathBuf,
        /// The version of the file.
        format: u64,
    },
}

impl Failure {
    /// Reads a failure file.
    ///
    /// ```
    /// # use std::path::Path;
    /// use raddle_report::Failure;
    ///
    /// let error = Failure::read(Path::new("no/such/file.json")).unwrap_err();
    /// assert!(error.to_string().starts_with("there is no file no/such/file.json"));
    /// ```
    pub fn read(path: &Path) -> Result<Failure, FileError> {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::Missing { path: path.into() },
            _ => FileError::Unreadable { path: path.into(), error },
        })?;
        Failure::parse(path, &bytes)
    }

    /// Reads the contents of a failure file; the path is for messages.
    ///
    /// # Errors
    /// If this is no failure file, or a damaged one.
    pub fn parse(path: &Path, contents: &[u8]) -> Result<Failure, FileError> {
        parse(path, contents)
    }

    /// Writes the failure to a new file in a directory and returns the file's path. A missing directory is created.
    ///
    /// The file is named after the test, and numbered if that name is taken by another failure: no file is ever
    /// overwritten, and none is ever seen half written.
    pub fn write_new(&self, dir: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(dir)?;
        let name = safe_name(&self.test);
        let temporary = Temporary::write(dir, &name, self.to_json().as_bytes())?;
        publish(&temporary.path, dir, &name)
    }

    /// Writes the failure over the file that it was read from: whole or not at all.
    pub fn rewrite(&self, path: &Path) -> io::Result<()> {
        replace(path, self.to_json())
    }

    /// The text of the failure file.
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, Layout::default());
        self.serialize(&mut serializer)
            .expect("the model has only string keys and writing to memory cannot fail");
        text.push(b'\n');
        String::from_utf8(text).expect("serde_json writes UTF-8")
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Missing { path } => write!(
                f,
                "there is no file {}: give the path that the failing test printed (failures are kept in target/raddle/failures)",
                path.display()
            ),
            FileError::Unreadable { path, error } => {
                write!(
                    f,
                    "cannot read {} ({error}): check that it is a file and that you may read it",
                    path.display()
                )
            }
            FileError::CutOff { path } => write!(
                f,
                "{} ends in the middle, so it is no whole Raddle failure file: run the test again to get a new one",
                path.display()
            ),
            FileError::NotJson { path, error } => write!(
                f,
                "{} is not a Raddle failure file, for it is not JSON ({error}): give a file from target/raddle/failures",
                path.display()
            ),
            FileError::Foreign { path } => write!(
                f,
                "{} is JSON, but not a Raddle failure file: give a file from target/raddle/failures",
                path.display()
            ),
            FileError::Damaged { path, error } => write!(
                f,
                "{} is a damaged Raddle failure file ({error}): run the test again to get a new one",
                path.display()
            ),
            FileError::Newer { path, format } => write!(
                f,
                "{} has format {format}, and this Raddle reads formats up to {FORMAT}: update Raddle to read it",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Unreadable { error, .. } => Some(error),
            FileError::NotJson { error, .. } | FileError::Damaged { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// The fields that every version of the format has, by which a failure file is recognised.
#[derive(Deserialize)]
struct Header {
    format: u64,
    #[serde(rename = "test")]
    _test: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "schedule")]
    _schedule: serde::de::IgnoredAny,
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Failure, FileError> {
    let path = || path.to_owned();
    let header: Header = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => FileError::Foreign { path: path() },
        Category::Eof => FileError::CutOff { path: path() },
        _ => FileError::NotJson { path: path(), error },
    })?;
    if header.format > u64::from(FORMAT) {
        return Err(FileError::Newer { path: path(), format: header.format });
    }
    let failure: Failure =
        serde_json::from_slice(bytes).map_err(|error| FileError::Damaged { path: path(), error })?;
    validate(&failure)
        .map_err(|what| FileError::Damaged { path: path(), error: serde::de::Error::custom(what) })?;
    Ok(upgraded(failure))
}

/// Adds the typed target of joins, which older versions wrote in words only.
fn upgraded(mut failure: Failure) -> Failure {
    for thread in &mut failure.threads {
        if let ThreadEnd::Waiting { on, awaited: awaited @ None, held_by: Some(holder), .. } = &mut thread.end
        {
            let join = WaitingFor::Thread(*holder);
            *awaited = (*on == join.to_string()).then_some(join);
        }
    }
    failure
}

/// A portable file name, made from a test's name.
fn safe_name(test: &str) -> String {
    let mut name = String::new();
    for c in test.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == 100 {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "failure".to_owned() } else { name.to_owned() }
}

/// Gives a complete temporary file the first free name.
fn publish(temporary: &Path, dir: &Path, name: &str) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let path = match number {
            1 => dir.join(format!("{name}.json")),
            _ => dir.join(format!("{name}-{number}.json")),
        };
        // A link appears whole or not at all, and never in place of another file.
        match fs::hard_link(temporary, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if same_content(temporary, &path) {
                    return Ok(path);
                }
                continue;
            }
            Err(_) => {}
        }
        // No links on this file system: take the name, then move the file over it.
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => return fs::rename(temporary, &path).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there are fewer than 2^32 files in a directory")
}

/// Whether two files have equal contents. Tests are deterministic, so that a failure is often on file already.
fn same_content(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}
