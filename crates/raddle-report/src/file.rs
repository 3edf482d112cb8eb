//! The failure file: [`Failure`] as JSON, laid out for people to read and for version control to compare.
//!
//! The format is described in `FORMAT.md` beside this crate's sources.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::failure::{FORMAT, Failure, ThreadEnd, WaitingFor, Write};

/// Why a failure file could not be read. Every message is one sentence that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// The system would not read it.
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is not JSON, or only the beginning of some.
    NotJson {
        /// The file asked for.
        path: PathBuf,
        /// Where it stops being JSON.
        error: serde_json::Error,
    },
    /// It is JSON, but nothing that Raddle wrote.
    Foreign {
        /// The file asked for.
        path: PathBuf,
    },
    /// It is a failure file, but a part of it is missing or wrong.
    Damaged {
        /// The file asked for.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A newer Raddle wrote it.
    Newer {
        /// The file asked for.
        path: PathBuf,
        /// Its format.
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
        parse(path, &bytes)
    }

    /// Writes the failure to a new file in a directory, which is made if need be, and returns the file's path.
    ///
    /// The file is named after the test, and numbered if that name is taken by another failure: no file is ever
    /// overwritten, and none is ever seen half written.
    pub fn write_new(&self, dir: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(dir)?;
        let name = safe_name(&self.test);
        // Other processes and other threads may be writing here as well.
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = dir.join(format!(".{name}.{}.{number}.tmp", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(self.to_json().as_bytes())?;
        drop(file);
        let placed = place(&temporary, dir, &name);
        // Where placing it moved it, it is gone already.
        let _ = fs::remove_file(&temporary);
        placed
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

/// What every version of the format has: enough to know that a file is ours.
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
        _ => FileError::NotJson { path: path(), error },
    })?;
    if header.format > u64::from(FORMAT) {
        return Err(FileError::Newer { path: path(), format: header.format });
    }
    let failure: Failure =
        serde_json::from_slice(bytes).map_err(|error| FileError::Damaged { path: path(), error })?;
    check(&failure)
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

/// Checks what readers rely on: every index is within its list, and stacks end.
fn check(failure: &Failure) -> Result<(), String> {
    let trace = &failure.trace;
    for (index, node) in trace.stacks.iter().enumerate() {
        if node.frame as usize >= trace.frames.len() {
            return Err(format!("stack {index} names frame {}, which is not there", node.frame));
        }
        if node.caller.is_some_and(|caller| caller as usize >= index) {
            return Err(format!("the caller of stack {index} does not come before it"));
        }
    }
    for (number, event) in trace.events.iter().enumerate() {
        let writes = [event.reads_from, event.overwrites].into_iter().flatten();
        let events = writes.filter_map(|write| match write {
            Write::Event(event) => Some(event),
            Write::Initial | Write::Unseen => None,
        });
        let known = event.synchronises_with.iter().copied();
        if let Some(other) = events.chain(known).find(|&other| other as usize >= trace.events.len()) {
            return Err(format!("event {number} refers to event {other}, which is not there"));
        }
    }
    let waits = failure.threads.iter().filter_map(|thread| match thread.end {
        ThreadEnd::Waiting { at, .. } => at,
        _ => None,
    });
    let stacks = trace.events.iter().filter_map(|event| event.at).chain(waits);
    match stacks.into_iter().find(|&at| at as usize >= trace.stacks.len()) {
        Some(at) => Err(format!("stack {at} is not there")),
        None => Ok(()),
    }
}

/// A file name that every system takes, made from a test's name.
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

/// Gives a finished temporary file the first name that is free.
fn place(temporary: &Path, dir: &Path, name: &str) -> io::Result<PathBuf> {
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

/// Whether the failure is on file already: tests are repeatable, and so are their failures.
fn same_content(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Lays JSON out with one line per field, thread, event and frame, and everything within them on that line.
#[derive(Default)]
struct Layout {
    /// For each container that is open, whether its parts have lines of their own.
    open: Vec<bool>,
    /// The key last written, which decides how the value after it is laid out.
    key: String,
    in_key: bool,
}

impl Layout {
    fn begin(&mut self) {
        let lines = match self.open.len() {
            0 => true,
            1 => matches!(self.key.as_str(), "threads" | "scenario" | "trace"),
            2 => matches!(self.key.as_str(), "events" | "frames"),
            _ => false,
        };
        // Only the parts of a container that itself has lines can have lines.
        self.open.push(lines && self.open.last().is_none_or(|&outer| outer));
        self.key.clear();
    }

    fn line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in &self.open {
            writer.write_all(b" ")?;
        }
        Ok(())
    }

    fn part<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.open.last() == Some(&true) { self.line(writer) } else { Ok(()) }
    }

    fn end<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.open.pop() == Some(true) { self.line(writer) } else { Ok(()) }
    }
}

impl serde_json::ser::Formatter for Layout {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin();
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer)?;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.part(writer, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin();
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.key.clear();
        self.in_key = true;
        self.part(writer, first)
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.open.last() == Some(&true) { b": " } else { b":" })
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        if self.in_key {
            self.key.push_str(text);
        }
        writer.write_all(text.as_bytes())
    }
}
