//! Scenarios that failed before, kept beside the test's source and tried first.
//!
//! One line a scenario: the test, then the scenario as JSON. Arguments are kept as the numbers that they are made of, so a
//! line survives changes of the code as long as the operations and their generators stay.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};

use raddle_report::failure::{self, Recipe};
use serde_json::Value as Json;

use super::scenario::{Cancel, Invocation, Origin, Plan};
use super::subject::Subject;

/// How the test can make a call again.
pub(crate) fn recipe(subject: &Subject, invocation: &Invocation) -> Recipe {
    let operation = subject.operations[invocation.operation].name.clone();
    let cancel = match invocation.cancel {
        Cancel::Never => None,
        Cancel::OnceSuspended => Some("suspended".to_owned()),
        Cancel::OnceWoken => Some("woken".to_owned()),
    };
    match &invocation.origin {
        Origin::Drawn { numbers, .. } => Recipe { operation, numbers: numbers.clone(), given: None, cancel },
        Origin::Given(call) => Recipe { operation, numbers: Vec::new(), given: Some(*call), cancel },
    }
}

/// The plan of a scenario that a report describes; none if the test has changed too much. `given` are the calls of the
/// custom scenarios.
pub(crate) fn plan(subject: &Subject, scenario: &failure::Scenario, given: &[Invocation]) -> Option<Plan> {
    let part = |operations: &[failure::Operation], thread: usize| {
        let calls = operations.iter().map(|operation| {
            let recipe = operation.recipe.as_ref()?;
            let cancel = match recipe.cancel.as_deref() {
                None => Cancel::Never,
                Some("suspended") => Cancel::OnceSuspended,
                Some("woken") => Cancel::OnceWoken,
                Some(_) => return None,
            };
            let operation = subject.find(&recipe.operation)?;
            let call = match recipe.given {
                Some(number) => given.get(number).filter(|call| call.operation == operation)?.clone(),
                None => Invocation::drawn(subject, operation, &recipe.numbers, thread),
            };
            Some(Invocation { cancel, ..call })
        });
        calls.collect::<Option<Vec<Invocation>>>()
    };
    let threads = scenario.parallel.iter().enumerate().map(|(thread, calls)| part(calls, thread + 1));
    Some(Plan {
        init: part(&scenario.init, 0)?,
        threads: threads.collect::<Option<_>>()?,
        post: part(&scenario.post, scenario.parallel.len() + 1)?,
    })
}

/// The file with the scenarios of the tests in one source file.
pub(crate) struct Regressions {
    path: PathBuf,
    test: String,
}

const EXTENSION: &str = "raddle-regressions";

impl Regressions {
    /// The file that belongs to the test; none if its source is not where it was compiled.
    pub(crate) fn of(at: &Location<'_>, test: &str) -> Option<Regressions> {
        let source = Path::new(at.file());
        // Paths are relative to the workspace, tests run in their package.
        let here = std::env::current_dir().ok()?;
        let source = here.ancestors().map(|directory| directory.join(source)).find(|path| path.exists())?;
        Some(Regressions { path: source.with_extension(EXTENSION), test: test.to_owned() })
    }

    /// The scenarios that failed before, the last one first.
    pub(crate) fn read(&self, subject: &Subject, given: &[Invocation]) -> Vec<Plan> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let mine = text.lines().rev().filter_map(|line| {
            let (test, json) = line.split_once(' ')?;
            (test == self.test).then_some(json)
        });
        mine.filter_map(|json| plan(subject, &serde_json::from_str(json).ok()?, given)).collect()
    }

    /// Keeps a scenario, unless it is there.
    pub(crate) fn keep(&self, scenario: &failure::Scenario) -> std::io::Result<()> {
        let mut json = serde_json::to_value(scenario).expect("a scenario can be written as JSON");
        strip(&mut json);
        let line = format!("{} {json}", self.test);
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        if text.lines().any(|known| known == line) {
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        if text.is_empty() {
            writeln!(
                file,
                "# Scenarios that failed. Raddle tries them first; keep this file with the source."
            )?;
        }
        writeln!(file, "{line}")
    }
}

/// Leaves out what an execution came to.
fn strip(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            fields.remove("result");
            fields.remove("code");
            fields.values_mut().for_each(strip);
        }
        Json::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
