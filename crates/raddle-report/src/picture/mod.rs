//! The execution graph as a picture: what is in it, before anybody decides how it is drawn.
//!
//! Threads are columns, events are boxes, and arrows say what has to do with what. The terminal, DOT and SVG draw the same picture.

mod dot;
mod svg;
mod text;

use std::collections::BTreeSet;
use std::fmt;

use crate::failure::{Action, Failure};
use crate::graph::axioms::{Changes, HappensBefore, Step};
use crate::graph::{Edge, Graph, why};
use crate::terminal::calls::{Calls, Lines, calls};
use crate::terminal::interest::{Interest, interest};
use crate::terminal::places::Places;
use crate::terminal::words;

pub use text::render_graph;

/// The execution graph of a failure in the language of Graphviz.
///
/// # Errors
/// If the failure has no execution graph.
pub fn to_dot(failure: &Failure) -> Result<String, NoGraph> {
    Picture::of(failure).map(|picture| dot::dot(&picture))
}

/// The execution graph of a failure as an SVG image.
///
/// # Errors
/// If the failure has no execution graph.
pub fn to_svg(failure: &Failure) -> Result<String, NoGraph> {
    Picture::of(failure).map(|picture| svg::svg(&picture))
}

/// Why a failure has no execution graph. The message is one sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoGraph {
    /// The failure was found on real threads, where nothing is recorded.
    NoTrace,
    /// The file does not tell which write each read saw.
    NotRecorded,
}

impl fmt::Display for NoGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoGraph::NoTrace => {
                "the failure was found on real threads, where no execution is recorded: run `cargo raddle test` to search \
                 for one"
            }
            NoGraph::NotRecorded => {
                "the file has no execution graph, because it does not say which write each read saw: run the test again \
                 with this version and with `--memory rc11`"
            }
        })
    }
}

impl std::error::Error for NoGraph {}

/// Boxes before the last so many are left out: a picture with more cannot be read.
const MOST_BOXES: usize = 120;

/// What is drawn.
pub(crate) struct Picture {
    pub(crate) title: String,
    /// The threads that have a column, with their names.
    pub(crate) columns: Vec<(u32, String)>,
    /// In the order of the trace.
    pub(crate) boxes: Vec<Item>,
    pub(crate) arrows: Vec<Arrow>,
    /// How many events were left out at the beginning.
    pub(crate) omitted: usize,
}

/// One event.
pub(crate) struct Item {
    pub(crate) column: usize,
    pub(crate) text: String,
    /// The line of code.
    pub(crate) line: Option<String>,
    /// It belongs to what went wrong.
    pub(crate) is_key: bool,
    /// It reads what was there before any event.
    pub(crate) reads_initial: bool,
}

/// How two events belong together; both are numbers of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Kind,
}

/// What an arrow means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// One comes after the other in its thread.
    Program,
    /// The other reads what it wrote.
    Reads,
    /// The other reads what it wrote, and thereby everything before happens before.
    ReadsInOrder,
    /// It happens before the other.
    Synchronises,
    /// The other's write comes right after its own.
    Overwrites,
    /// It does not see the other's write.
    Misses,
    /// Nothing orders them.
    Races,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] = [
        Kind::Program,
        Kind::Reads,
        Kind::ReadsInOrder,
        Kind::Synchronises,
        Kind::Overwrites,
        Kind::Misses,
        Kind::Races,
    ];

    /// What stands beside an arrow.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Kind::Program => "",
            Kind::Reads => "rf",
            Kind::ReadsInOrder => "rf, sw",
            Kind::Synchronises => "sw",
            Kind::Overwrites => "mo",
            Kind::Misses => "misses",
            Kind::Races => "race",
        }
    }

    /// What the legend says.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Kind::Program => "then",
            Kind::Reads => "rf: is read by",
            Kind::ReadsInOrder => "rf, sw: is read by, and happens before",
            Kind::Synchronises => "sw: happens before",
            Kind::Overwrites => "mo: is overwritten by",
            Kind::Misses => "does not see",
            Kind::Races => "race: nothing orders the two",
        }
    }

    /// Its colour; all can be told apart on white.
    pub(crate) fn colour(self) -> &'static str {
        match self {
            Kind::Program => "#9a9a9a",
            Kind::Reads => "#0b7a35",
            Kind::ReadsInOrder | Kind::Synchronises => "#1f5fbf",
            Kind::Overwrites => "#b06a00",
            Kind::Misses | Kind::Races => "#c01818",
        }
    }

    /// Whether it is drawn with dashes.
    pub(crate) fn is_dashed(self) -> bool {
        matches!(self, Kind::Overwrites | Kind::Misses)
    }
}

