//! The log of an execution of a plan: its steps in the order of their beginnings and ends.

use super::value::Answer;

/// A step of a call. A plain call has one; a future has one for each time that it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The call itself.
    Request,
    /// A poll of a suspended future.
    FollowUp,
    /// The cancellation of the call.
    Cancel,
}

/// An entry of the log, with the number of its call.
pub(crate) enum Note {
    Begun(usize, Step),
    Ended(usize, Answer),
}

/// The log of an execution.
#[derive(Default)]
pub(crate) struct Log {
    /// The entries in the order in which they were made.
    pub(crate) notes: Vec<Note>,
    /// The event of each note, if an event stands for the note.
    pub(crate) events: Vec<Option<u32>>,
    /// The vector clock of each note's thread, if the engine keeps clocks: one number per thread of the plan for each note.
    pub(crate) clocks: Vec<u32>,
    /// The engine's numbers of the threads of the plan. The first thread runs the init and the post part. Empty if the engine keeps no
    /// clocks.
    pub(crate) threads: Vec<u16>,
    /// The thread of each note: an index into `threads`.
    pub(crate) makers: Vec<usize>,
    /// The message of a validation that panicked.
    pub(crate) invalid: Option<String>,
    /// The message of a panic that is no result: in the constructor or destructor of the object.
    pub(crate) broken: Option<String>,
    /// The greatest number of events between two consecutive completions of operations.
    pub(crate) longest_gap: u64,
    /// The number of events at the last completion.
    pub(crate) last_completion: u64,
}

/// The greatest number of threads whose clocks are kept.
pub(crate) const MOST_THREADS: usize = 16;

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The call has not begun.
    NotBegun,
    /// A step of the call runs.
    Within,
    /// The future of the call is suspended.
    Suspended,
    /// The call has ended.
    Done,
}

impl Log {
    /// An empty log with room for `notes` notes and the clocks of `threads` threads.
    pub(crate) fn with_capacity(notes: usize, threads: usize) -> Log {
        // A log that grows during an execution would take memory from the thread that makes it grow, and so change the addresses of
        // the thread's later allocations.
        let clocks = if threads > 0 { notes } else { 0 };
        Log {
            notes: Vec::with_capacity(notes),
            events: Vec::with_capacity(notes),
            clocks: Vec::with_capacity(clocks * threads.min(MOST_THREADS)),
            // The number of a thread that has made no note yet.
            threads: vec![u16::MAX; threads],
            makers: Vec::with_capacity(clocks),
            ..Log::default()
        }
    }

    /// Sorts the notes of the parallel part by the moments of their events. A graph-driven execution makes notes in another
    /// order.
    pub(crate) fn put_in_order(&mut self, moments: &[u32]) {
        let Some(first) = self.events.iter().position(Option::is_some) else { return };
        let at = |event: Option<u32>| event.map_or(u32::MAX, |event| moments[event as usize]);
        for mut place in first..self.notes.len() {
            // Insertion sort: there are few notes, and most are in order.
            while place > first && at(self.events[place - 1]) > at(self.events[place]) {
                self.notes.swap(place - 1, place);
                self.events.swap(place - 1, place);
                place -= 1;
            }
        }
    }

    /// Whether one note happened before another, if clocks are kept.
    pub(crate) fn happened_before(&self, first: usize, second: usize) -> Option<bool> {
        let maker = *self.makers.get(first)?;
        if maker == *self.makers.get(second)? {
            return Some(first < second);
        }
        let of = |note: usize| self.clocks.get(note * self.threads.len() + maker);
        Some(of(first)? <= of(second)?)
    }

    /// Records the completion of an operation of the parallel part, after `events` events of the execution.
    pub(crate) fn completed(&mut self, events: u64) {
        self.longest_gap = self.longest_gap.max(events - self.last_completion);
        self.last_completion = events;
    }

    /// The progress of each of `calls` calls.
    pub(crate) fn progress(&self, calls: usize) -> Vec<Progress> {
        let mut progress = vec![Progress::NotBegun; calls];
        for note in &self.notes {
            match note {
                Note::Begun(call, _) => progress[*call] = Progress::Within,
                Note::Ended(call, Answer::Suspended) => progress[*call] = Progress::Suspended,
                Note::Ended(call, _) => progress[*call] = Progress::Done,
            }
        }
        progress
    }

    /// The printed result of each of `calls` calls; none for calls without a result.
    pub(crate) fn results(&self, calls: usize) -> Vec<Option<String>> {
        let mut results = vec![None; calls];
        for note in &self.notes {
            if let Note::Ended(call, answer) = note {
                results[*call] = Some(answer.text());
            }
        }
        results
    }
}
