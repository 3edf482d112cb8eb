//! Results: what is kept of each submission, and what writers read.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::course::Feedback;
use crate::lint::Finding;
use crate::sandbox::Limit;

/// The results of all submissions to an assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gradebook {
    /// The title of the assignment.
    pub title: String,
    /// The seed of all searches.
    pub seed: u64,
    /// The results, by name of the submission.
    pub grades: Vec<Grade>,
    /// What was not isolated on the machine that graded, in sentences.
    pub not_isolated: Vec<String>,
}

/// The result of one submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// The name of the submission.
    pub name: String,
    /// The identity of what was graded: submission, course and tool.
    pub key: String,
    /// What became of the submission as a whole.
    pub status: Status,
    /// The results of the tests, in the order of the course.
    pub tests: Vec<TestGrade>,
    /// How long building and testing took.
    pub time: Duration,
}

/// What became of a submission as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It was built and tested.
    Tested,
    /// Its files could not be used, for this reason.
    Unreadable(String),
    /// It contains what submissions may not contain.
    Rejected(Vec<(String, Finding)>),
    /// It does not compile; the compiler's messages.
    DoesNotCompile(String),
    /// The compiler used more than it may.
    CompilerLimit(Limit),
    /// The grader itself failed; the submission is not to blame.
    GraderFailed(String),
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestGrade {
    /// The test target.
    pub target: String,
    /// The name of the test.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// Whether students do not have the test.
    pub hidden: bool,
    /// What students see of a failure.
    pub feedback: Feedback,
    /// The points for passing.
    pub max_points: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// How long the test took.
    pub time: Duration,
}

/// The verdict on one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The harness says that the test passed.
    Passed,
    /// Raddle found a failure.
    Failed(Found),
    /// The test failed outside of an exploration: a panic, as a rule.
    Panicked {
        /// What the test printed last.
        output: String,
    },
    /// The test used more than it may.
    Limit(Limit),
    /// The process ended before the test did, though it said that all is well.
    EndedEarly,
    /// A signal ended the process.
    Signalled(i32),
    /// The test was not run, for this reason.
    NotRun(String),
}

/// A failure that Raddle found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The kind: `deadlock`.
    pub kind: String,
    /// The failure in one sentence.
    pub message: String,
    /// The kind of mistake that leads to it, in words for students.
    pub hint: String,
    /// What failures of one cause have in common.
    pub cause: String,
    /// The report as text: the failing execution.
    pub report: String,
    /// The page of the failure, as one HTML file.
    pub page: String,
    /// The failure file, with which the execution can be repeated.
    pub file: String,
}

impl Grade {
    /// The points.
    pub fn points(&self) -> f64 {
        self.tests.iter().map(TestGrade::points).sum()
    }

    /// The points of a submission that passes every test.
    pub fn max_points(&self) -> f64 {
        self.tests.iter().map(|test| test.max_points).sum()
    }

    /// What became of the submission, in a sentence; none if it was tested.
    pub fn remark(&self) -> Option<String> {
        Some(match &self.status {
            Status::Tested => return None,
            Status::Unreadable(why) => format!("The submission could not be read: {why}."),
            Status::Rejected(findings) => {
                let list: Vec<String> = findings
                    .iter()
                    .map(|(file, finding)| {
                        let Finding { rule, line, column, what } = finding;
                        format!("{file}:{line}:{column}: `{what}` (rule `{}`)", rule.name())
                    })
                    .collect();
                format!("The submission contains what this assignment does not allow: {}.", list.join("; "))
            }
            Status::DoesNotCompile(_) => "The submission does not compile.".to_owned(),
            Status::CompilerLimit(limit) => {
                format!("The submission was not compiled: the compiler used more {limit} than it may.")
            }
            Status::GraderFailed(why) => {
                format!("The submission was not graded, and is not to blame: {why}. Grade it again.")
            }
        })
    }
}

impl TestGrade {
    /// The points.
    pub fn points(&self) -> f64 {
        if self.verdict == Verdict::Passed { self.max_points } else { 0.0 }
    }

    /// The kind of the failure, by which failures are counted: `deadlock`, `limit-memory`; none if the test passed.
    pub fn kind(&self) -> Option<String> {
        Some(match &self.verdict {
            Verdict::Passed => return None,
            Verdict::Failed(found) => found.kind.clone(),
            Verdict::Panicked { .. } => "panic".to_owned(),
            Verdict::Limit(limit) => format!("limit-{}", limit.name()),
            Verdict::EndedEarly => "ended-early".to_owned(),
            Verdict::Signalled(_) => "crash".to_owned(),
            Verdict::NotRun(_) => "not-run".to_owned(),
        })
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        match &self.verdict {
            Verdict::Passed => "passed".to_owned(),
            Verdict::Failed(found) => {
                format!("{}: {}", found.kind.replace('-', " "), first_line(&found.message))
            }
            Verdict::Panicked { output } => match last_message(output) {
                Some(line) => format!("failed: {line}"),
                None => "failed".to_owned(),
            },
            Verdict::Limit(limit) => format!("ended, because it used more {limit} than a test may"),
            Verdict::EndedEarly => "the process was ended from inside, before the test had passed".to_owned(),
            Verdict::Signalled(signal) => format!("crashed with signal {signal}"),
            Verdict::NotRun(why) => format!("not run: {why}"),
        }
    }
}

impl Gradebook {
    /// The failures grouped by cause: how many submissions have each, and which.
    pub fn causes(&self) -> Vec<(String, Vec<&str>)> {
        let mut causes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for grade in &self.grades {
            for test in &grade.tests {
                let cause = match &test.verdict {
                    Verdict::Passed | Verdict::NotRun(_) => continue,
                    Verdict::Failed(found) => found.cause.clone(),
                    _ => test.kind().unwrap_or_default(),
                };
                let names = causes.entry(cause).or_default();
                if names.last() != Some(&grade.name.as_str()) {
                    names.push(&grade.name);
                }
            }
            if let (Some(_), Some(word)) = (grade.remark(), grade.status.word()) {
                causes.entry(word.to_owned()).or_default().push(&grade.name);
            }
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        causes
    }
}

impl Status {
    /// The status as a word; none if the submission was tested.
    pub fn word(&self) -> Option<&'static str> {
        Some(match self {
            Status::Tested => return None,
            Status::Unreadable(_) => "unreadable",
            Status::Rejected(_) => "rejected",
            Status::DoesNotCompile(_) => "does not compile",
            Status::CompilerLimit(_) => "compiler limit",
            Status::GraderFailed(_) => "grader failed",
        })
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The line after that which says where a thread panicked.
fn last_message(output: &str) -> Option<&str> {
    let mut lines = output.lines().skip_while(|line| !line.contains(" panicked at ")).skip(1);
    lines.find(|line| !line.trim().is_empty())
}
