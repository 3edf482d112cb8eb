//! The result of a run.

use std::fmt::Display;
use std::hash::Hash;
use std::time::Duration;

use crate::histogram::Histogram;
use crate::placement::Placement;

/// What the actors of a program returned, and how often.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcomes<T> {
    /// The results in the order of actors, that of the arbiter last, and how often they occurred; the most frequent first.
    pub counts: Vec<(Vec<T>, u64)>,
    /// The same where an actor or the arbiter panicked: `Err` has its message.
    pub panics: Vec<(Vec<Result<T, String>>, u64)>,
    /// Executions whose outcomes were not told apart, because there were more than 65,536 different ones.
    pub overflow: u64,
    /// Executions in all.
    pub executions: u64,
    /// The time that they took.
    pub elapsed: Duration,
    /// The actors that did not return, by number. The run ended there.
    pub stuck: Vec<usize>,
    /// The placements of threads, with the executions in each.
    pub placements: Vec<(Placement, u64)>,
    /// The seed of delays and placements.
    pub seed: u64,
}

impl<T: Clone + Eq + Hash> Outcomes<T> {
    pub(crate) fn new(seed: u64) -> Outcomes<T> {
        Outcomes {
            counts: Vec::new(),
            panics: Vec::new(),
            overflow: 0,
            executions: 0,
            elapsed: Duration::ZERO,
            stuck: Vec::new(),
            placements: Vec::new(),
            seed,
        }
    }

    /// How often exactly these results occurred.
    pub fn count(&self, results: &[T]) -> u64 {
        self.counts.iter().find(|(found, _)| found == results).map_or(0, |(_, count)| *count)
    }

    /// Executions a second.
    pub fn rate(&self) -> f64 {
        self.executions as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    pub(crate) fn set_counts(&mut self, histogram: &Histogram<T>) {
        self.counts = histogram.counts().map(|(results, count)| (results.to_vec(), count)).collect();
        self.counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        self.panics = histogram.panics().map(|(results, count)| (results.clone(), count)).collect();
        self.panics.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        self.overflow = histogram.overflow();
    }
}

impl<T: Display> Outcomes<T> {
    /// The outcomes as text, as in `1, 0`, with their counts. A panic is its message, as in `panic: index out of bounds`;
    /// results without text are left out.
    pub fn labels(&self) -> Vec<(String, u64)> {
        let returned =
            self.counts.iter().map(|(results, count)| (join(results.iter().map(T::to_string)), *count));
        returned.chain(self.panics.iter().map(|(results, count)| (label(results), *count))).collect()
    }
}

/// An outcome as text: the results, or `panic: ` and its message. Results without text are left out.
pub fn label<T: Display>(results: &[Result<T, String>]) -> String {
    join(results.iter().map(|result| match result {
        Ok(value) => value.to_string(),
        Err(message) => format!("panic: {message}"),
    }))
}

fn join(cells: impl Iterator<Item = String>) -> String {
    cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ")
}
