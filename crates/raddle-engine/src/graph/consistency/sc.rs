//! Sequential consistency: some order of all events has each read see the latest write.
//!
//! That is so if and only if program order, reads-from, coherence order and from-read have no cycle together.

use crate::graph::event::EventId;
use crate::graph::{Graph, Scratch};

/// Whether no cycle goes through `changed`.
pub(crate) fn is_consistent(graph: &Graph, changed: EventId, scratch: &mut Scratch) -> bool {
    search(graph, changed, scratch, true)
}

/// Marks all events from which `changed` can be reached, which is one of them if a cycle goes through it.
pub(super) fn mark_predecessors(graph: &Graph, changed: EventId, scratch: &mut Scratch) {
    search(graph, changed, scratch, false);
}

/// Visits the events from which `changed` can be reached. Returns whether it is not one of them; ends then, if that is `enough`.
fn search(graph: &Graph, changed: EventId, scratch: &mut Scratch, enough: bool) -> bool {
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
            if marks[word] & bit == 0 {
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
