//! The events of a failure by their places in the execution: which of its thread's events each one is.
//!
//! A failure file orders the events as a person would; a replay may make those of different threads in another order. The order
//! within a thread is the same in both, so that is how events are found.

use raddle_report::failure::{Action, Event};
use raddle_report::query::{Index, Moment, Question, render_answer};
use raddle_report::{Failure, Style};

use crate::error::{Error, Result};

/// The events of a failure.
#[derive(Debug)]
pub(crate) struct Events {
    failure: Failure,
    /// Each event in words.
    moments: Vec<Moment>,
    /// For each event, its number among those of its thread; for a plain write, that of the next event.
    numbers: Vec<u64>,
    /// For each thread, its events.
    of_thread: Vec<Vec<usize>>,
}

impl Events {
    pub(crate) fn of(failure: Failure) -> Events {
        let mut of_thread: Vec<Vec<usize>> = vec![Vec::new(); failure.threads.len()];
        let mut numbers = Vec::new();
        for (index, event) in failure.trace.events.iter().enumerate() {
            let thread = event.thread as usize;
            if thread >= of_thread.len() {
                of_thread.resize(thread + 1, Vec::new());
            }
            numbers.push(of_thread[thread].len() as u64);
            // The program cannot be stopped at a plain write, but at the next event of the thread.
            if !matches!(event.action, Action::Write { .. }) {
                of_thread[thread].push(index);
            }
        }
        let moments = Index::of(&failure).moments();
        Events { failure, moments, numbers, of_thread }
    }

    pub(crate) fn failure(&self) -> &Failure {
        &self.failure
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The thread of an event, and the number of the event among those of the thread.
    pub(crate) fn place(&self, event: usize) -> Option<(u32, u64)> {
        Some((self.failure.trace.events.get(event)?.thread, self.numbers[event]))
    }

    /// The event with this number of a thread.
    pub(crate) fn at(&self, thread: u32, number: u64) -> Option<usize> {
        self.of_thread.get(thread as usize)?.get(number as usize).copied()
    }

    /// The event at which the failure shows: the panic, if there is one, or the last event.
    pub(crate) fn failing(&self) -> usize {
        let events = &self.failure.trace.events;
        let is_panic = |event: &Event| matches!(event.action, Action::Panic { .. });
        let of_thread = |event: &&Event| self.failure.thread.is_none_or(|thread| thread == event.thread);
        let panic = events.iter().rposition(|event| is_panic(event) && of_thread(&event));
        panic.unwrap_or_else(|| self.before(self.len()).unwrap_or(0))
    }

    /// The first event of the code under test.
    pub(crate) fn first(&self) -> usize {
        (0..self.len()).find(|&event| self.is_visible(event)).unwrap_or(0)
    }

    /// The event before this one, of any thread, that can be looked at.
    pub(crate) fn before(&self, event: usize) -> Option<usize> {
        (0..event.min(self.len())).rev().find(|&event| self.is_visible(event))
    }

    /// The event after this one, of any thread, that can be looked at.
    pub(crate) fn after(&self, event: usize) -> Option<usize> {
        (event + 1..self.len()).find(|&event| self.is_visible(event))
    }

    /// The thread's last event with a number below this one that can be looked at.
    pub(crate) fn before_in_thread(&self, thread: u32, number: u64) -> Option<usize> {
        let events = self.of_thread.get(thread as usize)?;
        let most = events.len().min(number as usize);
        events[..most].iter().rev().copied().find(|&event| self.is_visible(event))
    }

    /// The last write before an event to the location that the event accesses.
    pub(crate) fn write_before(&self, event: usize) -> Option<usize> {
        let events = &self.failure.trace.events;
        let place = events.get(event)?.action.place()?;
        let overlaps = |other: &Event| {
            other.action.written().is_some()
                && other.action.place().is_some_and(|other| {
                    other.address < place.address + u64::from(place.size)
                        && place.address < other.address + u64::from(other.size)
                })
        };
        (0..event).rev().find(|&earlier| overlaps(&events[earlier]))
    }

    /// Whether an event writes memory.
    pub(crate) fn writes(&self, event: usize) -> bool {
        self.failure.trace.events.get(event).is_some_and(|event| event.action.written().is_some())
    }

    /// The thread of an event, if the thread waits from then on.
    pub(crate) fn waiting_at_end(&self, event: usize) -> Option<u32> {
        let (thread, number) = self.place(event)?;
        let is_last = self.at(thread, number + 1).is_none();
        let waits = matches!(self.failure.trace.events[event].action, Action::Wait { blocks: true, .. });
        (is_last && waits).then_some(thread)
    }

    /// Whether the program can be stopped at the event, in the code under test.
    fn is_visible(&self, event: usize) -> bool {
        let event = &self.failure.trace.events[event];
        event.at.is_some() && !matches!(event.action, Action::Write { .. })
    }

    /// The event in one line.
    pub(crate) fn describe(&self, event: usize) -> String {
        let Some(Moment { thread, text, line, .. }) = self.moments.get(event) else { return String::new() };
        match line {
            Some(line) => format!("{event:>4}  T{thread}  {text}  ({line})"),
            None => format!("{event:>4}  T{thread}  {text}"),
        }
    }

    /// The answer to a question, as `cargo raddle why` writes it.
    pub(crate) fn why(&self, target: &str) -> Result<String> {
        let answer = Index::of(&self.failure).answer(&Question::Why { target: target.to_owned() });
        Ok(render_answer(&answer.map_err(Error::usage)?, Style { width: 100, colour: false, unicode: true }))
    }
}
