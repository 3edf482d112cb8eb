//! Submissions: folders (or single files) of which nothing is used but the files that the course asks for.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::course::Course;

/// A submission as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The name: that of the folder, or of the file without `.rs`.
    pub name: String,
    /// The folder or file.
    pub path: PathBuf,
}

/// The sources of a submission, by their paths in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(pub BTreeMap<PathBuf, String>);

/// The submissions in a directory, by name. Hidden entries and files that are no Rust are passed over.
///
/// # Errors
///
/// When the directory cannot be read.
pub fn find(directory: &Path) -> io::Result<Vec<Submission>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        if name.starts_with('.') {
            continue;
        }
        let is_link = path.is_symlink();
        if is_link || path.is_dir() {
            found.push(Submission { name, path });
        } else if let Some(stem) = name.strip_suffix(".rs") {
            found.push(Submission { name: stem.to_owned(), path });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Ok(found)
}

impl Submission {
    /// Reads the files that the course asks for. A file other than the first may be missing.
    ///
    /// # Errors
    ///
    /// A sentence for the student.
    pub fn read(&self, course: &Course) -> Result<Sources, String> {
        if self.path.is_symlink() {
            return Err("the submission is a symbolic link, which is not followed".to_owned());
        }
        let mut sources = BTreeMap::new();
        for (number, file) in course.files.iter().enumerate() {
            let text = if self.path.is_dir() {
                read_inside(&self.path, file, course.largest_file)
            } else if number == 0 {
                read_file(&self.path, course.largest_file)
            } else {
                continue;
            };
            match text {
                Ok(text) => {
                    sources.insert(file.clone(), text);
                }
                Err(Unreadable::Missing) if number > 0 => {}
                Err(why) => return Err(format!("`{}` {why}", file.display())),
            }
        }
        Ok(Sources(sources))
    }
}

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("is missing")]
    Missing,
    #[error("is a symbolic link or lies behind one, which is not followed")]
    Link,
    #[error("is no regular file")]
    Special,
    #[error("has more than {0} bytes")]
    Large(u64),
    #[error("is not text in UTF-8")]
    Encoding,
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

fn read_inside(directory: &Path, file: &Path, largest: u64) -> Result<String, Unreadable> {
    let mut path = directory.to_owned();
    let parts: Vec<_> = file.components().collect();
    for part in &parts {
        path.push(part);
        if path.is_symlink() {
            return Err(Unreadable::Link);
        }
    }
    read_file(&path, largest)
}

fn read_file(path: &Path, largest: u64) -> Result<String, Unreadable> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| match error {
        _ if error.kind() == io::ErrorKind::NotFound => Unreadable::Missing,
        _ if error.raw_os_error() == Some(libc::ELOOP) => Unreadable::Link,
        _ => Unreadable::Io(error),
    })?;
    if !file.metadata().map_err(Unreadable::Io)?.is_file() {
        return Err(Unreadable::Special);
    }
    let mut text = Vec::new();
    file.take(largest + 1).read_to_end(&mut text).map_err(Unreadable::Io)?;
    if text.len() as u64 > largest {
        return Err(Unreadable::Large(largest));
    }
    String::from_utf8(text).map_err(|_| Unreadable::Encoding)
}

impl Sources {
    /// Writes the files below a directory.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        for (file, text) in &self.0 {
            let path = directory.join(file);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }
}
