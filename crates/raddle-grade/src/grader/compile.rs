//! Building a submission in the sandbox.
//!
//! The library is compiled where neither the tests nor any other submission exist: whatever the compiler is made to read there
//! (`include_str!`, `#[path]`) is the submission's own. The tests are compiled with them, but then no code of the submission runs any
//! more: it has no procedural macros, no build script, and no macro that tests call.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::{Desk, Ended, Grader, parent};
use crate::gradebook::Status;
use crate::lint::Rule;
use crate::recipe::{Call, Recipe};
use crate::sandbox::{Ending, Isolation, Mount, Outcome, Spec};

/// Where a compiler finds its linker.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The libraries that submissions are built with, each by itself: the directories have the reference solution and the tests, too.
pub(super) fn libraries(recipe: &Recipe) -> io::Result<Vec<Mount>> {
    let own = recipe.library_file(std::path::Path::new(""));
    let own = own.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let mut mounts = Vec::new();
    for directory in recipe.search_paths() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let extension = path.extension().and_then(OsStr::to_str);
            let is_library = matches!(extension, Some("rlib" | "rmeta" | "so" | "a"));
            let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            // All builds of the package's library, whatever their suffix.
            let name = own.rsplit_once('-').map_or(own, |(name, _)| name);
            let is_own = stem.rsplit_once('-').map_or(stem, |(name, _)| name) == name;
            if is_library && !is_own {
                mounts.push(Mount::read(path));
            }
        }
    }
    let others =
        recipe.inputs().into_iter().filter(|file| !recipe.search_paths().contains(&parent(file).to_owned()));
    mounts.extend(others.map(Mount::read));
    Ok(mounts)
}

impl Grader {
    /// Builds the library of the submission.
    pub(super) fn build_library(&self, desk: &Desk) -> Result<(), Ended> {
        let allow_unsafe = self.course.allow.contains(&Rule::Unsafe);
        let call = self.recipe.library_of(&desk.sources, &self.course.files[0], &desk.out, allow_unsafe);
        let outcome = self.compile(call, desk, Vec::new())?;
        match outcome.ending {
            Ending::Exited(0) => Ok(()),
            Ending::Limit(limit) => Err(Ended::Because(Status::CompilerLimit(limit))),
            _ => Err(Ended::Because(Status::DoesNotCompile(rendered(&outcome.output)))),
        }
    }

    /// Builds a test target with the library of the submission. The inner error is a sentence for the student; it does not quote the
    /// test, which may be hidden.
    pub(super) fn build_test(&self, target: &str, desk: &Desk) -> Result<Result<PathBuf, String>, Ended> {
        let file = self.recipe.test_file(target, &desk.out);
        let (Some(call), Some(file)) = (self.recipe.test_of(target, &desk.out), file) else {
            let why = format!("there is no test target `{target}`");
            return Err(Ended::Because(Status::GraderFailed(why)));
        };
        let tests = Mount::read(absolute(parent(&self.course.manifest)));
        let outcome = self.compile(call, desk, vec![tests])?;
        Ok(match outcome.ending {
            Ending::Exited(0) => Ok(file),
            Ending::Limit(limit) => Err(format!("the compiler used more {limit} than it may")),
            _ => Err(format!("the submission does not fit the test: {}", messages(&outcome.output))),
        })
    }

    fn compile(&self, call: Call, desk: &Desk, more: Vec<Mount>) -> Result<Outcome, Ended> {
        let mut env: BTreeMap<String, String> = call.env;
        env.insert("PATH".to_owned(), PATH.to_owned());
        env.insert("TMPDIR".to_owned(), desk.out.display().to_string());
        let mut mounts = self.libraries.clone();
        mounts.extend([Mount::read(&self.sysroot), Mount::read(&desk.sources), Mount::write(&desk.out)]);
        mounts.extend(more);
        let spec = Spec {
            program: self.sysroot.join("bin/rustc"),
            args: call.args,
            env,
            directory: call.directory,
            mounts,
            system_programs: true,
            results: None,
            limits: self.course.compiler.clone(),
            user: desk.user,
            isolation: Isolation::FULL,
            channels: Vec::new(),
            root: PathBuf::new(),
            groups: Vec::new(),
        };
        Ok(self.sandbox.run(&spec, self.stop)?)
    }
}

/// The compiler's messages as it would print them.
fn rendered(output: &str) -> String {
    const MOST: usize = 20_000;
    let mut text: String =
        errors(output).filter_map(|error| Some(error["rendered"].as_str()?.to_owned())).collect();
    if text.is_empty() {
        // The compiler itself failed.
        text = output.to_owned();
    }
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push_str("...\n");
    }
    text
}

/// The compiler's messages without the source that they point at.
fn messages(output: &str) -> String {
    let messages = errors(output).filter(|error| !error["spans"].as_array().is_none_or(Vec::is_empty));
    let mut list: Vec<String> =
        messages.filter_map(|error| Some(error["message"].as_str()?.to_owned())).collect();
    list.dedup();
    list.truncate(5);
    if list.is_empty() { "the tests could not be linked".to_owned() } else { list.join("; ") }
}

fn errors(output: &str) -> impl Iterator<Item = Value> + '_ {
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|message| message["level"] == "error")
}

fn absolute(path: &std::path::Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
