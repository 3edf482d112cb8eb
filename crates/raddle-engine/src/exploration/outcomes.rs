//! Executions by outcome class, where a judge distinguishes executions by their results.
//!
//! **Invariant:** numbers of outcome classes are valid only in the process that made them. So other processes send the
//! first one a schedule of each class, and the number of its executions.

use crate::schedule::Schedule;

/// The executions of one process by outcome class.
#[derive(Debug, Default)]
pub(crate) struct OutcomeCounts {
    /// Number of executions of each outcome class.
    counts: Vec<u64>,
    /// A schedule of each class, if other processes must know.
    schedules: Option<Vec<Option<Schedule>>>,
}

/// The executions of one outcome class in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteOutcome {
    pub(crate) count: u64,
    pub(crate) schedule: Schedule,
}

impl OutcomeCounts {
    /// No executions. With `is_shared`, keeps schedules for other processes.
    pub(crate) fn new(is_shared: bool) -> OutcomeCounts {
        OutcomeCounts { counts: Vec::new(), schedules: is_shared.then(Vec::new) }
    }

    /// Adds executions of a class; the schedule makes one again.
    pub(crate) fn add(&mut self, class: usize, count: u64, schedule: impl FnOnce() -> Schedule) {
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += count;
        if let Some(schedules) = &mut self.schedules {
            if schedules.len() <= class {
                schedules.resize(class + 1, None);
            }
            schedules[class].get_or_insert_with(schedule);
        }
    }

    /// Removes all executions, because the search restarts.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.schedules.iter_mut().for_each(Vec::clear);
    }

    /// Sets all counts to 0, in a new process.
    pub(super) fn forget_counts(&mut self) {
        self.counts.fill(0);
    }

    /// Number of executions of each outcome class.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The counts and schedules for the first process.
    pub(super) fn remote(&self) -> impl Iterator<Item = (u64, &Schedule)> {
        let schedules = self.schedules.iter().flatten();
        let counted = self.counts.iter().zip(schedules).filter(|(count, _)| **count > 0);
        counted.filter_map(|(count, schedule)| Some((*count, schedule.as_ref()?)))
    }
}
