//! The view model of the page: what the narrative says about a failure, as data beside the failure itself.

use serde::Serialize;

use super::sources::Sources;
use crate::failure::{Failure, Kind, Thread, ThreadEnd};
use crate::graph::Graph;
use crate::narrative::calls::{Calls, Lines, calls, short};
use crate::narrative::explanation::{ExplainedWalk, Explanation, explanation};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::rows::{Row, RowKind, rows};
use crate::narrative::words::{self, Spelling};
use crate::narrative::{ending, starter};
use crate::picture::to_svg;

/// The separator of functions in a row for several calls.
const INSIDE: &str = "›";
/// The largest drawing that is embedded, in bytes.
const MAX_DRAWING: usize = 200 << 10;

/// The failure in words. Indices refer to the lists of the failure.
#[derive(Debug, Serialize)]
pub(super) struct View<'a> {
    class: &'static str,
    /// The thread that failed, and the line of the user's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    scene: Option<(u32, String)>,
    threads: Vec<ThreadView>,
    #[serde(flatten)]
    trace: TraceView,
    /// The cycle of threads that wait for each other, each with the lock that it waits for.
    wait_cycle: Vec<(u32, Option<String>)>,
    /// The steps of the fault, in the same order.
    fault_steps: Vec<String>,
    /// Whether weak memory was explored and has no part in the failure.
    is_interleaving: bool,
    walks: Vec<WalkView>,
    /// A drawing of the execution graph, if weak memory or a data race is part of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawing: Option<String>,
    /// The passing execution, if the failure has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<TraceView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
    sources: &'a Sources,
}

/// A trace in words.
#[derive(Debug, Serialize)]
pub struct TraceView {
    /// Each event.
    pub texts: Vec<String>,
    /// For each stack, its innermost line of the user's code as people write it (`queue.rs:12`), and its frame. The line is left
    /// out for stacks of the standard library alone.
    pub spots: Vec<Option<Spot>>,
    /// The functions of the frames, short.
    pub functions: Vec<String>,
    /// The names of the accessed locations, by address.
    pub places: Vec<(u64, String)>,
    /// The events that each event synchronises with, those that spawn its thread among them.
    pub synchronises: Vec<Vec<usize>>,
    /// The rows of the interleaving.
    pub rows: Vec<RowView>,
}

/// A line of the user's code.
#[derive(Clone, Debug, Serialize)]
pub struct Spot {
    /// The line as people write it: `queue.rs:12`.
    pub line: String,
    /// The frame with the file and line.
    pub frame: u32,
}

#[derive(Debug, Serialize)]
struct ThreadView {
    tag: String,
    name: String,
    /// The state at the end, for threads that have not finished.
    #[serde(skip_serializing_if = "String::is_empty")]
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<String>,
}

/// A row of the interleaving.
#[derive(Debug, Serialize)]
pub struct RowView {
    /// `call`, `operation`, `return`, `event`, `folded`, `panic` or `switch`.
    pub kind: &'static str,
    /// The thread of the row; of a switch, the thread that runs after it.
    pub thread: u32,
    /// The number of enclosing calls that have rows.
    pub depth: usize,
    /// The innermost call, if it has no row of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The row in words.
    pub text: String,
    /// The line of source code: `queue.rs:12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The first event of the row, and the one after the last.
    pub span: (usize, usize),
}

#[derive(Debug, Serialize)]
struct WalkView {
    opening: String,
    steps: Vec<StepView>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repairs: Option<String>,
}

#[derive(Debug, Serialize)]
struct StepView {
    event: usize,
    thread: u32,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    relation: String,
}

/// The class of a failure in words.
pub(super) fn class(failure: &Failure) -> &'static str {
    ending::class(failure.kind)
}

