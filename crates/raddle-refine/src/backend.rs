//! What runs schemas concurrently.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::shown::Shown;
use crate::subject::{Numbered, Subject};

/// Something that runs a schema and says what it returned: stress on real threads, or a model checker.
pub trait BackEnd<T> {
    /// Runs a schema, as often as the back end sees fit.
    ///
    /// # Errors
    /// One sentence, if this back end cannot run such a schema.
    fn observe(&mut self, subject: &Arc<Subject<T>>, schema: &Numbered) -> Result<Observed, String>;
}

/// What a back end has seen.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// How often each outcome was seen: the results of all invocations, in the order in which they are written.
    pub outcomes: BTreeMap<Vec<Shown>, u64>,
    /// How many executions there were.
    pub executions: u64,
    /// Whether these were all executions that there are.
    pub complete: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// What went wrong other than by a result: a deadlock, a data race, a crash.
    pub failure: Option<Failed>,
}

/// Something that went wrong other than by a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What, in a few words.
    pub what: String,
    /// The file that replays it.
    pub file: Option<String>,
}

/// What one thread does: it makes its calls, and returns their results.
pub type Sequence = Box<dyn FnOnce() -> Vec<Shown> + Send + 'static>;

/// Runs a schema once, each sequence of a phase in a thread of its own; `spawn` starts a thread, and returns what joins it.
///
/// A phase of one sequence runs in the calling thread. Results are in the order in which invocations are written.
pub fn run_once<T: Send + Sync + 'static, J: FnOnce() -> Vec<Shown>>(
    subject: &Arc<Subject<T>>,
    schema: &Numbered,
    share: impl Fn(T) -> Arc<T>,
    mut spawn: impl FnMut(Sequence) -> J,
) -> Vec<Shown> {
    let object = share(subject.make());
    let mut outcome = Vec::new();
    for phase in schema {
        if let [sequence] = phase.as_slice() {
            outcome.extend(sequence.iter().map(|&call| subject.run(&object, call)));
            continue;
        }
        let mut joins = Vec::with_capacity(phase.len());
        for sequence in phase {
            let (subject, object, sequence) = (subject.clone(), object.clone(), sequence.clone());
            joins.push(spawn(Box::new(move || {
                sequence.iter().map(|&call| subject.run(&object, call)).collect()
            })));
        }
        outcome.extend(joins.into_iter().flat_map(|join| join()));
    }
    outcome
}
