//! What must have happened before an event, and what else could have happened instead.

use super::answer::{Before, Edge, Known, NearestPass, Order, PointOfNoReturn, Relation, Unordered};
use super::clocks::path;
use super::{Index, NoAnswer};
use crate::failure::Failure;

/// The happens-before cone of an event, each thread with the synchronisation that orders it.
pub(super) fn before(index: &Index<'_>, event: usize) -> Before {
    let me = index.events()[event].thread;
    let mut answer = Before { event: index.moment(event), threads: Vec::new(), unordered: Vec::new() };
    for (&thread, events) in index.graph.threads.iter().filter(|(thread, _)| **thread != me) {
        let known = index.clocks.known(event, thread);
        if let Some(&last) = known.checked_sub(1).and_then(|last| events.get(last)) {
            answer.threads.push(Known {
                last: index.moment(last),
                events: known as u32,
                path: edges(index, last, event),
            });
        }
        let unordered = events[known..].iter().take_while(|&&other| other < event).count();
        if unordered > 0 {
            let first = index.moment(events[known]);
            answer.unordered.push(Unordered { first, events: unordered as u32 });
        }
    }
    answer
}

/// The order of two events.
pub(super) fn order(index: &Index<'_>, first: usize, second: usize) -> Order {
    let clocks = &index.clocks;
    let relation = match () {
        () if first == second => Relation::Same,
        () if clocks.happens_before(first, second) => Relation::Before,
        () if clocks.happens_before(second, first) => Relation::After,
        () => Relation::Unordered,
    };
    let (earlier, later) = (first.min(second), first.max(second));
    let thread = index.events()[earlier].thread;
    let known = clocks.known(later, thread);
    let last = known.checked_sub(1).and_then(|last| index.graph.threads[&thread].get(last));
    Order {
        first: index.moment(first),
        second: index.moment(second),
        relation,
        path: match relation {
            Relation::Before => edges(index, first, second),
            Relation::After => edges(index, second, first),
            Relation::Same | Relation::Unordered => Vec::new(),
        },
        knew: last.filter(|_| relation == Relation::Unordered).map(|&last| index.moment(last)),
    }
}

/// The point of no return, as the file has it.
pub(super) fn point_of_no_return(index: &Index<'_>) -> Result<PointOfNoReturn, NoAnswer> {
    let point = index.failure.point_of_no_return.as_ref().ok_or_else(not_explored)?;
    let event = index.moment(index.event(point.event)?);
    Ok(PointOfNoReturn { event, executions: point.executions, exhaustive: point.exhaustive })
}

/// The nearest passing execution, as the file has it.
pub(super) fn nearest_pass(index: &Index<'_>) -> Result<NearestPass, NoAnswer> {
    let pass = index.failure.nearest_pass.as_deref().ok_or_else(not_explored)?;
    let common = pass.common as usize;
    let of = |event: usize| (event < index.events().len()).then(|| index.moment(event));
    // The passing execution is a trace of its own.
    let passing = Failure {
        trace: pass.trace.clone(),
        objects: None,
        point_of_no_return: None,
        nearest_pass: None,
        ..index.failure.clone()
    };
    let parts = pass.common_of_pass as usize;
    let passes = (parts < passing.trace.events.len()).then(|| Index::of(&passing).moment(parts));
    Ok(NearestPass {
        common: common.checked_sub(1).and_then(of),
        fails: of(common),
        passes,
        schedule: pass.schedule.clone().into(),
    })
}

fn not_explored() -> NoAnswer {
    NoAnswer(
        "the failure file does not have this, because other executions were not tried: \
         `cargo raddle why FILE --alternatives` tries them"
            .into(),
    )
}

fn edges(index: &Index<'_>, from: usize, to: usize) -> Vec<Edge> {
    let path = path(&index.graph, from, to).unwrap_or_default();
    path.into_iter().map(|(from, to)| Edge { from: index.moment(from), to: index.moment(to) }).collect()
}
