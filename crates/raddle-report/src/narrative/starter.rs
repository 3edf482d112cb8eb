//! Scenarios without the bookkeeping of the thread that starts the others.

use crate::failure::{Action, Event, Failure};

/// The thread that spawns and joins the threads of a scenario.
const STARTER: u32 = 0;

/// The failure without the starter's spawns, joins, first and last event; none if the failure is of no declarative test.
pub(crate) fn without_starter(failure: &Failure) -> Option<Failure> {
    failure.scenario.as_ref()?.code.as_ref()?;
    let starts = |event: &Event| {
        event.thread == STARTER
            && matches!(
                event.action,
                Action::Begin | Action::End | Action::Spawn { .. } | Action::Join { .. }
            )
    };
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
