//! `results.jsonl`: a line for each submission, for scripts.

use std::io;

use serde_json::json;

use super::{Folder, Writer};
use crate::gradebook::{Gradebook, TestGrade};

/// JSON lines.
pub(super) struct JsonLines;

impl Writer for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        let mut lines = String::new();
        for grade in &book.grades {
            let test = |test: &TestGrade| {
                json!({
                    "target": test.target,
                    "name": test.name,
                    "points": test.points(),
                    "max_points": test.max_points,
                    "kind": test.kind(),
                    "result": test.sentence(),
                })
            };
            let line = json!({
                "name": grade.name,
                "points": grade.points(),
                "max_points": grade.max_points(),
                "status": grade.status.word().unwrap_or("tested"),
                "remark": grade.remark(),
                "seconds": grade.time.as_secs_f64(),
                "tests": grade.tests.iter().map(test).collect::<Vec<_>>(),
            });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        out.put("results.jsonl", &lines)
    }
}