impl<'a> View<'a> {
    pub(super) fn of(failure: &Failure, sources: &'a Sources) -> View<'a> {
        let lines = Lines::of(&failure.trace);
        let locations = Locations::of(failure);
        let naming = Naming::of(&locations);
        let thread = |(number, thread): (usize, &Thread)| {
            let number = number as u32;
            let is_unfinished = !matches!(thread.end, ThreadEnd::Finished | ThreadEnd::Panicked);
            ThreadView {
                tag: words::tag(number),
                name: words::full_name(failure, number),
                state: ending::state(failure, number, &thread.end, &naming),
                position: is_unfinished
                    .then(|| ending::position(failure, number, &thread.end, &lines))
                    .flatten(),
            }
        };
        let steps = failure
            .fault
            .iter()
            .flat_map(|fault| fault.steps.iter().map(move |step| ending::fault_step(fault, step)));
        let explanation = explanation(failure);
        let is_interleaving = matches!(explanation, Some(Explanation::Interleaving));
        let walks: Vec<WalkView> = match explanation {
            Some(Explanation::Walks(walks)) => walks.into_iter().map(WalkView::of).collect(),
            _ => Vec::new(),
        };
        let drawing = (!walks.is_empty()).then(|| to_svg(failure).ok()).flatten();
        View {
            class: class(failure),
            scene: ending::scene(failure),
            threads: failure.threads.iter().enumerate().map(thread).collect(),
            trace: TraceView::of(failure, &lines),
            wait_cycle: ending::wait_cycle(failure, &naming).unwrap_or_default(),
            fault_steps: steps.collect(),
            is_interleaving,
            walks,
            drawing: drawing.filter(|drawing| drawing.len() <= MAX_DRAWING),
            pass: passing(failure).map(|pass| TraceView::of(&pass, &Lines::of(&pass.trace))),
            replay: failure.file.as_deref().and_then(|file| ending::replay_command(failure, file)),
            sources,
        }
    }
}

impl TraceView {
    /// The trace of a failure in words.
    pub fn of_failure(failure: &Failure) -> TraceView {
        TraceView::of(failure, &Lines::of(&failure.trace))
    }

