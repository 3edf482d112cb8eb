//! The trace event format of Chrome, which Perfetto reads, too: slices for calls and events, arrows for reads-from and
//! synchronises-with.
//!
//! Executions have no duration. Each event takes ten microseconds, in the order of the trace.

use serde_json::{Value as Json, json};

use crate::failure::{Failure, Write};
use crate::narrative::calls::{Calls, Level, Lines, calls};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::words::{self, Spelling};

/// The length of an event in microseconds.
const LENGTH: usize = 10;
/// The only process.
const PROCESS: u32 = 1;

/// A failure as a trace.
pub fn perfetto(failure: &Failure) -> String {
    let events = slices(failure);
    let lines: Vec<String> = events.iter().map(Json::to_string).collect();
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn slices(failure: &Failure) -> Vec<Json> {
    let trace = &failure.trace;
    let locations = Locations::of(failure);
    let lines = Lines::of(trace);
    let mut out = vec![json!({
        "ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "ts": 0, "args": {"name": failure.test},
    })];
    let mut threads: Vec<u32> = trace.events.iter().map(|event| event.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let around: Vec<Calls> = trace.events.iter().map(|event| calls(trace, event.at, &lines)).collect();
    for thread in threads {
        out.push(json!({
            "ph": "M", "name": "thread_name", "pid": PROCESS, "tid": thread, "ts": 0,
            "args": {"name": words::full_name(failure, thread)},
        }));
        let mut open: &[Level] = &[];
        let mut end = 0;
        let numbers = (0..trace.events.len()).filter(|&number| trace.events[number].thread == thread);
        for number in numbers {
            let levels = &around[number].levels[..around[number].own];
            let same = open.iter().zip(levels).take_while(|(one, other)| one == other).count();
            out.extend(open[same..].iter().map(|_| call("E", thread, end, None)));
            let begin = number * LENGTH;
            out.extend(levels[same..].iter().map(|level| call("B", thread, begin, Some(level))));
            open = levels;
            end = begin + LENGTH;
            let event = &trace.events[number];
            let naming = Naming::of(&locations);
            let text = words::event(&event.action, &around[number], &naming, Spelling::Alone);
            out.push(json!({
                "ph": "X", "name": text, "cat": "event", "pid": PROCESS, "tid": thread, "ts": begin, "dur": LENGTH,
                "args": {"event": number, "line": around[number].line},
            }));
        }
        out.extend(open.iter().map(|_| call("E", thread, end, None)));
    }
    arrows(failure, &mut out);
    out
}

fn call(phase: &str, thread: u32, time: usize, level: Option<&Level>) -> Json {
    let mut slice = json!({"ph": phase, "cat": "call", "pid": PROCESS, "tid": thread, "ts": time});
    if let Some(level) = level {
        slice["name"] = json!(level.function);
    }
    slice
}

fn arrows(failure: &Failure, out: &mut Vec<Json>) {
    let events = &failure.trace.events;
    let mut id = 0;
    let mut arrow = |name: &str, from: u32, to: usize| {
        if events[from as usize].thread == events[to].thread {
            return;
        }
        id += 1;
        for (phase, number) in [("s", from as usize), ("f", to)] {
            out.push(json!({
                "ph": phase, "bp": "e", "name": name, "cat": name, "id": id, "pid": PROCESS,
                "tid": events[number].thread, "ts": number * LENGTH + LENGTH / 2,
            }));
        }
    };
    for (number, event) in events.iter().enumerate() {
        if let Some(Write::Event(write)) = event.reads_from {
            arrow("reads-from", write, number);
        }
        for &other in &event.synchronises_with {
            arrow("synchronises-with", other, number);
        }
    }
}
