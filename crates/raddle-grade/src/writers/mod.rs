//! What becomes of results: files for students, teachers and other programs.
//!
//! A writer reads the [`Gradebook`] and nothing else. [`all`] lists those that come with the grader; a program that uses this crate can
//! add its own.

mod csv;
mod gradescope;
mod html;
mod jsonl;
mod junit;
mod student;
mod summary;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::gradebook::Gradebook;

/// A format of results.
pub trait Writer {
    /// The name, by which `--format` selects it.
    fn name(&self) -> &'static str;
    /// Writes the results.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()>;
}

/// The writers that come with the grader.
pub fn all() -> Vec<Box<dyn Writer>> {
    vec![
        Box::new(student::Markdown),
        Box::new(student::Html),
        Box::new(gradescope::Gradescope),
        Box::new(junit::Junit),
        Box::new(csv::Csv),
        Box::new(jsonl::JsonLines),
        Box::new(summary::Summary),
    ]
}

/// A folder for results. A file takes the place of an older one at once: no reader sees half of it.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder, which is made when something is written.
    pub fn new(path: PathBuf) -> Folder {
        Folder(path)
    }

    /// A folder in this one.
    pub fn inside(&self, name: impl AsRef<Path>) -> Folder {
        Folder(self.0.join(name))
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn put(&self, name: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        raddle_report::file::replace(&self.0.join(name), text)
    }

    /// Removes files of an older run, by their names' end, that are not in the list.
    fn keep_only(&self, names: &[String], end: &str) -> io::Result<()> {
        for entry in fs::read_dir(&self.0).into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(end) && !names.contains(&name) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Points as people write them: without needless digits.
fn points(points: f64) -> String {
    let text = format!("{points:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