impl Picture {
    /// The picture of a failure's execution.
    pub(crate) fn of(failure: &Failure) -> Result<Picture, NoGraph> {
        if failure.found_by.is_stress() {
            return Err(NoGraph::NoTrace);
        }
        let graph = Graph::of(failure).ok_or(NoGraph::NotRecorded)?;
        let why = why(failure, &graph);
        let (lines, places) = (Lines::of(&failure.trace), Places::of(failure));
        let events = &failure.trace.events;
        let around: Vec<Calls> = events.iter().map(|event| calls(&failure.trace, event.at, &lines)).collect();

        let mut keys: BTreeSet<usize> = why.knots.iter().flat_map(|(knot, _)| knot.events()).collect();
        if let Some(race) = &why.race {
            keys.extend([race.first, race.second]);
            keys.extend(race.way.iter().flatten().map(|&(event, _)| event));
        }
        let interest = interest(failure, &around, &places);
        let is_drawn = |number: usize| match events[number].action {
            _ if keys.contains(&number) => true,
            Action::Fence { .. } => around[number].in_std().is_none(),
            Action::Begin | Action::End | Action::Yield | Action::Call { .. } | Action::Note { .. } => false,
            _ => interest[number] == Interest::Shown,
        };
        let mut drawn: BTreeSet<usize> = (0..events.len()).filter(|&number| is_drawn(number)).collect();
        // What is read is drawn, too, wherever it comes from.
        drawn.extend(drawn.clone().into_iter().filter_map(|number| graph.nodes[number].rf));
        let mut drawn: Vec<usize> = drawn.into_iter().collect();
        let omitted = drawn.len().saturating_sub(MOST_BOXES);
        let mut at = 0;
        drawn.retain(|number| {
            at += 1;
            at > omitted || keys.contains(number)
        });

        let threads: BTreeSet<u32> = drawn.iter().map(|&number| events[number].thread).collect();
        let columns = threads.iter().map(|&thread| (thread, words::full_name(failure, thread))).collect();
        let boxes = drawn.iter().map(|&number| {
            let (event, around) = (&events[number], &around[number]);
            let locking = around.in_std().and_then(|call| words::locking(call, &event.action, &places));
            Item {
                column: threads.range(..event.thread).count(),
                text: locking.unwrap_or_else(|| words::event_alone(&event.action, &places)),
                line: around.line.clone(),
                is_key: keys.contains(&number),
                reads_initial: graph.nodes[number].reads == Some(0),
            }
        });
        let mut picture = Picture {
            title: failure.test.clone(),
            columns,
            boxes: boxes.collect(),
            arrows: Vec::new(),
            omitted,
        };
        picture.draw_arrows(failure, &graph, &drawn);
        for (knot, _) in &why.knots {
            for (at, &(event, edge)) in knot.steps.iter().enumerate() {
                let next = knot.steps[(at + 1) % knot.steps.len()].0;
                match edge {
                    Edge::Missed => picture.arrow(&drawn, event, next, Kind::Misses),
                    Edge::Overwritten => picture.arrow(&drawn, event, next, Kind::Overwrites),
                    _ => {}
                }
            }
        }
        if let Some(race) = &why.race {
            picture.arrow(&drawn, race.first, race.second, Kind::Races);
        }
        picture.arrows.sort_unstable();
        picture.arrows.dedup();
        Ok(picture)
    }

    fn draw_arrows(&mut self, failure: &Failure, graph: &Graph, drawn: &[usize]) {
        let spawns = |event: usize| matches!(failure.trace.events[event].action, Action::Spawn { .. });
        for thread in graph.threads.values() {
            let own: Vec<usize> = thread.iter().copied().filter(|event| drawn.contains(event)).collect();
            own.windows(2).for_each(|pair| self.arrow(drawn, pair[0], pair[1], Kind::Program));
        }
        let none = Changes::default();
        let hb = HappensBefore::with(graph, &none);
        for (number, node) in graph.nodes.iter().enumerate() {
            let of_thread = |event: usize| graph.nodes[event].thread == node.thread;
            if let Some(from) = node.rf.filter(|&from| !of_thread(from)) {
                let in_order = hb.is(Step::Event(from), Step::Event(number));
                self.arrow(drawn, from, number, if in_order { Kind::ReadsInOrder } else { Kind::Reads });
            }
            // That a thread begins after it was made goes without saying.
            let others = node.after.iter().filter(|&&before| Some(before) != node.rf && !spawns(before));
            for &before in others {
                // What is not drawn is stood for by what comes before it, or after.
                let first = graph.threads[&graph.nodes[before].thread][..=graph.nodes[before].po].iter();
                let first = first.rev().find(|event| drawn.contains(event));
                let then = graph.threads[&node.thread][node.po..].iter().find(|event| drawn.contains(event));
                if let (Some(&first), Some(&then)) = (first, then) {
                    self.arrow(drawn, first, then, Kind::Synchronises);
                }
            }
            if let (Some(place), Some(rank)) = (node.place, node.writes)
                && let Some(next) = graph.write(place, rank + 1).filter(|&next| !of_thread(next))
            {
                self.arrow(drawn, number, next, Kind::Overwrites);
            }
        }
    }

    /// An arrow between two events, if both are drawn.
    fn arrow(&mut self, drawn: &[usize], from: usize, to: usize, kind: Kind) {
        let at = |event: usize| drawn.iter().position(|&other| other == event);
        if let (Some(from), Some(to)) = (at(from), at(to)) {
            self.arrows.push(Arrow { from, to, kind });
        }
    }
}
