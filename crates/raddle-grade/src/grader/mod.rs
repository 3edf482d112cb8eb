//! Grading one submission: read it, look at it, build it, test it. Each step can end the matter with a clear result.

mod compile;
mod judge;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub use self::judge::judge;
use crate::course::{Course, Test};
use crate::gradebook::{Grade, Status, TestGrade, Verdict};
use crate::lint::{self, Rule};
use crate::recipe::Recipe;
use crate::sandbox::{Mount, Sandbox, SandboxError};
use crate::slim::slim;
use crate::store::{Store, key};
use crate::submission::{Sources, Submission};

/// What is needed to grade submissions to one assignment.
#[derive(Debug)]
pub struct Grader {
    /// The assignment.
    pub course: Course,
    /// The identity of the assignment and the tool.
    pub course_key: String,
    /// How submissions are built.
    pub recipe: Recipe,
    /// The directory of the compiler and its libraries.
    pub sysroot: PathBuf,
    /// Where untrusted programs run.
    pub sandbox: Sandbox,
    /// Results that are kept.
    pub store: Store,
    /// A directory for work, which this grader has for itself.
    pub work: PathBuf,
    /// Set when grading is to stop.
    pub stop: &'static AtomicBool,
    libraries: Vec<Mount>,
}

/// Users that programs run as, if the grader runs as root: one for each worker, so that their processes are counted apart.
const FIRST_USER: u32 = 64_000;

/// The folders of one worker.
#[derive(Debug)]
struct Desk {
    sources: PathBuf,
    out: PathBuf,
    results: PathBuf,
    user: u32,
}

impl Grader {
    /// A grader. The crates of `engine` are never shown in traces; slim copies of their libraries are kept in the directory beside it.
    #[allow(clippy::too_many_arguments, reason = "each is a part that somebody else has made")]
    ///
    /// # Errors
    ///
    /// When the libraries of the shared build cannot be listed.
    pub fn new(
        course: Course,
        course_key: String,
        recipe: Recipe,
        sysroot: PathBuf,
        sandbox: Sandbox,
        store: Store,
        work: PathBuf,
        (engine, slim_directory): (&[String], &Path),
        stop: &'static AtomicBool,
    ) -> io::Result<Grader> {
        let mut libraries = compile::libraries(&recipe)?;
        let files: Vec<PathBuf> = libraries.iter().map(|mount| mount.path.clone()).collect();
        let slim = slim(&files, engine, &sysroot, slim_directory);
        for mount in &mut libraries {
            mount.instead = slim.get(&mount.path).cloned();
        }
        Ok(Grader { course, course_key, recipe, sysroot, sandbox, store, work, stop, libraries })
    }

    /// The result of a submission, if it was graded before and nothing has changed.
    pub fn known(&self, submission: &Submission) -> Option<Grade> {
        let sources = submission.read(&self.course).ok()?;
        self.store.get(&submission.name, &key(&sources, &self.course_key))
    }

    /// Grades a submission and keeps the result; none if grading was stopped meanwhile. Workers have different numbers.
    ///
    /// # Errors
    ///
    /// When the result cannot be kept.
    pub fn grade(&self, submission: &Submission, worker: u32) -> io::Result<Option<Grade>> {
        let began = Instant::now();
        let mut grade = Grade {
            name: submission.name.clone(),
            key: String::new(),
            status: Status::Tested,
            tests: Vec::new(),
            time: Duration::ZERO,
        };
        match self.attempt(submission, worker, &mut grade) {
            Ok(()) => {}
            Err(Ended::Because(status)) => grade.status = status,
            Err(Ended::Stopped) => return Ok(None),
        }
        // Tests that were not reached have a result, too.
        let reason = grade.status.word().unwrap_or("not reached");
        for test in self.course.tests.iter().skip(grade.tests.len()) {
            grade.tests.push(result(test, Verdict::NotRun(reason.to_owned()), Duration::ZERO));
        }
        grade.time = began.elapsed();
        self.store.put(&grade)?;
        Ok(Some(grade))
    }

