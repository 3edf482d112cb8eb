//! The thread that only starts the threads of a scenario and waits for them.

use crate::failure::{Action, Event, Failure};

/// The thread that starts the others.
const STARTER: u32 = 0;

/// The failure without what the starter does besides calling operations; none if that is of interest.
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
