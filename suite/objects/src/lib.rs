//! Failing tests whose reports show the state of objects, event by event. The tests are in `tests/`.

use std::fmt::Write;

use raddle_report::failure::{Action, Failure, Objects};

/// The states of an execution: for each event that changes something, what it does and what changes.
pub fn story(failure: &Failure) -> String {
    let mut text = String::new();
    let objects = objects(failure);
    for event in &failure.trace.events {
        for change in &event.changes {
            let name = &objects.list[change.object as usize].name;
            let path: String = change.path.iter().map(|child| format!(".{child}")).collect();
            let value = change.value.text(&objects.list);
            writeln!(text, "T{} {}: {name}{path} = {value}", event.thread, kind(&event.action))
                .expect("text takes all");
        }
    }
    text
}

/// The values of all objects at the end, each with its name.
pub fn end(failure: &Failure) -> Vec<String> {
    let objects = objects(failure);
    let last = failure.trace.events.len() - 1;
    let values = objects.at(&failure.trace, Some(last));
    let shown = values.iter().zip(&objects.list).map(|(value, object)| {
        let value = value.as_ref().expect("every object has a value");
        let freed = if object.freed.is_some() { " (freed)" } else { "" };
        format!("{}{freed} = {}", object.name, value.text(&objects.list))
    });
    shown.collect()
}

/// The objects of a failure.
pub fn objects(failure: &Failure) -> &Objects {
    failure.objects.as_ref().expect("the failure has objects")
}

/// What an event does, in a word.
pub fn kind(action: &Action) -> &'static str {
    match action {
        Action::Load { .. } => "load",
        Action::Store { .. } => "store",
        Action::Rmw { .. } => "rmw",
        Action::Cas { .. } => "cas",
        Action::Write { .. } => "write",
        Action::Call { .. } => "call",
        Action::Return { .. } => "return",
        _ => "other",
    }
}
