//! A course's assignment: what `course.toml` says.
//!
//! ```toml
//! [course]
//! title = "Bounded buffer"
//! seed = 2026                      # the same for everyone
//!
//! [submission]
//! files = ["src/lib.rs"]           # nothing else of a submission is ever looked at
//! allow = ["unsafe"]               # rules that do not hold here
//! forbid = ["Mutex"]               # words that may not be used
//!
//! [limits]                         # for each test
//! wall = "10s"
//! memory = "1 GiB"
//!
//! [search]                         # options of Raddle, as `cargo raddle test --help` lists them
//! executions = "20000"
//!
//! [[test]]
//! target = "public"                # the test target of the course's package
//! name = "values_come_out_in_order"
//! points = 2
//!
//! [[test]]
//! target = "hidden"
//! name = "nobody_waits_forever"
//! points = 3
//! hidden = true
//! hints = { deadlock = "Who wakes the consumers?" }
//! ```
//!
//! Every mistake is reported with its line and column, all of them at once.

mod mistakes;
mod parse;
mod quantity;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::mistakes::{Mistake, Mistakes};
pub use self::parse::parse;
use crate::lint::Rule;
use crate::sandbox::Limits;

/// An assignment.
#[derive(Clone, Debug)]
pub struct Course {
    /// The title, for people.
    pub title: String,
    /// The seed of every search.
    pub seed: u64,
    /// The manifest of the course's package.
    pub manifest: PathBuf,
    /// The profile that tests are built with, if not the usual one of tests.
    pub profile: Option<String>,
    /// The files of a submission. The first is the root of the crate.
    pub files: Vec<PathBuf>,
    /// The most bytes that a file of a submission may have.
    pub largest_file: u64,
    /// The rules that do not hold for submissions.
    pub allow: Vec<Rule>,
    /// Words that submissions may not use.
    pub forbid: Vec<String>,
    /// What a test may use.
    pub limits: Limits,
    /// What the compiler may use.
    pub compiler: Limits,
    /// Time on the clock for all tests of a submission.
    pub total: Duration,
    /// Options of Raddle, by the names of their variables.
    pub search: BTreeMap<String, String>,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
}

/// A test that gives points.
#[derive(Clone, Debug)]
pub struct Test {
    /// The test target of the course's package.
    pub target: String,
    /// The name, as the harness spells it.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The points for passing.
    pub points: f64,
    /// Whether students do not have it.
    pub hidden: bool,
    /// What students see of a failure.
    pub feedback: Feedback,
    /// Hints by kind of failure; `*` is for all others.
    pub hints: BTreeMap<String, String>,
    /// The line and column of its name in `course.toml`.
    pub position: (usize, usize),
}

/// What students see of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feedback {
    /// Everything: the failing execution, step by step, and what the test printed.
    Trace,
    /// The kind of failure, and a hint.
    Kind,
    /// That the test failed.
    Verdict,
}

impl Course {
    /// Reads a `course.toml`.
    ///
    /// # Errors
    ///
    /// All mistakes in the file.
    pub fn read(path: &Path) -> Result<Course, Mistakes> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Mistakes::one(path, Mistake { position: None, message: format!("cannot be read: {error}") })
        })?;
        parse(path, &text)
    }

    /// The points of a submission that passes every test.
    pub fn points(&self) -> f64 {
        self.tests.iter().map(|test| test.points).sum()
    }

    /// The test targets, each once, in the order of the file.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = Vec::new();
        for test in &self.tests {
            if !targets.contains(&test.target.as_str()) {
                targets.push(&test.target);
            }
        }
        targets
    }
}
