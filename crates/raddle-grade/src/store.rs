//! Results that are kept, so that what was graded and has not changed is not graded again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::gradebook::{Grade, Status};
use crate::submission::Sources;

/// A directory of results, one file for each submission.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// The results in a directory, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn open(directory: PathBuf) -> io::Result<Store> {
        fs::create_dir_all(&directory)?;
        Ok(Store { directory })
    }

    /// The result of a submission, if it is kept under this key. What the grader is to blame for is graded again.
    pub fn get(&self, name: &str, key: &str) -> Option<Grade> {
        let text = fs::read_to_string(self.file(name)).ok()?;
        let grade: Grade = serde_json::from_str(&text).ok()?;
        let usable =
            grade.key == key && grade.name == name && !matches!(grade.status, Status::GraderFailed(_));
        usable.then_some(grade)
    }

    /// Keeps the result of a submission. A reader sees the old result or the new one, never half of it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn put(&self, grade: &Grade) -> io::Result<()> {
        let text = serde_json::to_string(grade).map_err(io::Error::other)?;
        raddle_report::file::replace(&self.file(&grade.name), text)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{}.json", file_name(name)))
    }
}

/// A name that is safe as the name of a file, and different for different names.
pub fn file_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '@' | '+' | '.') { c } else { '_' })
        .collect();
    let safe = safe.trim_start_matches('.');
    if safe == name && name.len() < 200 {
        return name.to_owned();
    }
    let short: String = safe.chars().take(60).collect();
    format!("{short}-{}", &digest([name.as_bytes()])[..8])
}

/// The identity of what is graded.
pub fn key(sources: &Sources, course: &str) -> String {
    let mut parts: Vec<&[u8]> = vec![course.as_bytes()];
    let files: Vec<(String, &String)> =
        sources.0.iter().map(|(file, text)| (file.display().to_string(), text)).collect();
    for (file, text) in &files {
        parts.extend([file.as_bytes(), text.as_bytes()]);
    }
    digest(parts)
}

/// The identity of a course: all files that decide how it grades, and the tool.
///
/// # Errors
///
/// When a file cannot be read.
pub fn course_key(files: &[PathBuf], tool: &str) -> io::Result<String> {
    let mut parts = vec![tool.as_bytes().to_vec()];
    for file in files {
        parts.push(fs::read(file)?);
    }
    Ok(digest(parts.iter().map(Vec::as_slice)))
}

/// The files below a directory that decide how a course grades: Rust and TOML, without the folders of submissions and builds.
///
/// # Errors
///
/// When a directory cannot be read.
pub fn course_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    const PASSED_OVER: [&str; 4] = ["target", "wrong", "template", "submissions"];
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if !PASSED_OVER.contains(&name.as_ref()) {
                files.extend(course_files(&path)?);
            }
        } else if name.ends_with(".rs") || name.ends_with(".toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length first: otherwise text could wander from one part to the next unnoticed.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_safe_and_different() {
        assert_eq!(file_name("anna-1"), "anna-1");
        assert_ne!(file_name("a/b"), file_name("a_b"));
        assert!(!file_name("../../etc").contains('/'));
        assert!(!file_name(".hidden").starts_with('.'));
        assert!(file_name(&"x".repeat(500)).len() < 100);
    }

    #[test]
    fn a_key_depends_on_every_part() {
        let sources = |file: &str, text: &str| Sources([(PathBuf::from(file), text.to_owned())].into());
        let all = [
            key(&sources("a", "b"), "c"),
            key(&sources("a", "x"), "c"),
            key(&sources("x", "b"), "c"),
            key(&sources("a", "b"), "x"),
            key(&sources("ab", ""), "c"),
        ];
        for (number, one) in all.iter().enumerate() {
            assert!(!all[number + 1..].contains(one));
        }
    }
}
