//! The contents of a drawing, independent of how it is drawn.

use std::collections::BTreeSet;

use super::NoGraph;
use crate::failure::{Action, Failure};
use crate::graph::axioms::{StrengthenedExecution, Strengthening};
use crate::graph::diagnosis::Diagnosis;
use crate::graph::{Edge, Graph};
use crate::narrative::calls::{Calls, Lines, calls};
use crate::narrative::diagnose;
use crate::narrative::interest::{Interest, interest};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::words::{self, Spelling};

/// The largest number of boxes, except for the events of the diagnosis: a larger drawing cannot be read.
const MAX_BOXES: usize = 120;

/// A drawing of an execution graph.
pub(super) struct Picture {
    pub(super) title: String,
    /// The threads that have a column, with their names.
    pub(super) columns: Vec<(u32, String)>,
    /// The drawn events, in the order of the trace.
    pub(super) boxes: Vec<EventBox>,
    pub(super) arrows: Vec<Arrow>,
    /// The number of events left out before the first box.
    pub(super) omitted: usize,
}

/// The box of an event.
pub(super) struct EventBox {
    pub(super) column: usize,
    pub(super) text: String,
    /// The line of source code.
    pub(super) line: Option<String>,
    /// Whether the event belongs to the diagnosis.
    pub(super) is_key: bool,
    /// Whether the event reads the initial value of its location.
    pub(super) reads_initial: bool,
}

/// An arrow between two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: ArrowKind,
}

/// The relation that an arrow stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArrowKind {
    /// Program order.
    Po,
    /// Reads-from without synchronisation.
    Rf,
    /// Reads-from that synchronises.
    RfSw,
    /// Synchronizes-with, by something other than a read of the location.
    Sw,
    /// Modification order.
    Mo,
    /// From-read.
    Fr,
    /// A data race: the two accesses conflict and happens-before does not order them.
    Race,
}

impl ArrowKind {
    pub(super) const ALL: [ArrowKind; 7] = [
        ArrowKind::Po,
        ArrowKind::Rf,
        ArrowKind::RfSw,
        ArrowKind::Sw,
        ArrowKind::Mo,
        ArrowKind::Fr,
        ArrowKind::Race,
    ];

    /// The text beside an arrow.
    pub(super) fn label(self) -> &'static str {
        match self {
            ArrowKind::Po => "",
            ArrowKind::Rf => "rf",
            ArrowKind::RfSw => "rf, sw",
            ArrowKind::Sw => "sw",
            ArrowKind::Mo => "mo",
            ArrowKind::Fr => "misses",
            ArrowKind::Race => "race",
        }
    }

    /// The text of the legend.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            ArrowKind::Po => "then",
            ArrowKind::Rf => "rf: is read by",
            ArrowKind::RfSw => "rf, sw: is read by, and happens before",
            ArrowKind::Sw => "sw: happens before",
            ArrowKind::Mo => "mo: is overwritten by",
            ArrowKind::Fr => "does not see",
            ArrowKind::Race => "race: nothing orders the two",
        }
    }

    /// The colour, distinct from the others on white.
    pub(super) fn colour(self) -> &'static str {
        match self {
            ArrowKind::Po => "#9a9a9a",
            ArrowKind::Rf => "#0b7a35",
            ArrowKind::RfSw | ArrowKind::Sw => "#1f5fbf",
            ArrowKind::Mo => "#b06a00",
            ArrowKind::Fr | ArrowKind::Race => "#c01818",
        }
    }

    pub(super) fn is_dashed(self) -> bool {
        matches!(self, ArrowKind::Mo | ArrowKind::Fr)
    }
}

impl Picture {
    /// The drawing of a failure's execution.
    pub(super) fn of(failure: &Failure) -> Result<Picture, NoGraph> {
        if failure.found_by.is_stress() {
            return Err(NoGraph::NoTrace);
        }
        let graph = Graph::of(failure).ok_or(NoGraph::NotRecorded)?;
        let diagnosis = diagnose(failure, &graph);
        let (lines, locations) = (Lines::of(&failure.trace), Locations::of(failure));
        let events = &failure.trace.events;
        let around: Vec<Calls> = events.iter().map(|event| calls(&failure.trace, event.at, &lines)).collect();
        let keys = key_events(&diagnosis);
        let (drawn, omitted) = drawn_events(failure, &graph, &around, &locations, &keys);

        let threads: BTreeSet<u32> = drawn.iter().map(|&number| events[number].thread).collect();
        let columns = threads.iter().map(|&thread| (thread, words::full_name(failure, thread))).collect();
        let boxes = drawn.iter().map(|&number| {
            let (event, around) = (&events[number], &around[number]);
            EventBox {
                column: threads.range(..event.thread).count(),
                text: words::event(&event.action, around, &Naming::of(&locations), Spelling::Alone),
                line: around.line.clone(),
                is_key: keys.contains(&number),
                reads_initial: graph.nodes[number].read_index == Some(0),
            }
        });
        let mut picture = Picture {
            title: failure.test.clone(),
            columns,
            boxes: boxes.collect(),
            arrows: Vec::new(),
            omitted,
        };
        picture.add_relations(failure, &graph, &drawn);
        picture.add_diagnosis(&diagnosis, &drawn);
        picture.arrows.sort_unstable();
        picture.arrows.dedup();
        Ok(picture)
    }

