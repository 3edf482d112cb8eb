//! The columns of a litmus test: which of them this process fills, and where they go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::engine::platform::global::GLOBAL;
use raddle_stress::report::{Allowed, Seen, json::json, table::table};
use raddle_stress::{Report, label};

use crate::options::{Memory, Strategy};
use crate::{Explorer, replay};

/// The models of a litmus test, from the strongest to the weakest.
pub(super) const MODELS: [(&str, Memory); 2] = [("SC", Memory::Sc), ("RC11", Memory::Rc11)];

/// The columns that this process fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Whether the test is run on real threads.
    pub(super) hardware: bool,
    /// Whether the models are explored. That takes instrumented code.
    pub(super) models: bool,
    /// Whether the code is instrumented.
    pub(super) instrumented: bool,
}

impl Wanted {
    /// What was asked for, as far as it is possible. The caller has probed how its crate was built.
    pub(super) fn from_environment() -> Wanted {
        let instrumented = GLOBAL.instrumented.get();
        let asked = std::env::var("RADDLE_LITMUS").unwrap_or_default();
        // A replay is of one exploration: real threads have no part in it.
        let hardware = asked != "models" && replay::requested().is_none();
        Wanted { hardware, models: asked != "hardware" && instrumented, instrumented }
    }
}

/// The time on real threads: that of the command line, or else the test's own.
pub(super) fn time_on_threads(own: Duration) -> Duration {
    let milliseconds = std::env::var("RADDLE_LITMUS_TIME").ok().and_then(|text| text.parse().ok());
    milliseconds.map_or(own, Duration::from_millis)
}

/// Lets one test at a time use the processors: those of others would take its turns.
pub(super) fn take_processors() -> MutexGuard<'static, ()> {
    static PROCESSORS: Mutex<()> = Mutex::new(());
    PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An explorer of all executions under a model.
///
/// # Panics
/// If the command line asks for another search: the columns would be wrong.
pub(super) fn exhaustive(explorer: &Explorer, memory: Memory) -> Explorer {
    for variable in ["RADDLE_STRATEGY", "RADDLE_MEMORY"] {
        let is_set = std::env::var_os(variable).is_some();
        assert!(!is_set, "a litmus test explores SC and RC11 exhaustively: leave out {variable}");
    }
    explorer.clone().strategy(Strategy::Exhaustive).memory(memory)
}

/// The column of an exploration.
pub(super) fn allowed<T: std::fmt::Display + Ord>(
    model: &str,
    explored: &crate::Report<Vec<Result<T, String>>>,
) -> Allowed {
    let mut outcomes = BTreeMap::new();
    for (results, count) in &explored.outcomes {
        *outcomes.entry(label(results)).or_default() += count;
    }
    Allowed {
        model: model.to_owned(),
        outcomes,
        executions: explored.executions,
        complete: explored.complete,
    }
}

/// The column of a run on real threads.
pub(super) fn seen<T>(run: &raddle_stress::Outcomes<T>, instrumented: bool) -> Seen
where
    T: Clone + Eq + std::hash::Hash + std::fmt::Display,
{
    Seen { instrumented, ..Seen::new(run) }
}

/// Fails the test, or leaves the verdict to the command that joins the columns of several processes.
///
/// # Panics
/// If the test fails.
pub(super) fn judge(report: &Report) {
    if let Some(directory) = std::env::var_os("RADDLE_LITMUS_REPORTS") {
        if let Err(error) = write(Path::new(&directory), report) {
            panic!(
                "cannot write the report of `{}` to `{}`: {error}",
                report.name,
                Path::new(&directory).display()
            );
        }
        return;
    }
    let text = table(report);
    if report.verdict().passes() {
        print!("{text}");
        return;
    }
    eprint!("{text}");
    // The table says everything that a second message could.
    std::panic::resume_unwind(Box::new(text));
}

/// Writes the report in one step, under a name of its own.
fn write(directory: &Path, report: &Report) -> std::io::Result<()> {
    let name: String = report
        .name
        .chars()
        .map(|letter| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' })
        .collect();
    let scratch = directory.join(format!("{name}.{}.tmp", std::process::id()));
    fs::write(&scratch, json(std::slice::from_ref(report)))?;
    fs::rename(&scratch, directory.join(format!("{name}.{}.json", std::process::id())))
}
