//! The linear extension of an execution graph that is closest to an interleaving.
//!
//! The exhaustive search adds the events of a graph in an order of its own. If po ∪ rf ∪ mo ∪ fr ∪ sw is acyclic, the graph has a
//! linear extension in which every read sees the newest write: the execution is an interleaving. Otherwise the events of each
//! strongly connected component stay together, in the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Graph;
use crate::failure::{Action, Event, Failure, Switch, Value, Write};

/// Reorders the events of a failure's trace so that as many reads as possible see the newest write.
///
/// Traces with operations of a scenario keep their order: real time orders operations, and the graph does not record it.
pub fn linearise(failure: &mut Failure) {
    let Some(graph) = Graph::of(failure) else { return };
    if failure.trace.events.iter().any(|event| matches!(event.action, Action::Call { .. })) {
        return;
    }
    if !graph.is_linear() {
        let extension = linear_extension(&graph);
        reorder(failure, &extension);
    }
    if let Some(graph) = Graph::of(failure) {
        update_newest_values(failure, &graph);
    }
}

impl Graph {
    /// Whether the order of the trace is a linear extension of po ∪ rf ∪ mo ∪ fr.
    pub(crate) fn is_linear(&self) -> bool {
        (0..self.nodes.len()).all(|number| self.successors(number).iter().all(|&(_, after)| number < after))
    }
}

/// The events, component by component in topological order. Among the components that could come next, one of the running
/// thread is preferred, then the earliest of the trace.
fn linear_extension(graph: &Graph) -> Vec<usize> {
    let n = graph.nodes.len();
    let components = graph.components();
    let mut members = vec![Vec::new(); n];
    let mut predecessors = vec![0; n];
    let mut successors = vec![Vec::new(); n];
    for number in 0..n {
        members[components[number]].push(number);
        let sw = graph.nodes[number].sw.iter().map(|&before| (before, number));
        let others = graph.successors(number).into_iter().map(|(_, after)| (number, after));
        for (before, after) in others.chain(sw) {
            let (before, after) = (components[before], components[after]);
            if before != after {
                successors[before].push(after);
                predecessors[after] += 1;
            }
        }
    }
    let is_ready = |&component: &usize| components[component] == component && predecessors[component] == 0;
    let mut ready: BinaryHeap<Reverse<usize>> = (0..n).filter(is_ready).map(Reverse).collect();
    let mut extension: Vec<usize> = Vec::with_capacity(n);
    while let Some(Reverse(first)) = ready.pop() {
        let running = extension.last().map(|&last: &usize| graph.nodes[last].thread);
        let runs_on = |component: &usize| Some(graph.nodes[*component].thread) == running;
        let same_thread = ready.iter().map(|component| component.0).filter(runs_on).min();
        let component = same_thread.filter(|_| !runs_on(&first)).unwrap_or(first);
        if component != first {
            ready.retain(|other| other.0 != component);
            ready.push(Reverse(first));
        }
        extension.extend(&members[component]);
        for &after in &successors[component] {
            predecessors[after] -= 1;
            if predecessors[after] == 0 {
                ready.push(Reverse(after));
            }
        }
    }
    extension
}

/// Puts the events of a trace into a new order and renumbers the edges between them.
fn reorder(failure: &mut Failure, extension: &[usize]) {
    let events = &mut failure.trace.events;
    let mut new_numbers = vec![0; events.len()];
    extension.iter().enumerate().for_each(|(new, &old)| new_numbers[old] = new as u32);
    let renumbered = |write: Write| match write {
        Write::Event(old) => Write::Event(new_numbers[old as usize]),
        other => other,
    };
    let mut reordered: Vec<Event> = extension.iter().map(|&old| events[old].clone()).collect();
    for event in &mut reordered {
        event.reads_from = event.reads_from.map(renumbered);
        event.overwrites = event.overwrites.map(renumbered);
        event.synchronises_with.iter_mut().for_each(|other| *other = new_numbers[*other as usize]);
        event.synchronises_with.sort_unstable();
    }
    for at in 0..reordered.len() {
        reordered[at].switch = switch_reason(&reordered, at);
    }
    *events = reordered;
    if let Some(objects) = &mut failure.objects {
        let renumber = |event: &mut Option<u32>| {
            *event = event.and_then(|old| new_numbers.get(old as usize).copied());
        };
        for object in &mut objects.list {
            renumber(&mut object.since);
            renumber(&mut object.freed);
        }
        renumber(&mut objects.until);
    }
}

/// The reason for the context switch right before an event, derived from the events around it.
fn switch_reason(events: &[Event], at: usize) -> Option<Switch> {
    let before = at.checked_sub(1).map(|before| &events[before])?;
    if before.thread == events[at].thread {
        return None;
    }
    let next = events[at..].iter().find(|event| event.thread == before.thread);
    Some(match (&before.action, next.map(|event| &event.action)) {
        (Action::End, _) => Switch::Finished,
        (Action::Wait { blocks: true, .. }, _) => Switch::Blocked,
        (Action::Yield, _) => Switch::Yielded,
        (Action::Sleep { .. }, _) => Switch::Sleeping,
        (_, Some(&Action::Join { thread })) if events[at..].iter().any(|event| event.thread == thread) => {
            Switch::Joining
        }
        _ => Switch::Preempted,
    })
}

/// Sets the `newest` value of each access that reads a stale value or is inserted before an earlier store in modification order.
fn update_newest_values(failure: &mut Failure, graph: &Graph) {
    let written: Vec<Option<Value>> =
        failure.trace.events.iter().map(|event| event.action.written()).collect();
    // The highest index in modification order so far, for each location.
    let mut newest = vec![0; graph.locations.len()];
    for (number, (event, node)) in failure.trace.events.iter_mut().zip(&graph.nodes).enumerate() {
        let Some(location) = node.location else { continue };
        let before = newest[location];
        if let Some(index) = node.write_index {
            newest[location] = before.max(index);
        }
        let (is_stale, current) = match (node.read_index, node.write_index) {
            (None, Some(index)) => (index < newest[location], newest[location]),
            (Some(index), _) => (index < before, before),
            (None, None) => continue,
        };
        let value =
            graph.write(location, current).filter(|&write| write != number).and_then(|write| written[write]);
        let value = value.filter(|_| is_stale);
        match &mut event.action {
            Action::Load { value: read, newest, .. } | Action::Cas { read, newest, .. } => {
                *newest = value.filter(|newest| newest != read);
            }
            Action::Store { value: stored, newest, .. } => *newest = value.filter(|newest| newest != stored),
            _ => {}
        }
    }
}