    fn attempt(&self, submission: &Submission, worker: u32, grade: &mut Grade) -> Result<(), Ended> {
        let sources = submission.read(&self.course).map_err(|why| Ended::Because(Status::Unreadable(why)))?;
        grade.key = key(&sources, &self.course_key);
        self.lint(&sources)?;
        let desk = self.desk(worker).map_err(failed)?;
        sources.write(&desk.sources).map_err(failed)?;
        self.build_library(&desk)?;
        self.check_readable(&sources)?;
        self.test(&desk, &sources, grade)
    }

    fn lint(&self, sources: &Sources) -> Result<(), Ended> {
        let findings: Vec<(String, lint::Finding)> = sources
            .0
            .iter()
            .flat_map(|(file, text)| {
                let findings = lint::check(text, &self.course.allow, &self.course.forbid);
                findings.into_iter().map(|finding| (file.display().to_string(), finding))
            })
            .collect();
        if findings.is_empty() { Ok(()) } else { Err(Ended::Because(Status::Rejected(findings))) }
    }

    /// A submission that compiles has been looked at.
    fn check_readable(&self, sources: &Sources) -> Result<(), Ended> {
        let unread = sources.0.iter().filter(|(_, text)| !lint::is_readable(text));
        let findings: Vec<(String, lint::Finding)> = unread
            .map(|(file, _)| {
                let what = "a file that cannot be checked: write plain Rust".to_owned();
                (file.display().to_string(), lint::Finding { rule: Rule::System, line: 1, column: 1, what })
            })
            .collect();
        if findings.is_empty() { Ok(()) } else { Err(Ended::Because(Status::Rejected(findings))) }
    }

    /// Builds each target when the first of its tests comes up, and runs the tests one after another.
    fn test(&self, desk: &Desk, sources: &Sources, grade: &mut Grade) -> Result<(), Ended> {
        let began = Instant::now();
        let mut built: Vec<(&str, Result<PathBuf, String>)> = Vec::new();
        for test in &self.course.tests {
            let position = built.iter().position(|(target, _)| *target == test.target);
            let position = match position {
                Some(position) => position,
                None => {
                    built.push((&test.target, self.build_test(&test.target, desk)?));
                    built.len() - 1
                }
            };
            let (verdict, time) = match &built[position].1 {
                Err(why) => (Verdict::NotRun(why.clone()), Duration::ZERO),
                Ok(_) if began.elapsed() > self.course.total => {
                    let why = "all tests of the submission together took longer than they may";
                    (Verdict::NotRun(why.to_owned()), Duration::ZERO)
                }
                Ok(binary) => self.run(test, binary, desk, sources)?,
            };
            grade.tests.push(result(test, verdict, time));
        }
        Ok(())
    }

    /// Empty folders for a worker.
    fn desk(&self, worker: u32) -> io::Result<Desk> {
        let root = self.work.join(format!("worker-{worker}"));
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let desk = Desk {
            sources: root.join("submission"),
            out: root.join("out"),
            results: root.join("results"),
            user: FIRST_USER + worker,
        };
        for directory in [&desk.sources, &desk.out, &desk.results] {
            fs::create_dir_all(directory)?;
        }
        if self.sandbox.isolation().user && is_root() {
            for directory in [&desk.out, &desk.results] {
                std::os::unix::fs::chown(directory, Some(desk.user), Some(desk.user))?;
            }
        }
        Ok(desk)
    }
}

/// Why grading a submission ended before its tests.
#[derive(Debug)]
enum Ended {
    Because(Status),
    Stopped,
}

impl From<SandboxError> for Ended {
    fn from(error: SandboxError) -> Ended {
        match error {
            SandboxError::Interrupted => Ended::Stopped,
            error => Ended::Because(Status::GraderFailed(error.to_string())),
        }
    }
}

fn failed(error: io::Error) -> Ended {
    Ended::Because(Status::GraderFailed(error.to_string()))
}

fn result(test: &Test, verdict: Verdict, time: Duration) -> TestGrade {
    TestGrade {
        target: test.target.clone(),
        name: test.name.clone(),
        title: test.title.clone(),
        hidden: test.hidden,
        feedback: test.feedback,
        max_points: test.points,
        verdict,
        time,
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

/// The directory of a path.
fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