    fn of(failure: &Failure, lines: &Lines) -> TraceView {
        let trace = &failure.trace;
        let locations = Locations::of(failure);
        let naming = Naming::of(&locations);
        let stacks = 0..trace.stacks.len() as u32;
        let around: Vec<Calls> = stacks.clone().map(|at| calls(trace, Some(at), lines)).collect();
        let none = Calls::default();
        let texts = trace.events.iter().map(|event| {
            let around = event.at.and_then(|at| around.get(at as usize)).unwrap_or(&none);
            words::event(&event.action, around, &naming, Spelling::Interleaved)
        });
        let own_frame = |at: u32| {
            let mut next = Some(at);
            while let Some(node) = next.and_then(|index| trace.stacks.get(index as usize)) {
                if trace.frames.get(node.frame as usize).is_some_and(|frame| !frame.internal) {
                    return Some(node.frame);
                }
                next = node.caller.filter(|&caller| Some(caller) < next);
            }
            None
        };
        let spots = stacks
            .zip(&around)
            .map(|(at, around)| Some(Spot { line: around.line.clone()?, frame: own_frame(at)? }));
        let mut places: Vec<(u64, String)> = Vec::new();
        for place in trace.events.iter().filter_map(|event| event.action.place()) {
            places.push((place.address, naming.name(place)));
        }
        places.sort_unstable();
        places.dedup();
        TraceView {
            texts: texts.collect(),
            spots: spots.collect(),
            functions: trace.frames.iter().map(|frame| short(&frame.function)).collect(),
            places,
            synchronises: Graph::as_recorded(failure).nodes.into_iter().map(|node| node.sw).collect(),
            rows: row_views(failure, &locations),
        }
    }
}

/// The rows of the interleaving, by the events of the whole trace: those of a scenario leave out the thread that starts the others.
fn row_views(failure: &Failure, locations: &Locations) -> Vec<RowView> {
    let Some(shown) = starter::without_starter(failure) else {
        return rows(failure, locations, INSIDE).into_iter().map(|row| RowView::of(row, |at| at)).collect();
    };
    let (kept, end) = (starter::kept(failure), failure.trace.events.len());
    let original = |at: usize| kept.get(at).copied().unwrap_or(end);
    rows(&shown, &Locations::of(&shown), INSIDE).into_iter().map(|row| RowView::of(row, original)).collect()
}

impl RowView {
    /// `original` is the number of an event in the whole trace.
    fn of(row: Row, original: impl Fn(usize) -> usize) -> RowView {
        let kind = match row.kind {
            RowKind::Call => "call",
            RowKind::Operation => "operation",
            RowKind::Return => "return",
            RowKind::Event => "event",
            RowKind::Folded => "folded",
            RowKind::Panic => "panic",
            RowKind::Switch => "switch",
        };
        let first = original(row.span.start);
        let last = if row.span.is_empty() { first } else { original(row.span.end - 1) + 1 };
        RowView {
            kind,
            thread: row.thread,
            depth: row.depth,
            within: row.within,
            text: row.text,
            line: row.line,
            span: (first, last),
        }
    }
}

impl WalkView {
    fn of(walk: ExplainedWalk) -> WalkView {
        let steps = walk.steps.into_iter().map(|step| StepView {
            event: step.event,
            thread: step.thread,
            text: step.text,
            line: step.line,
            relation: step.relation,
        });
        WalkView { opening: walk.opening, steps: steps.collect(), notes: walk.notes, repairs: walk.repairs }
    }
}

/// The nearest passing execution, in the form of a failure that has not happened.
fn passing(failure: &Failure) -> Option<Failure> {
    let pass = failure.nearest_pass.as_ref()?;
    let mut passing = failure.clone();
    passing.trace = pass.trace.clone();
    passing.kind = Kind::Panic;
    passing.fault = None;
    passing.scenario = pass.scenario.clone().or(passing.scenario);
    for thread in &mut passing.threads {
        thread.end = ThreadEnd::Finished;
    }
    Some(passing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        serde_json::from_str(include_str!("../../tests/example.json")).unwrap()
    }

    fn view(failure: &Failure) -> serde_json::Value {
        serde_json::to_value(View::of(failure, &Sources::default())).unwrap()
    }

    #[test]
    fn events_have_words_lines_and_names() {
        let view = view(&failure());
        assert_eq!(view["class"], "panic");
        assert_eq!(view["texts"][7], "counter.value.store(1, Release)");
        assert_eq!(view["spots"][11], serde_json::json!({"line": "lib.rs:8", "frame": 7}));
        assert_eq!(view["places"], serde_json::json!([[34808, "counter.value"]]));
        assert_eq!(view["functions"][4], "Counter::inc");
        assert_eq!(view["threads"][0]["name"], "T0 main");
    }

    #[test]
    fn rows_know_their_events() {
        let failure = failure();
        let view = view(&failure);
        for row in view["rows"].as_array().unwrap() {
            let first = row["span"][0].as_u64().unwrap() as usize;
            assert_eq!(failure.trace.events[first].thread, row["thread"].as_u64().unwrap() as u32, "{row}");
            if row["kind"] == "event" && row["within"].is_null() {
                assert_eq!(row["text"], view["texts"][first]);
            }
        }
    }

    #[test]
    fn rows_of_scenarios_have_the_numbers_of_the_whole_trace() {
        let mut failure = failure();
        failure.scenario =
            Some(serde_json::from_value(serde_json::json!({"parallel": [], "code": "x"})).unwrap());
        let view = view(&failure);
        let rows = view["rows"].as_array().unwrap();
        let store = rows.iter().find(|row| row["text"] == "counter.value.store(1, Release)").unwrap();
        assert_eq!(store["span"], serde_json::json!([7, 8]));
        assert!(rows.iter().all(|row| row["text"] != "spawns T1"));
    }

    #[test]
    fn a_passing_execution_has_rows_of_its_own() {
        let mut failure = failure();
        let mut trace = failure.trace.clone();
        trace.events.truncate(5);
        let pass = serde_json::json!({"common": 5, "common_of_pass": 5, "failing_thread": 2, "passing_thread": 1, "schedule": "0x3", "trace": trace});
        failure.nearest_pass = serde_json::from_value(pass).unwrap();
        let view = view(&failure);
        assert_eq!(view["pass"]["texts"].as_array().unwrap().len(), 5);
        assert!(!view["pass"]["rows"].as_array().unwrap().is_empty());
    }
}
