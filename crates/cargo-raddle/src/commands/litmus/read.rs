//! Reports that tests have written, read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use raddle_stress::report::json::VERSION;
use raddle_stress::report::{Allowed, Seen};
use raddle_stress::{Grading, Report};
use serde::Deserialize;

use crate::error::{Error, Result};

/// The reports in a directory.
pub(super) fn reports(directory: &Path) -> Result<Vec<Report>> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::file("read", directory))? {
        let path = entry.map_err(Error::file("read", directory))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
            reports.extend(parse(&text)?);
        }
    }
    Ok(reports)
}

fn parse(text: &str) -> Result<Vec<Report>> {
    let answer = |reason: String| Error::Answer { program: "the litmus test".to_owned(), reason };
    let file: File = serde_json::from_str(text).map_err(|error| answer(error.to_string()))?;
    if file.raddle_litmus != VERSION {
        return Err(answer(format!("it has reports of version {}, not {VERSION}", file.raddle_litmus)));
    }
    file.tests.into_iter().map(|test| test.report().map_err(answer)).collect()
}

#[derive(Deserialize)]
struct File {
    raddle_litmus: u32,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    name: String,
    description: String,
    rules: Vec<Rule>,
    seen: Option<SeenOnThreads>,
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct Rule {
    pattern: String,
    expect: String,
    description: String,
}

#[derive(Deserialize)]
struct SeenOnThreads {
    outcomes: BTreeMap<String, u64>,
    executions: u64,
    seconds: f64,
    seed: u64,
    placements: BTreeMap<String, u64>,
    stuck: Vec<usize>,
    instrumented: bool,
}

#[derive(Deserialize)]
struct Model {
    model: String,
    outcomes: BTreeMap<String, u64>,
    executions: u64,
    complete: bool,
}

impl Test {
    fn report(self) -> Result<Report, String> {
        let mut grading = Grading::new();
        for rule in self.rules {
            grading = grading.outcome(&rule.pattern, rule.expect.parse()?, &rule.description);
        }
        let seen = self.seen.map(|seen| Seen {
            outcomes: seen.outcomes,
            executions: seen.executions,
            elapsed: Duration::from_secs_f64(seen.seconds.max(0.0)),
            seed: seen.seed,
            placements: seen.placements.into_iter().collect(),
            stuck: seen.stuck,
            instrumented: seen.instrumented,
        });
        let model = |model: Model| Allowed {
            model: model.model,
            outcomes: model.outcomes,
            executions: model.executions,
            complete: model.complete,
        };
        let models = self.models.into_iter().map(model).collect();
        Ok(Report { description: self.description, seen, models, ..Report::new(&self.name, grading) })
    }
}

#[cfg(test)]
mod tests {
    use raddle_stress::Expect;
    use raddle_stress::report::json::json;

    use super::*;

    #[test]
    fn reports_are_read_as_they_were_written() {
        let grading = Grading::new().outcome("\"a\\b\", *", Expect::Interesting, "odd\ntext");
        let mut report = Report::new("sb::relaxed", grading);
        report.description = "what it is about".to_owned();
        report.seen = Some(Seen {
            outcomes: BTreeMap::from([("1, 0".to_owned(), u64::MAX)]),
            executions: u64::MAX,
            elapsed: Duration::from_millis(1500),
            seed: 7,
            placements: vec![("other core".to_owned(), 5)],
            stuck: vec![1],
            instrumented: true,
        });
        let outcomes = BTreeMap::from([("1, 0".to_owned(), 2)]);
        report.models = vec![Allowed { model: "SC".to_owned(), outcomes, executions: 2, complete: false }];
        assert_eq!(parse(&json(&[report.clone()])).unwrap(), [report]);
    }

    #[test]
    fn foreign_files_are_refused() {
        for text in ["{}", "", r#"{"raddle_litmus": 9, "tests": []}"#] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
