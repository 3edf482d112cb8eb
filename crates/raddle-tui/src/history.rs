//! The values of objects at each event.

use std::collections::BTreeSet;

use raddle_report::Failure;
use raddle_report::failure::Datum;

/// The number of events between two kept states.
const DISTANCE: usize = 128;

/// The states of the objects, kept at some events and computed at the others.
pub(crate) struct History<'f> {
    failure: &'f Failure,
    /// The values before event `index * DISTANCE`.
    kept: Vec<Vec<Option<Datum>>>,
}

impl<'f> History<'f> {
    pub(crate) fn new(failure: &'f Failure) -> History<'f> {
        let mut kept = Vec::new();
        if let Some(objects) = &failure.objects {
            let mut values = vec![None; objects.list.len()];
            objects.initial.iter().for_each(|change| change.apply(&mut values));
            for (number, event) in failure.trace.events.iter().enumerate() {
                if number.is_multiple_of(DISTANCE) {
                    kept.push(values.clone());
                }
                event.changes.iter().for_each(|change| change.apply(&mut values));
            }
        }
        History { failure, kept }
    }

    /// The value of each object after an event; none for objects that do not exist yet.
    pub(crate) fn at(&self, event: usize) -> Vec<Option<Datum>> {
        let Some(before) = self.kept.get(event / DISTANCE) else { return Vec::new() };
        let mut values = before.clone();
        let since = event / DISTANCE * DISTANCE;
        for event in &self.failure.trace.events[since..=event] {
            event.changes.iter().for_each(|change| change.apply(&mut values));
        }
        values
    }

    /// The objects that an event changes.
    pub(crate) fn changed(&self, event: usize) -> BTreeSet<u32> {
        self.failure.trace.events[event].changes.iter().map(|change| change.object).collect()
    }
}
