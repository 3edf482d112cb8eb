//! A story as a page: one file, no network, one lane a process.
//!
//! The page draws on a canvas what is in view, so that a hundred thousand operations stay usable.

use std::collections::HashMap;

use serde::Serialize;

use super::{Story, Violation};

const PAGE: &str = include_str!("page.html");

/// Operations as columns: smaller, and quicker to read, than as many objects.
#[derive(Default, Serialize)]
struct Columns<'a> {
    index: Vec<usize>,
    process: Vec<u64>,
    call: Vec<u64>,
    /// -1 for an unknown outcome.
    returned: Vec<i64>,
    /// Into `texts`.
    text: Vec<usize>,
    /// The number of the operation's part.
    part: Vec<usize>,
    /// 0 if it is not from a file.
    line: Vec<u64>,
    texts: Vec<&'a str>,
}

#[derive(Serialize)]
struct Data<'a> {
    name: &'a str,
    contract: &'a str,
    verdict: &'a str,
    parts: Vec<PartData<'a>>,
    operations: Columns<'a>,
}

#[derive(Serialize)]
struct PartData<'a> {
    key: Option<&'a str>,
    size: usize,
    verdict: &'a str,
    how: String,
    violation: Option<&'a Violation>,
}

/// The page, as HTML. It shows the operations that the story has: see [`Story::with_all`].
pub fn render(story: &Story) -> String {
    let part = |part: &'_ super::Part| format!("{}: {}", part.method, part.reason);
    let data = Data {
        name: &story.name,
        contract: &story.contract,
        verdict: story.verdict,
        parts: story
            .parts
            .iter()
            .map(|p| PartData {
                key: p.key.as_deref(),
                size: p.size,
                verdict: p.verdict,
                how: part(p),
                violation: p.violation.as_ref(),
            })
            .collect(),
        operations: columns(story),
    };
    let json = serde_json::to_string(&data).expect("a story has text keys and no odd numbers");
    // Inside a script element only this can end it early.
    PAGE.replace("\"DATA\"", &json.replace('<', "\\u003c"))
}

fn columns(story: &Story) -> Columns<'_> {
    let mut columns = Columns::default();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut parts: HashMap<usize, usize> = HashMap::new();
    for (number, part) in story.parts.iter().enumerate() {
        parts.extend(part.operations.iter().map(|&op| (op, number)));
    }
    for operation in story.operations.values() {
        columns.index.push(operation.index);
        columns.part.push(parts.get(&operation.index).copied().unwrap_or(0));
        columns.process.push(operation.process);
        columns.call.push(operation.call);
        columns.returned.push(operation.returned.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)));
        columns.line.push(operation.line.unwrap_or(0));
        let next = columns.texts.len();
        let text = *numbers.entry(&operation.text).or_insert(next);
        if text == next {
            columns.texts.push(&operation.text);
        }
        columns.text.push(text);
    }
    columns
}
