//! Results for CI services: JUnit XML, annotations and the step summary of GitHub Actions.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use raddle_report::export::junit::{self, Case};
use raddle_report::export::{github, junit::junit};
use raddle_report::{Failure, file};

use crate::error::{Error, Result};
use crate::run::{Finished, Suite, TestResult, Verdict};

/// Writes the results of a run as JUnit XML, in place of an older file.
pub(crate) fn write_junit(path: &Path, suites: &[Suite], results: &[TestResult]) -> Result<()> {
    let suite = |(number, suite): (usize, &Suite)| {
        let of_suite = results.iter().filter(|result| result.suite == number);
        let case = |result: &TestResult| Case {
            name: suite.tests[result.test].name.clone(),
            time: result.finished.time.end - result.finished.time.start,
            verdict: verdict(&result.finished),
            output: result.finished.output.clone(),
        };
        junit::Suite { name: suite.binary.id(), cases: of_suite.map(case).collect() }
    };
    let suites: Vec<junit::Suite> =
        suites.iter().enumerate().map(suite).filter(|suite| !suite.cases.is_empty()).collect();
    file::replace(path, junit(&suites)).map_err(Error::file("write", path))
}

fn verdict(finished: &Finished) -> junit::Verdict {
    match &finished.verdict {
        Verdict::Passed => junit::Verdict::Passed,
        Verdict::Ignored => junit::Verdict::Skipped,
        Verdict::Failed(note) => {
            let failure = reported(&finished.output);
            let (kind, message) = match (&failure, note) {
                (Some(failure), _) => (failure.kind.name(), failure.message.clone()),
                (None, Some(note)) => ("failure".to_owned(), note.clone()),
                (None, None) => ("failure".to_owned(), "the test failed".to_owned()),
            };
            junit::Verdict::Failed { kind, message }
        }
    }
}

/// Annotates failures and adds them to the summary of the step, if this is GitHub Actions.
pub(crate) fn annotate(workspace: &Path, results: &[TestResult]) {
    if env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    // Lines are annotated by their path in the repository.
    let repository = env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let root = repository.and_then(|repository| workspace.strip_prefix(repository).ok().map(Path::to_owned));
    let mut summary = String::new();
    for result in results.iter().filter(|result| matches!(result.finished.verdict, Verdict::Failed(_))) {
        if let Some(failure) = reported(&result.finished.output) {
            print!("{}", github::annotation(&failure, root.as_deref().unwrap_or(Path::new(""))));
            summary.push_str(&github::summary(&failure, &result.finished.output));
        }
    }
    if let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|_| !summary.is_empty())
        && let Err(error) = append(Path::new(&path), &summary)
    {
        eprintln!("warning: cannot write the summary of the step to {}: {error}", Path::new(&path).display());
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

/// The failure whose report a test has printed: the report names its file.
fn reported(output: &str) -> Option<Failure> {
    const COMMAND: &str = "cargo raddle replay ";
    let named = output.lines().rev().filter_map(|line| line.split_once(COMMAND));
    named.filter_map(|(_, word)| Failure::read(Path::new(&path_of(word))).ok()).next()
}

/// The path of a word as a shell would read it.
fn path_of(word: &str) -> String {
    let word = word.trim();
    match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(quoted) => quoted.replace(r"'\''", "'"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn paths_are_read_as_the_report_writes_them() {
        assert_eq!(path_of("target/raddle/failures/a.json"), "target/raddle/failures/a.json");
        assert_eq!(path_of("'a b/it'\\''s.json' "), "a b/it's.json");
    }
}
