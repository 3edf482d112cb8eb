//! Why a failing execution was possible: what in it no order of events explains, what a race lacks, and what would rule it out.

use super::Graph;
use super::axioms::{Changes, HappensBefore, Step, acquires, releases};
use super::cure::{Cure, Ill, cures};
use super::knot::{Knot, Ways, knots, pairs, path};
use super::{Edge, Effect};
use crate::failure::{Action, Did, Failure, FaultStep, Kind, Order};
use crate::terminal::calls::{Lines, calls};

/// Why an execution was possible.
#[derive(Debug, Default)]
pub(crate) struct Why {
    /// What no order of events explains, each with what would rule it out.
    pub(crate) knots: Vec<(Knot, Vec<Cure>)>,
    /// What a data race lacks.
    pub(crate) race: Option<Race>,
    /// The reads of the above that do not synchronise with what they read, as far as that is needed.
    pub(crate) loose: Vec<usize>,
}

/// Two accesses that nothing orders.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// The way from the first to the second along which more synchronisation would order them.
    pub(crate) way: Option<Vec<(usize, Edge)>>,
    pub(crate) cures: Vec<Cure>,
}

/// Knots beyond these say the same again.
const MOST_KNOTS: usize = 2;

/// Why the execution of a failure was possible; nothing if it is an interleaving without a race.
pub(crate) fn why(failure: &Failure, graph: &Graph) -> Why {
    let lines = Lines::of(&failure.trace);
    // What the standard library does is right, and not the user's to change.
    let line = |event: usize| {
        let around = calls(&failure.trace, failure.trace.events[event].at, &lines);
        if around.is_in_std() { None } else { around.line }
    };
    let none = Changes::default();
    let hb = HappensBefore::with(graph, &none);
    let mut why = Why::default();
    let mut found = knots(graph);
    found.sort_by_key(|knot| knot.steps.len());
    // Orders that cannot be are a mistake of whoever recorded them: nothing follows from them.
    found.retain(|knot| !hb.forbids(&knot.events()));
    for knot in found.into_iter().take(MOST_KNOTS) {
        let events = knot.events();
        let cures = cures(graph, Ill::Seen(&events), &events, &knot.program_pairs(), line);
        why.knots.push((knot, cures));
    }
    if let Some((first, second)) = racing(failure)
        && !hb.is(Step::Event(first), Step::Event(second))
    {
        let way = path(graph, first, second, |_| true, Ways::HandingOn);
        let steps = way.clone().unwrap_or_default();
        let events: Vec<usize> = steps.iter().map(|&(event, _)| event).collect();
        let cures = cures(graph, Ill::Unordered(first, second), &events, &pairs(&steps, false), line);
        why.race = Some(Race { first, second, way, cures });
    }
    for (knot, _) in &why.knots {
        why.loose.extend(loose(&hb, &knot.steps, true));
    }
    if let Some(way) = why.race.as_ref().and_then(|race| race.way.as_ref()) {
        why.loose.extend(loose(&hb, way, false));
    }
    why
}

/// The reads among the steps that do not make what comes before the write happen before what comes after the read.
fn loose(hb: &HappensBefore<'_>, steps: &[(usize, Edge)], is_closed: bool) -> Vec<usize> {
    let count = steps.len();
    let step = |at: usize| (is_closed || at < count).then(|| steps[at % count]);
    let mut loose = Vec::new();
    for (at, &(write, _)) in steps.iter().enumerate().filter(|(_, step)| step.1 == Edge::Read) {
        let Some((read, then)) = step(at + 1) else { continue };
        let before = match at.checked_sub(1).or(is_closed.then_some(count - 1)).map(|before| steps[before]) {
            Some((before, Edge::Program)) => before,
            _ => write,
        };
        let after = match step(at + 2) {
            Some((after, _)) if then == Edge::Program => after,
            _ => read,
        };
        if !hb.is(Step::Event(before), Step::Event(after)) {
            loose.push(read);
        }
    }
    loose
}

/// The two accesses of a data race.
fn racing(failure: &Failure) -> Option<(usize, usize)> {
    if failure.kind != Kind::DataRace {
        return None;
    }
    let steps = &failure.fault.as_ref()?.steps;
    let [.., one, other] = steps.as_slice() else { return None };
    let find = |step: &FaultStep| {
        failure.trace.events.iter().rposition(|event| event.thread == step.thread && is(&event.action, step))
    };
    Some((find(one)?, find(other)?))
}

/// Whether an action is this step of a fault.
fn is(action: &Action, step: &FaultStep) -> bool {
    let does = match action {
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
    does && overlaps
}

impl Graph {
    /// Whether a write hands nothing on, and whether a read takes nothing over.
    pub(crate) fn lacks(&self, write: usize, read: usize) -> (bool, bool) {
        let node = &self.nodes[read];
        let later = &self.threads[&node.thread][node.po..];
        let takes_over = node.effect.order().is_some_and(acquires)
            || later.iter().any(|&event| self.is_fence(event, acquires));
        (!self.hands_on(write), !takes_over)
    }

    fn hands_on(&self, write: usize) -> bool {
        let node = &self.nodes[write];
        let earlier = &self.threads[&node.thread][..node.po];
        node.effect.order().is_some_and(releases)
            || earlier.iter().any(|&event| self.is_fence(event, releases))
            || node.rf.is_some_and(|from| self.hands_on(from))
    }

    fn is_fence(&self, event: usize, does: fn(Order) -> bool) -> bool {
        matches!(self.nodes[event].effect, Effect::Fence(order) if does(order))
    }
}
