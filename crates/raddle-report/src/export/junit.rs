//! The results of a test run as JUnit XML, in the form that CI services read.

use std::fmt::Write as _;
use std::time::Duration;

use super::text::without_colours;
use crate::page::xml;

/// The tests of one binary.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The name: `my-crate@test:counter`.
    pub name: String,
    /// The tests.
    pub cases: Vec<Case>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name, as the harness spells it.
    pub name: String,
    /// The time that the test took.
    pub time: Duration,
    /// The verdict.
    pub verdict: Verdict,
    /// The output of the test.
    pub output: String,
}

/// The verdict on a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed {
        /// The kind of the failure: `panic`, `deadlock`.
        kind: String,
        /// The failure in one sentence.
        message: String,
    },
    /// The test was not run.
    Skipped,
}

/// The XML of a test run.
pub fn junit(suites: &[Suite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let _ = writeln!(out, "<testsuites name=\"raddle\" {}>", counts(all()));
    for suite in suites {
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}>", xml(&suite.name), counts(suite.cases.iter()));
        for case in &suite.cases {
            print(&mut out, suite, case);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn print(out: &mut String, suite: &Suite, case: &Case) {
    let (name, class) = (xml(&case.name), xml(&suite.name));
    let time = case.time.as_secs_f64();
    let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{time:.3}\"");
    let output = xml(without_colours(&case.output).trim_end());
    match &case.verdict {
        Verdict::Passed => {
            out.push_str("/>\n");
            return;
        }
        Verdict::Skipped => out.push_str(">\n      <skipped/>\n"),
        Verdict::Failed { kind, message } => {
            let (kind, message) = (xml(kind), xml(message).replace('\n', "&#10;"));
            let _ =
                writeln!(out, ">\n      <failure type=\"{kind}\" message=\"{message}\">{output}</failure>");
        }
    }
    out.push_str("    </testcase>\n");
}

/// The attributes that count tests.
fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut skipped, mut time) = (0, 0, 0, Duration::ZERO);
    for case in cases {
        tests += 1;
        failures += usize::from(matches!(case.verdict, Verdict::Failed { .. }));
        skipped += usize::from(case.verdict == Verdict::Skipped);
        time += case.time;
    }
    let time = time.as_secs_f64();
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\"")
}
