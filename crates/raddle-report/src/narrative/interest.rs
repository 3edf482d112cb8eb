//! Which events the reader must see: those that concern more than their own thread.

use std::collections::BTreeMap;

use super::calls::Calls;
use super::locations::Locations;
use crate::failure::{Action, Event, Failure, ThreadEnd};

/// What an event has to do with the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// It concerns more than its own thread.
    Shown,
    /// It concerns data that no other thread touches.
    Own,
    /// It came before there was another thread.
    Before,
    /// It counts handles.
    Count,
    /// It came of the panic.
    Unwinding,
}

/// What each event of a failure has to do with it.
pub(crate) fn interest(failure: &Failure, around: &[Calls], locations: &Locations) -> Vec<Interest> {
    let events = &failure.trace.events;
    let mut unwinding: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let end = failure.threads.get(event.thread as usize).map(|thread| &thread.end);
        if matches!(event.action, Action::Panic { .. }) && end == Some(&ThreadEnd::Panicked) {
            unwinding.insert(event.thread, at);
        }
    }
    let spawns = |event: &Event| matches!(event.action, Action::Spawn { .. });
    let first_other = events.iter().position(|event| event.thread != 0 || spawns(event)).unwrap_or(0);
    let mut interest: Vec<Interest> = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        let shared = match &event.action {
            Action::Fence { .. } => false,
            // Whoever waits is waited for by someone.
            Action::Wait { .. } | Action::Woken { .. } | Action::Wake { .. } => true,
            action => action.place().is_none_or(|place| locations.is_shared(place)),
        };
        // Unless the beginning is missing, there is one thread until it makes another.
        let alone = failure.trace.omitted == 0 && at < first_other;
        interest.push(match () {
            () if alone && event.action.place().is_some() => Interest::Before,
            () if unwinding.get(&event.thread).is_some_and(|&panic| panic < at) => Interest::Unwinding,
            () if around[at].counts => Interest::Count,
            () if shared => Interest::Shown,
            () => Interest::Own,
        });
    }
    // A failure of one thread alone is told by what it did to its own data.
    let any = |interest: &[Interest]| {
        events.iter().zip(interest).any(|(event, i)| event.action.place().is_some() && *i == Interest::Shown)
    };
    if !any(&interest) {
        let quiet = |interest: &&mut Interest| matches!(**interest, Interest::Own | Interest::Before);
        interest.iter_mut().filter(quiet).for_each(|interest| *interest = Interest::Shown);
    }
    // The end is always worth seeing, unless it is only the end of a panic.
    if let Some(last) = interest.last_mut().filter(|last| **last != Interest::Unwinding) {
        *last = Interest::Shown;
    }
    interest
}
