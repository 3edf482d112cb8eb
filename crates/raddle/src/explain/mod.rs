//! The translation of a recorded execution into a [`Failure`]: addresses become source lines, functions and names.
//!
//! | module | idea |
//! |---|---|
//! | [`outcome`] | the class of the failure and its message |
//! | [`action`] | events |
//! | [`stack`] | call stacks |
//! | [`threads`], [`holders`] | threads at the end, what they wait for, who holds it |
//! | [`fault`] | memory errors and data races |
//! | [`links`](mod@links) | edges between events |
//! | [`scenario`] | operations |

mod action;
mod fault;
mod holders;
mod links;
mod outcome;
mod scenario;
mod stack;
mod threads;

use std::collections::{BTreeMap, HashMap};

use raddle_engine::exploration::Found;
use raddle_engine::trace::Trace;
use raddle_reflect::Program;
use raddle_report::failure::{self, Failure, FoundBy, Frame, Schedule, StackNode};
use raddle_report::graph::linearise;

use self::holders::Holders;
use self::links::links;
use crate::build;
use crate::search::snapshots::Snapshots;

pub(crate) use self::outcome::{kind, thread};

/// The size of a futex word in bytes.
const FUTEX_SIZE: u8 = 4;

/// The failure of an execution, with source lines, functions and names from debug information.
pub(crate) fn explain(
    found: &Found,
    trace: &Trace,
    snapshots: Snapshots,
    program: Option<&Program>,
    test: String,
) -> Failure {
    let mut explainer = Explainer::new(program, snapshots.names);
    let mut events = Vec::with_capacity(trace.events.len());
    let changes = snapshots.changes.into_iter().chain(std::iter::repeat_with(Vec::new));
    for ((event, links), changes) in trace.events.iter().zip(links(trace)).zip(changes) {
        events.push(failure::Event { changes, ..explainer.event(event, links) });
    }
    let holders = Holders::of(trace);
    let threads = explainer.threads(found, trace, &holders);
    let fault = explainer.fault(&found.outcome, trace);
    let place = fault.as_ref().and_then(|fault| fault.place.as_ref());
    let message = outcome::message(found, &threads, place);
    let message = outcome::cause(&events, &message).map_or(message, str::to_owned);
    let last_stack = explainer.functions(events.last().and_then(|event| event.at));
    let message = outcome::out_of_memory(found, &last_stack).map_or(message, str::to_owned);
    let mut failure = Failure {
        format: failure::FORMAT,
        test,
        kind: kind(&found.outcome).expect("only failures of the code under test are explained"),
        message,
        certainty: outcome::certainty(found),
        thread: thread(&found.outcome).map(Into::into),
        build: build::identity(program),
        found_by: FoundBy::default(),
        schedule: Schedule(found.schedule.threads.clone()),
        look_back: Schedule(found.schedule.mo_offsets.clone()),
        counts: Schedule(found.schedule.counts.clone()),
        fair_since: found.schedule.fair_since,
        random: found.schedule.random,
        threads,
        scenario: scenario::of(trace),
        reasons: Vec::new(),
        fault,
        trace: failure::Trace {
            events,
            stacks: explainer.stacks,
            frames: explainer.frames,
            omitted: trace.omitted,
        },
        objects: snapshots.objects,
        point_of_no_return: None,
        nearest_pass: None,
        file: None,
    };
    linearise(&mut failure);
    failure
}

/// The state of a translation: interned frames and stacks, and the names of locations.
struct Explainer<'a> {
    program: Option<&'a Program>,
    frames: Vec<Frame>,
    stacks: Vec<StackNode>,
    frame_ids: HashMap<Frame, u32>,
    stack_ids: HashMap<StackNode, u32>,
    /// The frames of each code address, innermost inlined one first.
    symbols: HashMap<usize, Vec<u32>>,
    /// The latest name of each address.
    names: HashMap<usize, String>,
    /// The names of locations in objects, which are better.
    in_objects: BTreeMap<usize, String>,
}

impl<'a> Explainer<'a> {
    fn new(program: Option<&'a Program>, in_objects: BTreeMap<usize, String>) -> Explainer<'a> {
        Explainer {
            program,
            frames: Vec::new(),
            stacks: Vec::new(),
            frame_ids: HashMap::new(),
            stack_ids: HashMap::new(),
            symbols: HashMap::new(),
            names: HashMap::new(),
            in_objects,
        }
    }
}
