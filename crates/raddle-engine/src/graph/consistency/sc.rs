//! Sequential consistency: some order of all events has each read see the latest write.
//!
//! That is so if and only if program order, reads-from, coherence order and from-read have no cycle together.

use crate::graph::event::EventId;
use crate::graph::{Graph, Scratch};

/// Whether no cycle goes through `changed`. It is put into the order of the graph then, if it is the last event, and the others are there.
pub(crate) fn is_consistent(graph: &mut Graph, changed: EventId, scratch: &mut Scratch) -> bool {
    let len = graph.len();
    if graph.order.is_complete(len) {
        // It comes last.
        return true;
    }
    let is_only_one = changed as usize + 1 == len && graph.order.is_complete(len - 1);
    let Some(position) = is_only_one.then(|| graph.first_after(changed)).flatten() else {
        return search(graph, changed, scratch, true, |_| true);
    };
    let consistent = search_behind(graph, changed, position, scratch);
    if consistent {
        let marks = &scratch.marks;
        graph.order_at(position, changed, |id| marks[id as usize / 64] >> (id % 64) & 1 == 1);
    }
    consistent
}

/// Marks all events from which `changed` can be reached, which is one of them if a cycle goes through it.
pub(super) fn mark_predecessors(graph: &Graph, changed: EventId, scratch: &mut Scratch) {
    search(graph, changed, scratch, false, |_| true);
}

/// Whether no cycle goes through `changed`, which has to come before the event at a position of the order. Marks the events behind that
/// position from which `changed` can be reached.
fn search_behind(graph: &Graph, changed: EventId, position: usize, scratch: &mut Scratch) -> bool {
    let mut behind = std::mem::take(&mut scratch.view);
    behind.clear();
    behind.resize(graph.len(), 0);
    graph.order.events[position..].iter().for_each(|&id| behind[id as usize] = 1);
    behind[changed as usize] = 1;
    let consistent = search(graph, changed, scratch, true, |id| behind[id as usize] == 1);
    scratch.view = behind;
    consistent
}

/// Visits the candidates from which `changed` can be reached by way of candidates. Returns whether it is not one of them; ends then,
/// if that is `enough`.
fn search(
    graph: &Graph,
    changed: EventId,
    scratch: &mut Scratch,
    enough: bool,
    is_candidate: impl Fn(EventId) -> bool,
) -> bool {
    let Scratch { stack, marks, .. } = scratch;
    marks.clear();
    marks.resize(graph.len().div_ceil(64), 0);
    stack.clear();
    stack.push(changed);
    let mut cycle = false;
    while let Some(event) = stack.pop() {
        graph.for_each_predecessor(event, |before| {
            cycle |= before == changed;
            let (word, bit) = (before as usize / 64, 1 << (before % 64));
            if marks[word] & bit == 0 && is_candidate(before) {
                marks[word] |= bit;
                stack.push(before);
            }
        });
        if cycle && enough {
            return false;
        }
    }
    !cycle
}
