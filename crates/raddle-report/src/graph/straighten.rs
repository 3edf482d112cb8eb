//! The order of events that is most like an interleaving.
//!
//! An execution graph can be made in many orders. Program order, reads-from, modification order, from-read and synchronisation say
//! which events come before which; if they have no cycle, some order has every read see the newest write, and the execution is an
//! interleaving like any other. Otherwise the events of each cycle stay together, in the order in which they were made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Graph;
use crate::failure::{Action, Event, Failure, Switch, Value, Write};

/// Puts the events of a failure's trace in an order in which as many reads as can be see the newest write. The events of operations
/// stay as they are.
pub fn straighten(failure: &mut Failure) {
    let Some(graph) = Graph::of(failure) else { return };
    // Operations are also ordered by time, which the graph does not have.
    if failure.trace.events.iter().any(|event| matches!(event.action, Action::Call { .. })) {
        return;
    }
    if !graph.is_straight() {
        let order = order(&graph);
        rearrange(failure, &order);
    }
    if let Some(graph) = Graph::of(failure) {
        name_newest(failure, &graph);
    }
}

impl Graph {
    /// Whether no event is made before one that comes earlier by what they read and wrote.
    pub(crate) fn is_straight(&self) -> bool {
        (0..self.nodes.len()).all(|number| self.next(number).iter().all(|&(_, after)| number < after))
    }

    /// For each event, the number of the set of events that it forms cycles with; sets are numbered by their first events.
    pub(super) fn knots(&self) -> Vec<usize> {
        // Tarjan's algorithm, without recursion.
        let n = self.nodes.len();
        let mut next: Vec<Vec<usize>> =
            (0..n).map(|at| self.next(at).iter().map(|edge| edge.1).collect()).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            node.after.iter().for_each(|&before| next[before].push(number));
        }
        let (mut index, mut low, mut knot) = (vec![usize::MAX; n], vec![0; n], vec![usize::MAX; n]);
        let (mut stack, mut calls, mut seen) = (Vec::new(), Vec::new(), 0);
        for root in 0..n {
            if index[root] != usize::MAX {
                continue;
            }
            calls.push((root, 0));
            while let Some((at, edge)) = calls.pop() {
                if edge == 0 {
                    (index[at], low[at]) = (seen, seen);
                    seen += 1;
                    stack.push(at);
                } else {
                    low[at] = low[at].min(low[next[at][edge - 1]]);
                }
                let rest = next[at][edge..].iter().enumerate();
                let mut entered = None;
                for (skipped, &after) in rest {
                    if index[after] == usize::MAX {
                        entered = Some((edge + skipped + 1, after));
                        break;
                    }
                    if knot[after] == usize::MAX {
                        low[at] = low[at].min(index[after]);
                    }
                }
                if let Some((edge, after)) = entered {
                    calls.push((at, edge));
                    calls.push((after, 0));
                } else if low[at] == index[at] {
                    let members = stack.split_off(stack.iter().rposition(|&other| other == at).unwrap_or(0));
                    let first = members.iter().copied().min().unwrap_or(at);
                    members.iter().for_each(|&member| knot[member] = first);
                }
            }
        }
        knot
    }
}

/// The events in their new order: knots one after another, going on with the same thread where that is possible.
fn order(graph: &Graph) -> Vec<usize> {
    let n = graph.nodes.len();
    let knots = graph.knots();
    let mut members = vec![Vec::new(); n];
    let mut waits_for = vec![0; n];
    let mut after = vec![Vec::new(); n];
    for number in 0..n {
        members[knots[number]].push(number);
        let known = graph.nodes[number].after.iter().map(|&before| (before, number));
        for (before, later) in graph.next(number).into_iter().map(|(_, later)| (number, later)).chain(known) {
            let (before, later) = (knots[before], knots[later]);
            if before != later {
                after[before].push(later);
                waits_for[later] += 1;
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..n).filter(|&knot| knots[knot] == knot && waits_for[knot] == 0).map(Reverse).collect();
    let mut order: Vec<usize> = Vec::with_capacity(n);
    while let Some(Reverse(first)) = ready.pop() {
        let thread = order.last().map(|&last: &usize| graph.nodes[last].thread);
        let goes_on = |knot: &usize| Some(graph.nodes[*knot].thread) == thread;
        let same = ready.iter().map(|knot| knot.0).filter(goes_on).min().filter(|_| !goes_on(&first));
        let knot = same.unwrap_or(first);
        if knot != first {
            ready.retain(|other| other.0 != knot);
            ready.push(Reverse(first));
        }
        order.extend(&members[knot]);
        for &later in &after[knot] {
            waits_for[later] -= 1;
            if waits_for[later] == 0 {
                ready.push(Reverse(later));
            }
        }
    }
    order
}

fn rearrange(failure: &mut Failure, order: &[usize]) {
    let events = &mut failure.trace.events;
    let mut new = vec![0; events.len()];
    order.iter().enumerate().for_each(|(at, &old)| new[old] = at as u32);
    let moved = |write: Write| match write {
        Write::Event(old) => Write::Event(new[old as usize]),
        other => other,
    };
    let mut rearranged: Vec<Event> = order.iter().map(|&old| events[old].clone()).collect();
    for event in &mut rearranged {
        event.reads_from = event.reads_from.map(moved);
        event.overwrites = event.overwrites.map(moved);
        event.synchronises_with.iter_mut().for_each(|other| *other = new[*other as usize]);
        event.synchronises_with.sort_unstable();
    }
    for at in 0..rearranged.len() {
        rearranged[at].switch = switch(&rearranged, at);
    }
    *events = rearranged;
}

/// Why the thread before an event was left.
fn switch(events: &[Event], at: usize) -> Option<Switch> {
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

/// Says at each access what the newest value was, where it had to do with an older one.
fn name_newest(failure: &mut Failure, graph: &Graph) {
    let written: Vec<Option<Value>> =
        failure.trace.events.iter().map(|event| event.action.written()).collect();
    // The highest rank so far of a write to each place.
    let mut newest = vec![0; graph.places.len()];
    for (number, (event, node)) in failure.trace.events.iter_mut().zip(&graph.nodes).enumerate() {
        let Some(place) = node.place else { continue };
        let before = newest[place];
        if let Some(rank) = node.writes {
            newest[place] = before.max(rank);
        }
        let (old, current) = match (node.reads, node.writes) {
            (None, Some(rank)) => (rank < newest[place], newest[place]),
            (Some(rank), _) => (rank < before, before),
            (None, None) => continue,
        };
        let value =
            graph.write(place, current).filter(|&write| write != number).and_then(|write| written[write]);
        let value = value.filter(|_| old);
        match &mut event.action {
            Action::Load { value: read, newest, .. } | Action::Cas { read, newest, .. } => {
                *newest = value.filter(|newest| newest != read);
            }
            Action::Store { value: stored, newest, .. } => *newest = value.filter(|newest| newest != stored),
            _ => {}
        }
    }
}
