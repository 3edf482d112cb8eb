//! `gradescope/NAME.json`: a `results.json` for each submission, as Gradescope's autograder specification has it.

use std::io;

use serde_json::{Value, json};

use super::student::{fenced, found, report, verdict};
use super::{Folder, Writer};
use crate::gradebook::{Grade, Gradebook, Status, TestGrade, Verdict};
use crate::store::file_name;

/// Gradescope's format.
pub(super) struct Gradescope;

impl Writer for Gradescope {
    fn name(&self) -> &'static str {
        "gradescope"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        for grade in &book.grades {
            let text = serde_json::to_string_pretty(&results(book, grade)).map_err(io::Error::other)?;
            out.inside("gradescope").put(&format!("{}.json", file_name(&grade.name)), &text)?;
        }
        Ok(())
    }
}

fn results(book: &Gradebook, grade: &Grade) -> Value {
    let mut output = grade.remark().unwrap_or_default();
    if let Status::DoesNotCompile(messages) = &grade.status {
        output = format!("{output}\n\n{}", fenced(messages));
    }
    json!({
        "score": grade.points(),
        "execution_time": grade.time.as_secs_f64().round(),
        "output": output,
        "output_format": "md",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": grade.tests.iter().enumerate().map(test).collect::<Vec<_>>(),
        "extra_data": { "tool": "raddle", "seed": book.seed, "key": grade.key },
    })
}

fn test((number, test): (usize, &TestGrade)) -> Value {
    let mut output = verdict(test);
    if let Some(found) = found(test) {
        output = format!("{output}\n\n*Hint:* {}", found.hint);
    }
    if let Some(report) = report(test) {
        output = format!("{output}\n\n{}", fenced(report));
    }
    json!({
        "name": test.title,
        "number": (number + 1).to_string(),
        "score": test.points(),
        "max_score": test.max_points,
        "status": if test.verdict == Verdict::Passed { "passed" } else { "failed" },
        "output": output,
        "output_format": "md",
        "tags": [test.target],
        // A hidden test is one whose source students do not have; its result they see when grades are published.
        "visibility": if test.hidden { "after_published" } else { "visible" },
    })
}
