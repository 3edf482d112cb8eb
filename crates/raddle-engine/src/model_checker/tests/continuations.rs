//! The continuations of a prefix are the executions that begin with it, and interleavings are executions.

use std::collections::BTreeSet;

use notation::Program;
use notation::random::locking_programs;

use super::{Model, ModelChecker, parse, run, samples};
use crate::graph::Graph;
use crate::graph::event::{EventId, INIT};
use crate::op::Order;
use crate::schedule::Schedule;

/// An event by its thread and its number there.
type Name = (u16, u32);

/// An execution graph, whatever the order of its events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// The source of each read; None is the initial write.
    sources: Vec<(Name, u32, Option<Name>)>,
    /// The writes of each location, in modification order.
    writes: Vec<(u32, Vec<Name>)>,
    events: Vec<Name>,
    /// The events that are `SeqCst`.
    sc: Vec<Name>,
}

/// An execution, and its schedule as an interleaving.
struct Execution {
    shape: Shape,
    interleaving: Option<Schedule>,
    /// The events in the order of the schedule.
    order: Vec<Name>,
}

fn shape(graph: &Graph) -> Shape {
    let name = |id: EventId| (graph.event(id).thread, graph.event(id).po);
    let ids = || (0..graph.len() as EventId).filter(|&id| !graph.event(id).blocked);
    let mut sources: Vec<_> = ids()
        .filter(|&id| graph.event(id).reads())
        .map(|id| {
            let event = graph.event(id);
            (name(id), event.location, (event.rf != INIT).then(|| name(event.rf)))
        })
        .collect();
    sources.sort_unstable();
    let locations: BTreeSet<u32> =
        ids().map(|id| graph.event(id)).filter(|event| event.writes()).map(|event| event.location).collect();
    let writes = locations
        .into_iter()
        .map(|location| (location, graph.co(location).iter().map(|&id| name(id)).collect()))
        .collect();
    let mut events: Vec<Name> = ids().map(name).collect();
    events.sort_unstable();
    let mut sc: Vec<Name> =
        ids().filter(|&id| graph.event(id).declared_order == Order::SeqCst).map(name).collect();
    sc.sort_unstable();
    Shape { sources, writes, events, sc }
}

fn executions(search: &mut ModelChecker, program: &Program) -> Vec<Execution> {
    let mut all = Vec::new();
    run(search, program, true, true, |search, _| {
        let graph = search.graph();
        let order = graph.interleaving(0).unwrap_or_default();
        all.push(Execution {
            shape: shape(graph),
            interleaving: search.interleaving(0),
            order: order.iter().map(|&id| (graph.event(id).thread, graph.event(id).po)).collect(),
        });
    });
    all
}

/// Whether an execution begins with these events of another one, by definition.
fn begins_with(shape: &Shape, other: &Shape, prefix: &BTreeSet<Name>, model: Model) -> bool {
    let fixed = |shape: &Shape| -> (Vec<_>, Vec<Vec<Name>>) {
        let sources = shape.sources.iter().filter(|source| prefix.contains(&source.0)).copied().collect();
        let writes = shape.writes.iter().map(|(_, writes)| {
            writes.iter().copied().filter(|write| prefix.contains(write)).collect::<Vec<_>>()
        });
        (sources, writes.filter(|writes| !writes.is_empty()).collect())
    };
    let has_all = prefix.iter().all(|event| shape.events.binary_search(event).is_ok());
    if !has_all || fixed(shape) != fixed(other) {
        return false;
    }
    // Under sequential consistency, everything else comes after the prefix; under RC11, what is `SeqCst`.
    let is_timed = |event: &Name| model == Model::Sc || shape.sc.binary_search(event).is_ok();
    let is_late = |event: &Name| !prefix.contains(event) && is_timed(event);
    shape.writes.iter().all(|(location, writes)| {
        let is_before = |write: &Name| prefix.contains(write) && is_timed(write);
        let last = writes.iter().rposition(is_before).map_or(0, |index| index + 1);
        let co_index =
            |source: &Name| writes.iter().position(|write| write == source).map_or(0, |index| index + 1);
        let mut late_writes = writes.iter().filter(|write| is_late(write));
        let mut late_reads = shape.sources.iter().filter(|(read, at, _)| at == location && is_late(read));
        late_writes.all(|write| co_index(write) > last)
            && late_reads.all(|(_, _, source)| source.as_ref().map_or(0, co_index) >= last)
    })
}

#[track_caller]
fn check(program: &Program, model: Model) {
    let all = executions(&mut ModelChecker::new(model), program);
    let mut search = ModelChecker::new(model);
    for execution in all.iter().take(12) {
        let Some(schedule) = &execution.interleaving else {
            assert_eq!(model, Model::Rc11, "an interleaving makes every execution: {program}");
            continue;
        };
        assert!(schedule.mo_offsets.iter().all(|&offset| offset == 0), "{program}");
        for fixed in 0..=schedule.threads.len() {
            let prefix: BTreeSet<Name> = execution.order[..fixed].iter().copied().collect();
            search.begin_continuations(schedule, fixed, None);
            let continuations: Vec<Shape> =
                executions(&mut search, program).into_iter().map(|execution| execution.shape).collect();
            let count = continuations.len();
            let continuations: BTreeSet<Shape> = continuations.into_iter().collect();
            assert_eq!(
                continuations.len(),
                count,
                "an execution was made twice after {fixed} events: {program}"
            );
            let expected: BTreeSet<Shape> = all
                .iter()
                .map(|other| &other.shape)
                .filter(|shape| begins_with(shape, &execution.shape, &prefix, model))
                .cloned()
                .collect();
            assert!(
                continuations == expected,
                "{program}\n{model:?}, after {fixed} events of {:?}: {} of {} executions",
                execution.order,
                count,
                expected.len()
            );
        }
    }
}

#[test]
fn continuations_are_the_executions_that_begin_with_the_prefix() {
    let programs = [
        "Ws(x,1); Rs y || Ws(y,1); Rs x",
        "Rs x; Ws(x,1) || Rs x; Ws(x,2)",
        "FAAs(x,1) || FAAs(x,1) || Rs x; Rs x",
        "CASs(x,0,1); Ws(y,1) || CASs(x,0,2); Rs y || Ws(x,3)",
        "lock m; Rs x; Ws(x,1); unlock m || lock m; Rs x; Ws(x,2); unlock m",
        "Wx(x,1); Wr(y,1) || Ra y; Rx x || Wx(x,2)",
    ];
    for program in programs.map(parse) {
        check(&program, Model::Sc);
        check(&program, Model::Rc11);
    }
}

#[test]
fn continuations_of_random_programs() {
    for program in samples(locking_programs(2..=3), 60) {
        check(&program, Model::Sc);
        check(&program, Model::Rc11);
    }
}
