//! Running one test, and the verdict on it.
//!
//! A test has passed if the harness says so: it writes `ok NAME` to a pipe of its own after the test function has returned, and the
//! process ends with exit code 0. What the submission prints plays no part. A submission that ends the process has no such line, and to
//! forge one it would have to write to a descriptor, for which safe Rust needs `std::os`, `std::fs` or foreign code: the rules of
//! [`lint`](crate::lint) forbid them. Where a course allows `unsafe`, code that hunts through the memory of its own process for a
//! way to make system calls could still do it; no check inside of one address space can prevent that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_report::html::{self, Sources as Shown};
use raddle_report::{Failure, Style, render, render_log};

use super::{Desk, Ended, Grader};
use crate::course::Test;
use crate::gradebook::{Found, Verdict};
use crate::hint;
use crate::sandbox::{Ending, Isolation, Mount, Outcome, Spec};
use crate::submission::Sources;

/// The pipe of the harness, and that of Raddle.
const LOG: &str = "log";
const PROGRESS: &str = "progress";
/// The strategy of tests with explicit schedules.
const TURNS: &str = "turns";
/// The exit code of a harness whose test failed.
const FAILED: i32 = 101;
/// Bytes of output that are kept.
const OUTPUT: usize = 8_000;

impl Grader {
    pub(super) fn run(
        &self,
        test: &Test,
        binary: &Path,
        desk: &Desk,
        sources: &Sources,
    ) -> Result<(Verdict, Duration), Ended> {
        let mut env: BTreeMap<String, String> = self.course.search.clone();
        for (name, value) in [
            ("RADDLE_SEED", self.course.seed.to_string()),
            ("RADDLE_OWNED", "1".to_owned()),
            ("RADDLE_TEST", test.name.clone()),
            ("RADDLE_PACKAGE", format!("{}@test:{}", self.recipe.crate_name, test.target)),
            ("RADDLE_FAILURES", desk.results.display().to_string()),
            ("RADDLE_PROGRESS", format!("{{{PROGRESS}}}")),
            ("RADDLE_CORES", "1".to_owned()),
            ("RADDLE_COLOR", "never".to_owned()),
            ("RADDLE_COLUMNS", "100".to_owned()),
            ("TMPDIR", "/tmp".to_owned()),
        ] {
            env.insert(name.to_owned(), value);
        }
        let log = format!("/proc/self/fd/{{{LOG}}}");
        let args = [
            &test.name,
            "--exact",
            "--test-threads=1",
            "--nocapture",
            "--include-ignored",
            "--logfile",
            &log,
        ];
        let spec = Spec {
            program: binary.to_owned(),
            args: args.map(str::to_owned).to_vec(),
            env,
            directory: PathBuf::from("/"),
            mounts: vec![Mount::read(binary)],
            system_programs: false,
            results: Some(desk.results.clone()),
            limits: self.course.limits.clone(),
            user: desk.user,
            isolation: Isolation::FULL,
            channels: vec![LOG.to_owned(), PROGRESS.to_owned()],
            root: PathBuf::new(),
            groups: Vec::new(),
        };
        let outcome = self.sandbox.run(&spec, self.stop)?;
        let mut verdict = judge(&outcome, &test.name);
        if !matches!(verdict, Verdict::Passed)
            && let Some(failure) = self.failure(&outcome, desk)
        {
            verdict = Verdict::Failed(self.describe(failure, test, sources));
        }
        Ok((verdict, outcome.wall))
    }

    /// The failure that Raddle has written down.
    fn failure(&self, outcome: &Outcome, desk: &Desk) -> Option<Failure> {
        let progress = outcome.channels.get(PROGRESS)?;
        let named = progress
            .lines()
            .rev()
            .filter_map(|line| Path::new(line.strip_prefix("failure\t")?).file_name()?.to_str());
        let text = named.filter_map(|name| outcome.results.get(name)).next()?;
        let file = desk.sources.with_file_name("failure.json");
        fs::write(&file, text).ok()?;
        Failure::read(&file).ok()
    }

    fn describe(&self, mut failure: Failure, test: &Test, sources: &Sources) -> Found {
        failure.build.cargo_args.clear();
        for frame in &mut failure.trace.frames {
            // Paths are relative to where the compiler was told that it is.
            if let Some(file) = frame.file.as_mut().filter(|file| file.starts_with("./")) {
                file.drain(..2);
            }
        }
        let kind = failure.kind.name();
        let own = test.hints.get(&kind).or_else(|| test.hints.get("*"));
        let style = Style { width: 100, colour: false, unicode: true };
        let shown = Shown::of(&failure, |file| {
            let of_submission = sources.0.iter().find(|(path, _)| Path::new(file).ends_with(path));
            of_submission.map(|(_, text)| text.clone())
        });
        Found {
            message: failure.message.clone(),
            hint: own.cloned().unwrap_or_else(|| hint::hint(&failure)),
            cause: hint::cause(&failure, &self.recipe.crate_name),
            report: report(&failure, style),
            page: html::page(&failure, &shown),
            file: failure.to_json(),
            kind,
        }
    }
}

/// The failing execution as text. One that follows a schedule has a log, which says more in fewer lines; the places come after it.
fn report(failure: &Failure, style: Style) -> String {
    let steps = render(failure, style, None);
    if failure.found_by.strategy.starts_with(TURNS) {
        format!("{}\n{steps}", render_log(failure, style, None))
    } else {
        steps
    }
}

/// The verdict on a test by how its process ended and what the harness says.
pub fn judge(outcome: &Outcome, test: &str) -> Verdict {
    let log = outcome.channels.get(LOG).map_or("", String::as_str);
    let confirmed = log.lines().any(|line| line.strip_prefix("ok ").is_some_and(|name| name == test));
    match outcome.ending {
        Ending::Exited(0) if confirmed => Verdict::Passed,
        Ending::Exited(FAILED) => Verdict::Panicked { output: tail(&outcome.output) },
        Ending::Exited(_) => Verdict::EndedEarly,
        Ending::Signalled(signal) => Verdict::Signalled(signal),
        Ending::Limit(limit) => Verdict::Limit(limit),
    }
}

/// The end of what a test printed.
fn tail(output: &str) -> String {
    let start = output.len().saturating_sub(OUTPUT);
    output[output.ceil_char_boundary(start)..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Limit;

    #[track_caller]
    fn check(ending: Ending, log: &str, expected: Verdict) {
        let outcome = Outcome {
            ending,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            memory: 0,
            processes: 0,
            output: "test result: ok. 1 passed; 0 failed".to_owned(),
            channels: [(LOG.to_owned(), log.to_owned())].into(),
            results: BTreeMap::new(),
        };
        assert_eq!(judge(&outcome, "a::b"), expected);
    }

    #[test]
    fn only_the_harness_can_say_that_a_test_passed() {
        check(Ending::Exited(0), "ok a::b\n", Verdict::Passed);
        check(Ending::Exited(0), "", Verdict::EndedEarly);
        check(Ending::Exited(0), "ok a::bc\nfailed a::b\nok a::b ok\n", Verdict::EndedEarly);
        check(Ending::Exited(3), "ok a::b\n", Verdict::EndedEarly);
        check(Ending::Signalled(11), "ok a::b\n", Verdict::Signalled(11));
        check(Ending::Limit(Limit::Wall), "ok a::b\n", Verdict::Limit(Limit::Wall));
    }
}
