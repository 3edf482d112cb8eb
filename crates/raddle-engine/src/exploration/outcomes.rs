//! How often each kind of execution was made, where somebody tells executions apart by their results.
//!
//! A result is worth something only in the process in which it was computed. So other processes tell the first one how an
//! execution of each kind is made again, and how many there were of it.

use crate::schedule::Schedule;

/// The kinds of executions of one process.
#[derive(Debug, Default)]
pub(crate) struct OutcomeCounts {
    /// How many executions there were of each kind.
    counts: Vec<u64>,
    /// What makes one of them again, if others have to know.
    schedules: Option<Vec<Option<Schedule>>>,
}

/// Executions of one kind, as they are told to another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteOutcome {
    pub(crate) count: u64,
    pub(crate) schedule: Schedule,
}

impl OutcomeCounts {
    /// Executions, which others have to be told about if `told` says so.
    pub(crate) fn new(told: bool) -> OutcomeCounts {
        OutcomeCounts { counts: Vec::new(), schedules: told.then(Vec::new) }
    }

    /// So many executions of this kind were made; the schedule makes one again.
    pub(crate) fn add(&mut self, kind: usize, count: u64, schedule: impl FnOnce() -> Schedule) {
        if self.counts.len() <= kind {
            self.counts.resize(kind + 1, 0);
        }
        self.counts[kind] += count;
        if let Some(schedules) = &mut self.schedules {
            if schedules.len() <= kind {
                schedules.resize(kind + 1, None);
            }
            schedules[kind].get_or_insert_with(schedule);
        }
    }

    /// Forgets everything: it was counted without knowing enough.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.schedules.iter_mut().for_each(Vec::clear);
    }

    /// Counts from 0 on, in a process that begins.
    pub(crate) fn forget_counts(&mut self) {
        self.counts.fill(0);
    }

    /// How many executions there were of each kind.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// What others are told.
    pub(super) fn told(&self) -> impl Iterator<Item = (u64, &Schedule)> {
        let schedules = self.schedules.iter().flatten();
        let told = self.counts.iter().zip(schedules).filter(|(count, _)| **count > 0);
        told.filter_map(|(count, schedule)| Some((*count, schedule.as_ref()?)))
    }
}
