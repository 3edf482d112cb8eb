//! Reports as JUnit XML, in the form that CI services read: a test case for each test, with its table.

use std::fmt::Write as _;

use super::html::escape;
use super::table::table;
use super::{Report, Verdict};

/// The XML of reports, as one suite of this name.
pub fn junit(suite: &str, reports: &[Report]) -> String {
    let failures = reports.iter().filter(|report| matches!(report.verdict(), Verdict::Failed(_))).count();
    let errors = reports.iter().filter(|report| matches!(report.verdict(), Verdict::TimedOut(_))).count();
    let time: f64 = reports.iter().map(seconds).sum();
    let (suite, tests) = (escape(suite), reports.len());
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\" time=\"{time:.3}\""
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"raddle\" {counts}>\n  <testsuite name=\"{suite}\" {counts}>");
    for report in reports {
        let (name, time, text) = (escape(&report.name), seconds(report), escape(&table(report)));
        let _ = writeln!(out, "    <testcase name=\"{name}\" classname=\"{suite}\" time=\"{time:.3}\">");
        let verdict = report.verdict();
        let message = escape(&verdict.reasons().join("\n")).replace('\n', "&#10;");
        let element = match verdict {
            Verdict::Passed => format!("<system-out>{text}</system-out>"),
            Verdict::Failed(_) => format!("<failure type=\"outcome\" message=\"{message}\">{text}</failure>"),
            Verdict::TimedOut(_) => format!("<error type=\"timeout\" message=\"{message}\">{text}</error>"),
        };
        let _ = writeln!(out, "      {element}\n    </testcase>");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn seconds(report: &Report) -> f64 {
    report.seen.as_ref().map_or(0.0, |seen| seen.elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::samples::store_buffering;
    use super::*;

    #[test]
    fn failures_and_timeouts_are_told_apart() {
        let (passed, mut failed, mut stuck) = (store_buffering(), store_buffering(), store_buffering());
        failed.models[1].outcomes.remove("0, 0");
        stuck.seen.as_mut().unwrap().stuck = vec![0];
        let xml = junit("sb <suite>", &[passed, failed, stuck]);
        for part in [
            "<testsuite name=\"sb &lt;suite&gt;\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\" time=\"0.750\">",
            "<failure type=\"outcome\" message=\"`0, 0` was seen 20 times and is not allowed by RC11\">",
            "<error type=\"timeout\" message=\"TIMEOUT: actor 0 did not return\">",
            "never &lt;written&gt; &amp; &quot;said&quot;",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }
}
