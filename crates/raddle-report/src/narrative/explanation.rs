//! The diagnosis of an execution in words: the steps that no order explains, the missing synchronisation, the repairs.

use super::calls::{Lines, calls};
use super::diagnose;
use super::locations::{Locations, Naming};
use super::words::{self, Spelling};
use crate::failure::Failure;
use crate::graph::cycle::{Walk, WalkStep};
use crate::graph::diagnosis::{Diagnosis, MissingHalf, Race};
use crate::graph::repair::{Change, Repair};
use crate::graph::{Edge, Effect, Graph};

/// The note on a store that a later load of another location overtakes.
const STORE_LOAD_NOTE: &str = "Only SeqCst keeps a store before a later load of another place.";

/// The reason why an execution was possible.
#[derive(Debug)]
pub(crate) enum Explanation {
    /// The execution is an interleaving, although weak memory was explored.
    Interleaving,
    /// The cycles of the execution and its data race, each by itself.
    Walks(Vec<ExplainedWalk>),
}

/// A cycle or path through the execution, in words.
#[derive(Debug)]
pub(crate) struct ExplainedWalk {
    pub(crate) opening: String,
    pub(crate) steps: Vec<ExplainedStep>,
    pub(crate) notes: Vec<String>,
    /// The memory orders and fences that would have forbidden the execution, in a sentence.
    pub(crate) repairs: Option<String>,
}

/// A step of a walk.
#[derive(Debug)]
pub(crate) struct ExplainedStep {
    #[cfg_attr(
        not(feature = "html"),
        expect(dead_code, reason = "the page leads to events, the terminal does not")
    )]
    pub(crate) event: usize,
    pub(crate) thread: u32,
    pub(crate) text: String,
    /// The source line.
    pub(crate) line: Option<String>,
    /// The relation to the step before, and of the last step of a cycle to the first; empty for the first step.
    pub(crate) relation: String,
}

/// The explanation of a failing execution; none if there is nothing to explain.
pub(crate) fn explanation(failure: &Failure) -> Option<Explanation> {
    let graph = Graph::of(failure)?;
    let diagnosis = diagnose(failure, &graph);
    if diagnosis.cycles.is_empty() && diagnosis.race.is_none() {
        let is_weak = failure.found_by.memory.as_deref() == Some("rc11");
        let is_interleaving = is_weak && failure.trace.omitted == 0 && graph.is_linear();
        return is_interleaving.then_some(Explanation::Interleaving);
    }
    let explainer = Explainer {
        failure,
        graph: &graph,
        diagnosis: &diagnosis,
        locations: Locations::of(failure),
        lines: Lines::of(&failure.trace),
    };
    let mut walks = Vec::new();
    for (number, (cycle, repairs)) in diagnosis.cycles.iter().enumerate() {
        let opening = match number {
            0 => "No order of these steps explains what they read and wrote:",
            _ => "Nor of these:",
        };
        walks.push(ExplainedWalk {
            opening: opening.to_owned(),
            steps: explainer.steps(&cycle.steps, Walk::Closed),
            notes: explainer.notes(&cycle.steps, Walk::Closed),
            repairs: Some(explainer.repairs(repairs, "would have ruled this out")),
        });
    }
    walks.extend(diagnosis.race.as_ref().map(|race| explainer.race(race)));
    Some(Explanation::Walks(walks))
}

struct Explainer<'a> {
    failure: &'a Failure,
    graph: &'a Graph,
    diagnosis: &'a Diagnosis,
    locations: Locations,
    lines: Lines,
}

