//! The relevance of events: which of them concern more than their own thread.

use std::collections::BTreeMap;

use super::calls::Calls;
use super::locations::Locations;
use crate::failure::{Action, Event, Failure, ThreadEnd};

/// The relevance of an event to the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The event concerns more than its own thread.
    Shown,
    /// The event accesses memory that no other thread accesses.
    Own,
    /// The event precedes the creation of the first thread.
    Before,
    /// The event is a plain write: part of the state of objects, not of the interleaving.
    Plain,
    /// The event is inside of a dependency, about memory that only the dependency knows.
    Inside,
    /// The event counts references.
    Count,
    /// The event belongs to the unwinding of a panic.
    Unwinding,
}

/// The relevance of each event of a failure.
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
            // The last thread of a scope ends just before.
            Action::Woken { .. } | Action::Wake { .. } if around[at].ends_scope => false,
            // Waits and wake-ups concern two threads.
            Action::Wait { .. } | Action::Woken { .. } | Action::Wake { .. } => true,
            action => action.place().is_none_or(|place| locations.is_shared(place)),
        };
        // With a complete trace, there is one thread until the first spawn.
        let alone = failure.trace.omitted == 0 && at < first_other;
        interest.push(match () {
            () if matches!(event.action, Action::Write { .. }) => Interest::Plain,
            () if alone && event.action.place().is_some() => Interest::Before,
            () if matches!(event.action, Action::End) => Interest::Shown,
            () if unwinding.get(&event.thread).is_some_and(|&panic| panic < at) => Interest::Unwinding,
            () if around[at].inside.is_some() => Interest::Inside,
            () if around[at].counts => Interest::Count,
            () if shared => Interest::Shown,
            () => Interest::Own,
        });
    }
    // The failure of a single thread is explained by its own accesses.
    let any = |interest: &[Interest]| {
        events.iter().zip(interest).any(|(event, i)| event.action.place().is_some() && *i == Interest::Shown)
    };
    if !any(&interest) {
        let quiet = |interest: &&mut Interest| {
            matches!(**interest, Interest::Own | Interest::Before | Interest::Inside)
        };
        interest.iter_mut().filter(quiet).for_each(|interest| *interest = Interest::Shown);
    }
    // The last event is shown, unless it belongs to unwinding.
    if let Some(last) =
        interest.last_mut().filter(|last| !matches!(last, Interest::Unwinding | Interest::Plain))
    {
        *last = Interest::Shown;
    }
    interest
}
