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

/// The plans of a test in the text of a regressions file, the last one first. Lines that are no scenario, or no scenario of this test
/// any more, are passed over.
fn plans(text: &str, test: &str, subject: &Subject, given: &[Invocation]) -> Vec<Plan> {
    let mine = text.lines().rev().filter_map(|line| {
        let (name, json) = line.split_once(' ')?;
        (name == test).then_some(json)
    });
    mine.filter_map(|json| plan(subject, &serde_json::from_str(json).ok()?, given)).collect()
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
        plans(&text, &self.test, subject, given)
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

/// Reads a regressions file of a test of a counter: for fuzzers, and for the corpus that they left.
#[cfg(any(test, fuzzing))]
#[cfg_attr(not(fuzzing), allow(unreachable_pub, reason = "only fuzzers are other crates"))]
pub fn fuzz_regressions(data: &[u8]) {
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

    use super::operation::Operation;
    use super::subject::anchor;

    let add = Operation::new("add", |counter: &AtomicI32, amount: i32| counter.fetch_add(amount, SeqCst));
    let choose = Operation::new("choose", |_: &AtomicI32, from: (Option<char>, Vec<u8>)| from);
    let get = Operation::new("get", |counter: &AtomicI32| counter.load(SeqCst));
    let subject = Subject {
        make: Box::new(|| Box::new(AtomicI32::new(0))),
        anchor: anchor::<AtomicI32>,
        operations: vec![add.erased, choose.erased, get.erased],
        setup: None,
        validate: None,
        teardown: None,
        view: None,
        by_attribute: false,
    };
    let text = String::from_utf8_lossy(data);
    for plan in plans(&text, "test", &subject, &[]) {
        for call in plan.calls() {
            call.text(&subject);
            recipe(&subject, call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> impl Iterator<Item = Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/fuzz/corpus/regressions");
        let files = fs::read_dir(directory).expect("a corpus").map(|file| file.expect("an entry").path());
        files.map(|file| fs::read(file).expect("a file"))
    }

    #[test]
    fn the_corpus_of_the_fuzzer_is_read() {
        assert!(corpus().inspect(|data| fuzz_regressions(data)).count() > 0);
    }

    #[test]
    fn files_that_are_cut_off_are_read() {
        for data in corpus() {
            (0..data.len()).for_each(|end| fuzz_regressions(&data[..end]));
        }
    }
}
