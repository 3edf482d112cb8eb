//! SARIF 2.1.0 (OASIS, 2020): a failure is one result, whose code flow has a thread flow for each thread.
//!
//! `executionOrder` is the number of the event, `nestingLevel` the number of calls around it, `state` the values that the event read,
//! wrote or changed.

use serde_json::{Map, Value as Json, json};

use super::scene::{kind, own_frame, scene};
use super::state::short_value;
use crate::failure::{Action, Failure, Frame, Trace};
use crate::narrative::calls::{Lines, calls};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::words::{self, Spelling};

/// The address of the schema, which editors look for.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A failure as a SARIF log.
pub fn sarif(failure: &Failure) -> String {
    let id = failure.kind.name();
    let mut result = json!({
        "ruleId": id,
        "ruleIndex": 0,
        "level": "error",
        "kind": "fail",
        "message": {"text": format!("{} in test `{}`: {}", kind(failure), failure.test, failure.message)},
        "locations": [],
        "partialFingerprints": {"raddleTest/v1": format!("{}:{id}", failure.test)},
        "properties": {
            "test": failure.test,
            "strategy": failure.found_by.strategy,
            "seed": failure.found_by.seed,
            "execution": failure.found_by.execution,
        },
    });
    if let Some(frame) = scene(failure) {
        result["locations"] = json!([location(frame, None)]);
    }
    let flows = thread_flows(failure);
    if !flows.is_empty() {
        result["codeFlows"] = json!([{
            "message": {"text": "the failing execution, event by event"},
            "threadFlows": flows,
        }]);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Raddle",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": [{
                    "id": id,
                    "name": rule_name(&id),
                    "shortDescription": {"text": kind(failure)},
                }],
            }},
            "columnKind": "unicodeCodePoints",
            "results": [result],
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("keys are strings");
    text.push('\n');
    text
}

fn thread_flows(failure: &Failure) -> Vec<Json> {
    let trace = &failure.trace;
    let locations = Locations::of(failure);
    let lines = Lines::of(trace);
    let mut threads: Vec<u32> = trace.events.iter().map(|event| event.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let flow = |thread: u32| {
        let events = trace.events.iter().enumerate().filter(|(_, event)| event.thread == thread);
        let steps: Vec<Json> = events
            .map(|(number, event)| {
                let around = calls(trace, event.at, &lines);
                let naming = Naming::of(&locations);
                let text = words::event(&event.action, &around, &naming, Spelling::Alone);
                let mut step = json!({
                    "location": step_location(trace, event.at, &text),
                    "executionOrder": number,
                    "nestingLevel": around.own.saturating_sub(1),
                    "importance": importance(&event.action),
                });
                let state = state(failure, number, &naming);
                if !state.is_empty() {
                    step["state"] = Json::Object(state);
                }
                step
            })
            .collect();
        json!({
            "id": words::tag(thread),
            "message": {"text": words::full_name(failure, thread)},
            "locations": steps,
        })
    };
    threads.into_iter().map(flow).collect()
}

fn step_location(trace: &Trace, at: Option<u32>, text: &str) -> Json {
    match own_frame(trace, at) {
        Some(frame) => location(frame, Some(text)),
        None => json!({"message": {"text": text}}),
    }
}

fn location(frame: &Frame, text: Option<&str>) -> Json {
    let mut location = json!({
        "logicalLocations": [{"fullyQualifiedName": frame.function, "kind": "function"}],
    });
    if let Some(file) = &frame.file {
        location["physicalLocation"] = json!({"artifactLocation": {"uri": uri(file)}});
        if let Some(line) = frame.line.filter(|&line| line > 0) {
            location["physicalLocation"]["region"] = json!({"startLine": line});
        }
    }
    if let Some(text) = text {
        location["message"] = json!({"text": text});
    }
    location
}

/// The values that an event read, wrote or changed, by name.
fn state(failure: &Failure, number: usize, naming: &Naming<'_>) -> Map<String, Json> {
    let event = &failure.trace.events[number];
    let mut state = Map::new();
    let held = event.action.written().or(match event.action {
        Action::Load { value, .. } => Some(value),
        Action::Cas { read, .. } => Some(read),
        _ => None,
    });
    if let (Some(place), Some(held)) = (event.action.place(), held) {
        let value = naming.pointer(held, place.size).unwrap_or_else(|| words::number(held, place.size));
        state.insert(naming.name(place), json!({"text": value}));
    }
    if let Some(objects) = &failure.objects {
        for change in event.changes.iter().filter(|change| change.path.is_empty()) {
            if let Some(object) = objects.list.get(change.object as usize) {
                state.insert(object.name.clone(), json!({"text": short_value(&change.value, objects)}));
            }
        }
    }
    state
}

fn importance(action: &Action) -> &'static str {
    match action {
        Action::Panic { .. } | Action::Access { .. } | Action::Free { .. } | Action::Allocate { .. } => {
            "essential"
        }
        Action::Begin | Action::End | Action::Write { .. } => "unimportant",
        _ => "important",
    }
}

/// The kind as a name in Pascal case, as rules have it: `UseAfterFree`.
fn rule_name(id: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    id.split('-').filter(|word| !word.is_empty()).map(capital).collect()
}

/// A path as a reference by RFC 3986.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
