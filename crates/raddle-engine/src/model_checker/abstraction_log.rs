//! The abstraction of each access to an abstracted object, in the order of the current execution.
//!
//! A replay cannot derive the abstractions: they depend on the refinements of the search that found the execution. So the log
//! is part of the schedule (`Schedule::counts`), and a replay looks the abstraction of each access up by its position in the log.

use super::replay::Replay;

/// The log. Each entry is an encoded [`Counting`](super::Counting) (below [`FIRST_LOCKING`]) or [`Locking`](super::Locking). The
/// first entry is [`THREAD_HANDLES`] if the steps that drop handles of threads are events.
#[derive(Debug, Default)]
pub(super) struct AbstractionLog {
    entries: Vec<u16>,
}

/// The entry of an access that is no event.
pub(super) const ABSTRACT: u16 = 0;

/// The least entry that encodes a [`Locking`](super::Locking).
pub(super) const FIRST_LOCKING: u16 = 3;

/// The first entry if the steps that drop handles of threads are events. No access has this entry.
const THREAD_HANDLES: u16 = u16::MAX;

impl AbstractionLog {
    /// Begins the log of an execution. `thread_handles` applies unless the execution replays a schedule.
    pub(super) fn begin(&mut self, replay: Option<&Replay>, thread_handles: bool) {
        self.entries.clear();
        let thread_handles =
            replay.map_or(thread_handles, |replay| replay.abstractions().first() == Some(&THREAD_HANDLES));
        self.entries.extend(thread_handles.then_some(THREAD_HANDLES));
    }

    /// Whether the steps that drop handles of threads are events in this execution.
    #[inline]
    pub(super) fn thread_handles_are_events(&self) -> bool {
        self.entries.first() == Some(&THREAD_HANDLES)
    }

    /// The entry that a replay has for the next access.
    pub(super) fn next_in(&self, replay: &Replay) -> Option<u16> {
        replay.abstractions().get(self.entries.len()).copied()
    }

    pub(super) fn push(&mut self, entry: u16) {
        self.entries.push(entry);
    }

    /// The log up to the last access that was an event, as part of a schedule.
    pub(super) fn schedule(&self) -> Vec<u16> {
        let last = self.entries.iter().rposition(|&entry| entry != ABSTRACT);
        self.entries[..last.map_or(0, |last| last + 1)].to_vec()
    }
}

impl Clone for AbstractionLog {
    fn clone(&self) -> AbstractionLog {
        AbstractionLog { entries: self.entries.clone() }
    }

    /// Uses the memory of `self` again.
    fn clone_from(&mut self, other: &AbstractionLog) {
        self.entries.clone_from(&other.entries);
    }
}
