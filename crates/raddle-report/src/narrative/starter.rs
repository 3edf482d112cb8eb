//! Scenarios without the bookkeeping of the thread that starts the others.

use crate::failure::{Action, Event, Failure};

/// The thread that spawns and joins the threads of a scenario.
const STARTER: u32 = 0;

/// The numbers of the events that [`without_starter`] keeps, or of all.
pub(crate) fn kept(failure: &Failure) -> Vec<usize> {
    let is_hidden = hides(failure);
    let events = failure.trace.events.iter().enumerate();
    events.filter(|(_, event)| !is_hidden || !starts(event)).map(|(number, _)| number).collect()
}

/// The failure without the starter's spawns, joins, first and last event; none if the failure is of no declarative test.
pub(crate) fn without_starter(failure: &Failure) -> Option<Failure> {
    if !hides(failure) {
        return None;
    }
    let mut shown = failure.clone();
    shown.trace.events.retain(|event| !starts(event));
    let mut before = None;
    for event in &mut shown.trace.events {
        if before.replace(event.thread).is_none_or(|before| before == event.thread) {
            event.switch = None;
        }
    }
    Some(shown)
}

/// Whether the failure is one of a declarative test.
fn hides(failure: &Failure) -> bool {
    failure.scenario.as_ref().is_some_and(|scenario| scenario.code.is_some())
}

fn starts(event: &Event) -> bool {
    event.thread == STARTER
        && matches!(event.action, Action::Begin | Action::End | Action::Spawn { .. } | Action::Join { .. })
}
