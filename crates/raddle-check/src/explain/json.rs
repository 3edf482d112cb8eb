//! A story for programs: one JSON object, with a version that changes when its meaning does.

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
    let operations = story.mentioned().into_iter().filter_map(|op| story.operations.get(&op)).collect();
    let document = Document { format: "raddle-check-report", version: VERSION, story, operations };
    serde_json::to_string_pretty(&document).expect("a story has text keys and no odd numbers") + "\n"
}
