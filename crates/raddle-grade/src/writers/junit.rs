//! `junit.xml`: a suite for each submission.

use std::io;

use raddle_report::export::junit::{Case, Suite, Verdict as Case_, junit};

use super::{Folder, Writer};
use crate::gradebook::{Grade, Gradebook, TestGrade, Verdict};

/// JUnit XML.
pub(super) struct Junit;

impl Writer for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        let suites: Vec<Suite> = book.grades.iter().map(suite).collect();
        out.put("junit.xml", &junit(&suites))
    }
}

fn suite(grade: &Grade) -> Suite {
    let case = |test: &TestGrade| Case {
        name: format!("{}::{}", test.target, test.name),
        time: test.time,
        verdict: match &test.verdict {
            Verdict::Passed => Case_::Passed,
            _ => Case_::Failed { kind: test.kind().unwrap_or_default(), message: test.sentence() },
        },
        output: match &test.verdict {
            Verdict::Failed(found) => found.report.clone(),
            Verdict::Panicked { output } => output.clone(),
            _ => String::new(),
        },
    };
    Suite { name: grade.name.clone(), cases: grade.tests.iter().map(case).collect() }
}