impl Explainer<'_> {
    fn race(&self, race: &Race) -> ExplainedWalk {
        let thread = |event: usize| words::tag(self.graph.nodes[event].thread);
        let Some(path) = &race.path else {
            let (first, second) = (thread(race.first), thread(race.second));
            let opening = format!(
                "{second} has read nothing that {first} wrote after its access, so that no memory order could order the \
                 two: one of them has to wait for the other, by a lock for example."
            );
            return ExplainedWalk { opening, steps: Vec::new(), notes: Vec::new(), repairs: None };
        };
        ExplainedWalk {
            opening: "Along this way the two accesses could be ordered, but are not:".to_owned(),
            steps: self.steps(path, Walk::Open),
            notes: self.notes(path, Walk::Open),
            repairs: Some(self.repairs(&race.repairs, "would have ordered them")),
        }
    }

    fn steps(&self, steps: &[WalkStep], walk: Walk) -> Vec<ExplainedStep> {
        let step = |at: usize| {
            let event = steps[at].0;
            ExplainedStep {
                event,
                thread: self.graph.nodes[event].thread,
                text: self.event(event),
                line: self.line(event),
                relation: self.relation(steps, walk, at),
            }
        };
        (0..steps.len()).map(step).collect()
    }

    /// The relation of a step to the one before it, and of the last step of a cycle to the first.
    fn relation(&self, steps: &[WalkStep], walk: Walk, at: usize) -> String {
        let event = steps[at].0;
        let mut relation = match at.checked_sub(1).map(|before| steps[before].1) {
            None => String::new(),
            Some(Edge::Po) => "comes after that".to_owned(),
            Some(Edge::Rf) if self.is_unsynchronised(event) => {
                "reads that, and does not synchronise".to_owned()
            }
            Some(Edge::Rf) => "reads that".to_owned(),
            Some(Edge::Mo) => "overwrites that".to_owned(),
            Some(Edge::Fr) => "is not seen by that".to_owned(),
            Some(Edge::Sw) => "is synchronised with that".to_owned(),
        };
        if walk == Walk::Closed && at + 1 == steps.len() {
            relation.push_str(match steps[at].1 {
                Edge::Fr => ", and does not see the first",
                _ => ", and is overwritten by the first",
            });
        }
        relation
    }

    /// The missing half of each unsynchronised rf edge, and a note on stores that loads overtake.
    fn notes(&self, steps: &[WalkStep], walk: Walk) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for at in 0..steps.len() {
            let (event, edge) = steps[at];
            let next = match steps.get(at + 1) {
                Some(&(next, _)) => next,
                None if walk == Walk::Closed => steps[0].0,
                None => break,
            };
            let note = match edge {
                Edge::Rf if self.is_unsynchronised(next) => self.missing_synchronisation(event, next),
                Edge::Po if self.is_store_then_load(event, next) => STORE_LOAD_NOTE.to_owned(),
                _ => continue,
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        // With an rf edge in the walk, synchronisation is missing, and the other note would distract.
        if notes.len() > 1 && steps.iter().any(|step| step.1 == Edge::Rf) {
            notes.retain(|note| note != STORE_LOAD_NOTE);
        }
        notes
    }

    /// The sentence on the half of synchronisation that an rf edge lacks.
    fn missing_synchronisation(&self, write: usize, read: usize) -> String {
        let noun_of = |event: usize| noun(self.graph.nodes[event].effect);
        let named = |event: usize| match self.line(event) {
            Some(line) => format!("the {} at {line}", noun_of(event)),
            None => format!("T{}'s {}", self.graph.nodes[event].thread, noun_of(event)),
        };
        let write_is = || format!("{} is {}", named(write), self.order(write));
        let missing = match self.graph.missing_half(write, read) {
            MissingHalf::Both => format!("{}, and so is the {}", write_is(), noun_of(read)),
            MissingHalf::Release => format!("{}, and no fence before it releases", write_is()),
            MissingHalf::Acquire => format!("it is {}, and no fence after it acquires", self.order(read)),
            MissingHalf::Neither => "there is synchronisation, but not around these steps".to_owned(),
        };
        format!("{} does not synchronise with what it reads: {missing}.", capital(&named(read)))
    }

    fn repairs(&self, repairs: &[Repair], effect: &str) -> String {
        let texts: Vec<String> = repairs.iter().map(|repair| self.repair(repair)).collect();
        match texts.as_slice() {
            [] => "No one or two stronger memory orders or fences at these steps would have ruled this out."
                .to_owned(),
            [one] => format!("{} {effect}.", capital(one)),
            [one, others @ ..] => format!("{} {effect}; so would {}.", capital(one), others.join(", or ")),
        }
    }

    /// A repair in words. Changes to the same order share one phrase.
    fn repair(&self, repair: &Repair) -> String {
        let mut phrases: Vec<(String, Vec<String>)> = Vec::new();
        for change in repair {
            let (opening, site) = match change {
                Change::Order { events, order } => {
                    let noun = noun(self.graph.nodes[events[0]].effect);
                    let line = self.line(events[0]).unwrap_or_default();
                    (format!("{} for", words::order(*order)), format!("the {noun} at {line}"))
                }
                Change::Fence { after, before, order } => {
                    let [from, to] = [*after, before[0]].map(|event| self.line(event).unwrap_or_default());
                    (format!("a fence({})", words::order(*order)), format!("between {from} and {to}"))
                }
            };
            match phrases.iter_mut().find(|phrase| phrase.0 == opening) {
                Some(phrase) => phrase.1.push(site),
                None => phrases.push((opening, vec![site])),
            }
        }
        let phrases: Vec<String> =
            phrases.into_iter().map(|(opening, sites)| format!("{opening} {}", list(&sites))).collect();
        list(&phrases)
    }

    fn is_unsynchronised(&self, read: usize) -> bool {
        self.diagnosis.unsynchronised_reads.contains(&read)
    }

    fn is_store_then_load(&self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.graph.nodes[first], &self.graph.nodes[second]);
        first.write_index.is_some()
            && second.read_index.is_some()
            && second.write_index.is_none()
            && first.location != second.location
    }

    fn event(&self, event: usize) -> String {
        let event = &self.failure.trace.events[event];
        let around = calls(&self.failure.trace, event.at, &self.lines);
        words::event(&event.action, &around, &Naming::of(&self.locations), Spelling::Alone)
    }

    fn line(&self, event: usize) -> Option<String> {
        calls(&self.failure.trace, self.failure.trace.events[event].at, &self.lines).line
    }

    fn order(&self, event: usize) -> &'static str {
        self.graph.nodes[event].effect.order().map_or("not ordered", words::order)
    }
}

fn noun(effect: Effect) -> &'static str {
    match effect {
        Effect::Load(_) => "load",
        Effect::Store(_) => "store",
        Effect::Rmw(_) => "read-modify-write",
        Effect::Fence(_) => "fence",
        Effect::None => "step",
    }
}

/// An enumeration: `a`, `a and b`, `a, b and c`.
fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