    /// Adds po, rf, sw and immediate mo edges.
    fn add_relations(&mut self, failure: &Failure, graph: &Graph, drawn: &[usize]) {
        let is_spawn = |event: usize| matches!(failure.trace.events[event].action, Action::Spawn { .. });
        for thread in graph.threads.values() {
            let own: Vec<usize> = thread.iter().copied().filter(|event| drawn.contains(event)).collect();
            own.windows(2).for_each(|pair| self.add_arrow(drawn, pair[0], pair[1], ArrowKind::Po));
        }
        let execution = StrengthenedExecution::of(graph, &Strengthening::default());
        for (number, node) in graph.nodes.iter().enumerate() {
            let is_of_thread = |event: usize| graph.nodes[event].thread == node.thread;
            if let Some(from) = node.rf.filter(|&from| !is_of_thread(from)) {
                let synchronises = execution.orders(from, number);
                let kind = if synchronises { ArrowKind::RfSw } else { ArrowKind::Rf };
                self.add_arrow(drawn, from, number, kind);
            }
            // The sw edge from a spawn to the beginning of its thread is left out as obvious.
            let others = node.sw.iter().filter(|&&before| Some(before) != node.rf && !is_spawn(before));
            for &before in others {
                // Events that are not drawn are represented by their drawn neighbours in program order.
                let first = graph.threads[&graph.nodes[before].thread][..=graph.nodes[before].po].iter();
                let first = first.rev().find(|event| drawn.contains(event));
                let then = graph.threads[&node.thread][node.po..].iter().find(|event| drawn.contains(event));
                if let (Some(&first), Some(&then)) = (first, then) {
                    self.add_arrow(drawn, first, then, ArrowKind::Sw);
                }
            }
            if let (Some(location), Some(index)) = (node.location, node.write_index)
                && let Some(next) = graph.write(location, index + 1).filter(|&next| !is_of_thread(next))
            {
                self.add_arrow(drawn, number, next, ArrowKind::Mo);
            }
        }
    }

    /// Adds the mo and fr edges of the cycles, and the race.
    fn add_diagnosis(&mut self, diagnosis: &Diagnosis, drawn: &[usize]) {
        for (cycle, _) in &diagnosis.cycles {
            for (at, &(event, edge)) in cycle.steps.iter().enumerate() {
                let next = cycle.steps[(at + 1) % cycle.steps.len()].0;
                match edge {
                    Edge::Fr => self.add_arrow(drawn, event, next, ArrowKind::Fr),
                    Edge::Mo => self.add_arrow(drawn, event, next, ArrowKind::Mo),
                    Edge::Po | Edge::Rf | Edge::Sw => {}
                }
            }
        }
        if let Some(race) = &diagnosis.race {
            self.add_arrow(drawn, race.first, race.second, ArrowKind::Race);
        }
    }

    /// Adds an arrow between two events, if both are drawn.
    fn add_arrow(&mut self, drawn: &[usize], from: usize, to: usize, kind: ArrowKind) {
        let at = |event: usize| drawn.iter().position(|&other| other == event);
        if let (Some(from), Some(to)) = (at(from), at(to)) {
            self.arrows.push(Arrow { from, to, kind });
        }
    }
}

/// The events of the diagnosis.
fn key_events(diagnosis: &Diagnosis) -> BTreeSet<usize> {
    let mut keys: BTreeSet<usize> = diagnosis.cycles.iter().flat_map(|(cycle, _)| cycle.events()).collect();
    if let Some(race) = &diagnosis.race {
        keys.extend([race.first, race.second]);
        keys.extend(race.path.iter().flatten().map(|&(event, _)| event));
    }
    keys
}

/// The events that have a box, and the number of events left out because there are too many.
fn drawn_events(
    failure: &Failure,
    graph: &Graph,
    around: &[Calls],
    locations: &Locations,
    keys: &BTreeSet<usize>,
) -> (Vec<usize>, usize) {
    let events = &failure.trace.events;
    let interest = interest(failure, around, locations);
    let is_drawn = |number: usize| match events[number].action {
        _ if keys.contains(&number) => true,
        Action::Fence { .. } => around[number].in_std().is_none(),
        Action::Begin | Action::End | Action::Yield | Action::Call { .. } | Action::Note { .. } => false,
        _ => interest[number] == Interest::Shown,
    };
    let mut drawn: BTreeSet<usize> = (0..events.len()).filter(|&number| is_drawn(number)).collect();
    // The source of a drawn read is drawn, too.
    drawn.extend(drawn.clone().into_iter().filter_map(|number| graph.nodes[number].rf));
    let mut drawn: Vec<usize> = drawn.into_iter().collect();
    let omitted = drawn.len().saturating_sub(MAX_BOXES);
    let mut at = 0;
    drawn.retain(|number| {
        at += 1;
        at > omitted || keys.contains(number)
    });
    (drawn, omitted)
}
