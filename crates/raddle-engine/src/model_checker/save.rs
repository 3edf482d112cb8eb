//! Saved searches, which another process resumes.
//!
//! The order of the parts is a format: `raddle::resume` has its version.

use super::ModelChecker;
use crate::graph::stored::Stored;

impl ModelChecker {
    /// The state of the search between two executions. Checkpoints are not part of it.
    pub(crate) fn save(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.branches.put(&mut words);
        self.locations.put(&mut words);
        self.spins.put(&mut words);
        self.thread_ids.put(&mut words);
        self.refcounts.put(&mut words);
        self.rwlocks.put(&mut words);
        for flag in [self.started, self.repeat, self.spins.has_unproven()] {
            flag.put(&mut words);
        }
        self.graphs_beyond_bound().put(&mut words);
        self.estimator.put(&mut words);
        self.has_written.put(&mut words);
        self.knows_readers.put(&mut words);
        words
    }

    /// Resumes a saved search. None if the words are not those of a search under the same memory model.
    pub(crate) fn restore(&mut self, words: &[u64]) -> Option<()> {
        let words = &mut words.iter();
        self.branches.take(words)?;
        self.locations = Stored::take(words)?;
        self.spins.take(words)?;
        self.thread_ids = Stored::take(words)?;
        self.refcounts.take(words)?;
        self.rwlocks = Stored::take(words)?;
        self.started = Stored::take(words)?;
        self.repeat = Stored::take(words)?;
        self.spins.set_unproven(Stored::take(words)?);
        self.set_graphs_beyond_bound(Stored::take(words)?);
        self.estimator = Stored::take(words)?;
        self.has_written = Stored::take(words)?;
        self.knows_readers = Stored::take(words)?;
        let same_model = self.branches.iter().all(|branch| branch.graph.model == self.model);
        (same_model && words.next().is_none()).then_some(())
    }
}
