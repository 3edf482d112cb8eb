//! What an execution of a plan did: its steps in the order in which they began and ended.

use super::value::Answer;

/// A step of a call. A plain call has one; a future has one for each time that it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The call itself.
    Request,
    /// It goes on after it was suspended.
    FollowUp,
    /// It is given up.
    Cancel,
}

/// Something that was noted.
pub(crate) enum Note {
    Begun(usize, Step),
    Ended(usize, Answer),
}

/// Notes in the order in which they were made.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) notes: Vec<Note>,
    /// The event that each note is about, if it is one.
    pub(crate) events: Vec<Option<u32>>,
    /// What the thread of each note had seen of all threads by then, if the engine keeps count: so many numbers a note.
    pub(crate) clocks: Vec<u32>,
    /// The numbers that the engine gave to the threads of the plan, of which the first one makes the init and the post part. None
    /// where nobody keeps count.
    pub(crate) threads: Vec<u16>,
    /// Which of these threads made each note.
    pub(crate) makers: Vec<usize>,
    /// What the validation said when it panicked.
    pub(crate) invalid: Option<String>,
    /// What was said by a panic that is no result: of the object's making, or of its end.
    pub(crate) broken: Option<String>,
    /// The most events between two operations that completed one after the other.
    pub(crate) longest_gap: u64,
    /// The events by the time the last one did.
    pub(crate) last_completion: u64,
}

/// The clocks of more threads are not kept.
pub(crate) const MOST_THREADS: usize = 16;

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It was not called.
    NotBegun,
    /// It is within a step.
    Within,
    /// It waits to be woken.
    Suspended,
    /// It is over.
    Done,
}

impl Log {
    /// Room for so many notes, and for what so many threads have seen of each other.
    pub(crate) fn with_capacity(notes: usize, threads: usize) -> Log {
        // What grew in the middle of an execution would take memory from whichever thread made it grow, and so change where
        // what that allocates later comes to lie.
        let clocks = if threads > 0 { notes } else { 0 };
        Log {
            notes: Vec::with_capacity(notes),
            events: Vec::with_capacity(notes),
            clocks: Vec::with_capacity(clocks * threads.min(MOST_THREADS)),
            // No thread has this number before it makes its first note.
            threads: vec![u16::MAX; threads],
            makers: Vec::with_capacity(clocks),
            ..Log::default()
        }
    }

    /// Puts the notes of the parallel part in the order of what they are about, given when each event was. They were made in
    /// another one if the execution followed a graph.
    pub(crate) fn put_in_order(&mut self, moments: &[u32]) {
        let Some(first) = self.events.iter().position(Option::is_some) else { return };
        let at = |event: Option<u32>| event.map_or(u32::MAX, |event| moments[event as usize]);
        for mut place in first..self.notes.len() {
            // Few, and most of them are in order.
            while place > first && at(self.events[place - 1]) > at(self.events[place]) {
                self.notes.swap(place - 1, place);
                self.events.swap(place - 1, place);
                place -= 1;
            }
        }
    }

    /// Whether what one note tells happened before what the other does, if that is known.
    pub(crate) fn happened_before(&self, first: usize, second: usize) -> Option<bool> {
        let maker = *self.makers.get(first)?;
        if maker == *self.makers.get(second)? {
            return Some(first < second);
        }
        let of = |note: usize| self.clocks.get(note * self.threads.len() + maker);
        Some(of(first)? <= of(second)?)
    }

    /// An operation of the parallel part has completed, after this many events of the execution.
    pub(crate) fn completed(&mut self, events: u64) {
        self.longest_gap = self.longest_gap.max(events - self.last_completion);
        self.last_completion = events;
    }

    /// How far each of `calls` calls had come.
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

    /// What each of `calls` calls came to in the end, printed; none for those that did not.
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
