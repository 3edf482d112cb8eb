//! The diagnosis of a failing execution: its cycles, the happens-before edge that a data race lacks, and repairs for both.

use super::axioms::{StrengthenedExecution, Strengthening};
use super::cycle::{Cycle, PathEdges, Walk, WalkStep, po_pairs, shortest_cycles, shortest_path};
use super::repair::{Repair, RepairGoal, repairs};
use super::{Edge, Graph, acquires, releases};
use crate::failure::{Action, Did, Failure, FaultStep, Kind, Order};

/// Why an execution was possible.
#[derive(Debug, Default)]
pub(crate) struct Diagnosis {
    /// The shortest cycles, each with the repairs that would forbid it.
    pub(crate) cycles: Vec<(Cycle, Vec<Repair>)>,
    /// The data race that the execution failed by.
    pub(crate) race: Option<Race>,
    /// The reads of the cycles and of the race's path whose rf edge does not make the steps around it happen in order.
    pub(crate) unsynchronised_reads: Vec<usize>,
}

/// Two conflicting accesses that happens-before does not order.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// The path in po ∪ rf ∪ sw along which more synchronisation would order the accesses.
    pub(crate) path: Option<Vec<WalkStep>>,
    pub(crate) repairs: Vec<Repair>,
}

/// The number of cycles in a diagnosis; further ones rarely add anything.
const MAX_CYCLES: usize = 2;

/// The diagnosis of a failure's execution; empty if the execution is an interleaving without a race.
///
/// `line` is the line of the program's own code that made an event; none for events of the standard library, which is trusted and
/// not the user's to change.
pub(crate) fn diagnose(
    failure: &Failure,
    graph: &Graph,
    line: impl Fn(usize) -> Option<String>,
) -> Diagnosis {
    let execution = StrengthenedExecution::of(graph, &Strengthening::default());
    let mut diagnosis = Diagnosis::default();
    let mut cycles = shortest_cycles(graph);
    cycles.sort_by_key(|cycle| cycle.steps.len());
    // A cycle that RC11 forbids as recorded is a mistake of the record: nothing follows from it.
    cycles.retain(|cycle| !execution.forbids(&cycle.events()));
    for cycle in cycles.into_iter().take(MAX_CYCLES) {
        let events = cycle.events();
        let repairs = repairs(graph, RepairGoal::Forbid(&events), &events, &cycle.po_pairs(), &line);
        diagnosis.cycles.push((cycle, repairs));
    }
    if let Some((first, second)) = racing_accesses(failure)
        && !execution.orders(first, second)
    {
        let path = shortest_path(graph, first, second, |_| true, PathEdges::PoRfSw);
        let steps = path.clone().unwrap_or_default();
        let events: Vec<usize> = steps.iter().map(|&(event, _)| event).collect();
        let pairs = po_pairs(&steps, Walk::Open);
        let repairs = repairs(graph, RepairGoal::Order(first, second), &events, &pairs, &line);
        diagnosis.race = Some(Race { first, second, path, repairs });
    }
    for (cycle, _) in &diagnosis.cycles {
        diagnosis.unsynchronised_reads.extend(unsynchronised_reads(&execution, &cycle.steps, Walk::Closed));
    }
    if let Some(path) = diagnosis.race.as_ref().and_then(|race| race.path.as_ref()) {
        diagnosis.unsynchronised_reads.extend(unsynchronised_reads(&execution, path, Walk::Open));
    }
    diagnosis
}

/// The reads of a walk that take no part in happens-before: the event before the write in program order does not happen before
/// the event after the read.
fn unsynchronised_reads(execution: &StrengthenedExecution<'_>, steps: &[WalkStep], walk: Walk) -> Vec<usize> {
    let count = steps.len();
    let step = |at: usize| (walk == Walk::Closed || at < count).then(|| steps[at % count]);
    let mut reads = Vec::new();
    for (at, &(write, _)) in steps.iter().enumerate().filter(|(_, step)| step.1 == Edge::Rf) {
        let Some((read, edge_after)) = step(at + 1) else { continue };
        let last = (walk == Walk::Closed).then_some(count - 1);
        let before = match at.checked_sub(1).or(last).map(|before| steps[before]) {
            Some((before, Edge::Po)) => before,
            _ => write,
        };
        let after = match step(at + 2) {
            Some((after, _)) if edge_after == Edge::Po => after,
            _ => read,
        };
        if !execution.orders(before, after) {
            reads.push(read);
        }
    }
    reads
}

/// The two accesses of a data race, as events of the trace.
fn racing_accesses(failure: &Failure) -> Option<(usize, usize)> {
    if failure.kind != Kind::DataRace {
        return None;
    }
    let steps = &failure.fault.as_ref()?.steps;
    let [.., first, second] = steps.as_slice() else { return None };
    let find = |step: &FaultStep| {
        let events = &failure.trace.events;
        events.iter().rposition(|event| event.thread == step.thread && is_step(&event.action, step))
    };
    Some((find(first)?, find(second)?))
}

/// Whether an action is the access or free of a fault's step.
fn is_step(action: &Action, step: &FaultStep) -> bool {
    let is_same_kind = match action {
        Action::Access { kind, .. } => *kind == step.did,
        Action::Load { .. } => step.did == Did::AtomicRead,
        Action::Store { .. } | Action::Rmw { .. } => step.did == Did::AtomicWrite,
        Action::Cas { .. } => matches!(step.did, Did::AtomicRead | Did::AtomicWrite),
        Action::Free { address } => return step.did == Did::Free && *address == step.address,
        _ => false,
    };
    let overlaps = action.place().is_some_and(|place| {
        place.address < step.address + step.size && step.address < place.address + u64::from(place.size)
    });
    is_same_kind && overlaps
}

/// The halves of synchronisation that an rf edge lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingHalf {
    /// Neither is the write released nor the read acquired.
    Both,
    /// The write is not released.
    Release,
    /// The read is not acquired.
    Acquire,
    /// The edge synchronises, but a fence stands on the wrong side of the steps in question.
    Neither,
}

impl Graph {
    /// The halves of synchronisation that the rf edge from a write to a read lacks.
    pub(crate) fn missing_half(&self, write: usize, read: usize) -> MissingHalf {
        match (self.is_released(write), self.is_acquired(read)) {
            (false, false) => MissingHalf::Both,
            (false, true) => MissingHalf::Release,
            (true, false) => MissingHalf::Acquire,
            (true, true) => MissingHalf::Neither,
        }
    }

    /// Whether a read acquires, or an acquire fence of its thread follows it.
    fn is_acquired(&self, read: usize) -> bool {
        let node = &self.nodes[read];
        let later = &self.threads[&node.thread][node.po..];
        node.effect.order().is_some_and(acquires)
            || later.iter().any(|&event| self.is_fence_that(event, acquires))
    }

    /// Whether a write releases, a release fence of its thread precedes it, or it continues a release sequence.
    fn is_released(&self, write: usize) -> bool {
        let node = &self.nodes[write];
        let earlier = &self.threads[&node.thread][..node.po];
        node.effect.order().is_some_and(releases)
            || earlier.iter().any(|&event| self.is_fence_that(event, releases))
            || node.rf.is_some_and(|from| self.is_released(from))
    }

    fn is_fence_that(&self, event: usize, has: fn(Order) -> bool) -> bool {
        let effect = self.nodes[event].effect;
        effect.is_fence() && effect.order().is_some_and(has)
    }
}
