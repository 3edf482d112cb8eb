//! A story for programs: one JSON object, with a version that changes when its meaning does.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Operation, Story};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    story: &'a Story,
    operations: Vec<&'a Operation>,
}

/// The story as JSON, on several lines. Operations are listed if a violation is about them.
pub fn render(story: &Story) -> String {
    let mut mentioned = BTreeSet::new();
    for (_, violation) in story.violations() {
        mentioned.extend(violation.operation);
        mentioned.extend(&violation.core);
        for attempt in &violation.attempts {
            mentioned.extend(&attempt.order);
            mentioned.extend(attempt.next.iter().map(|next| next.operation));
        }
    }
    let operations = mentioned.into_iter().map(|op| &story.operations[op]).collect();
    let document = Document { format: "raddle-check-report", version: VERSION, story, operations };
    serde_json::to_string_pretty(&document).expect("a story has text keys and no odd numbers") + "\n"
}
