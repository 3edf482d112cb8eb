//! Happens-before by vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems", 1988).
//!
//! A clock counts, for each thread, the events that happen before an event or are that event. The trace is a linear extension of
//! happens-before, so that one pass computes all clocks.

use std::collections::{BTreeMap, BinaryHeap};

use crate::graph::{Graph, Node};

/// The clock of each event.
pub(super) struct Clocks {
    /// The column of each thread.
    columns: BTreeMap<u32, usize>,
    /// For each event, the clock: a number for each column.
    clocks: Vec<u32>,
    /// For each event, its column and its position in program order.
    positions: Vec<(usize, u32)>,
}

impl Clocks {
    pub(super) fn of(graph: &Graph) -> Clocks {
        let columns: BTreeMap<u32, usize> =
            graph.threads.keys().enumerate().map(|(column, &thread)| (thread, column)).collect();
        let width = columns.len();
        let mut clocks = vec![0; width * graph.nodes.len()];
        let mut positions = Vec::with_capacity(graph.nodes.len());
        for (number, node) in graph.nodes.iter().enumerate() {
            let (earlier, later) = clocks.split_at_mut(number * width);
            for before in predecessors(graph, node).filter(|&before| before < number) {
                let known = &earlier[before * width..][..width];
                later.iter_mut().zip(known).for_each(|(mine, known)| *mine = (*mine).max(*known));
            }
            let column = columns[&node.thread];
            later[column] = node.po as u32 + 1;
            positions.push((column, node.po as u32));
        }
        Clocks { columns, clocks, positions }
    }

    /// Whether one event happens before another one.
    pub(super) fn happens_before(&self, first: usize, second: usize) -> bool {
        let (column, position) = self.positions[first];
        first != second && self.clock(second)[column] > position
    }

    /// The number of events of a thread that happen before an event or are that event.
    pub(super) fn known(&self, event: usize, thread: u32) -> usize {
        self.columns.get(&thread).map_or(0, |&column| self.clock(event)[column] as usize)
    }

    fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.columns.len()..][..self.columns.len()]
    }
}

/// The synchronises-with edges on the path from one event to another that has the fewest, in order; none if there is no path.
pub(super) fn path(graph: &Graph, from: usize, to: usize) -> Option<Vec<(usize, usize)>> {
    // Dijkstra's algorithm, backwards: steps in program order cost nothing. Among equal paths the latest events are taken.
    let mut next: BTreeMap<usize, (usize, u32)> = BTreeMap::from([(to, (to, 0))]);
    let mut queue = BinaryHeap::from([(std::cmp::Reverse(0), to)]);
    while let Some((std::cmp::Reverse(cost), event)) = queue.pop() {
        if event == from {
            break;
        }
        let node = &graph.nodes[event];
        let po = (node.po > 0).then(|| (graph.threads[&node.thread][node.po - 1], cost));
        for (before, cost) in po.into_iter().chain(node.sw.iter().map(|&before| (before, cost + 1))) {
            // Nothing that comes before `from` in the trace can lead to it.
            if before >= from && next.get(&before).is_none_or(|&(_, known)| cost < known) {
                next.insert(before, (event, cost));
                queue.push((std::cmp::Reverse(cost), before));
            }
        }
    }
    next.get(&from)?;
    let mut edges = Vec::new();
    let mut event = from;
    while event != to {
        let (after, _) = next[&event];
        if graph.nodes[event].thread != graph.nodes[after].thread {
            edges.push((event, after));
        }
        event = after;
    }
    Some(edges)
}

/// The immediate predecessors of an event in happens-before.
fn predecessors<'g>(graph: &'g Graph, node: &'g Node) -> impl Iterator<Item = usize> + 'g {
    let po = node.po.checked_sub(1).map(|po| graph.threads[&node.thread][po]);
    po.into_iter().chain(node.sw.iter().copied())
}
