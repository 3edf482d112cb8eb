//! Cycles of an execution graph in po ∪ rf ∪ mo ∪ fr ∪ sw: the part of an execution that no interleaving explains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Edge, Graph};

/// A step of a walk through the graph: an event, and the edge to the next event.
pub(crate) type WalkStep = (usize, Edge);

/// Whether the last event of a walk has an edge to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// A path. The edge of its last step has no meaning.
    Open,
    /// A cycle.
    Closed,
}

/// A cycle: each event has an edge to the next, and the last to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub(crate) steps: Vec<WalkStep>,
}

impl Cycle {
    pub(crate) fn events(&self) -> Vec<usize> {
        self.steps.iter().map(|&(event, _)| event).collect()
    }

    /// The pairs of events that po edges connect.
    pub(crate) fn po_pairs(&self) -> Vec<(usize, usize)> {
        po_pairs(&self.steps, Walk::Closed)
    }
}

/// The pairs of events that the po edges of a walk connect.
pub(crate) fn po_pairs(steps: &[WalkStep], walk: Walk) -> Vec<(usize, usize)> {
    let edges = match walk {
        Walk::Open => steps.len().saturating_sub(1),
        Walk::Closed => steps.len(),
    };
    let next = |at: usize| steps[(at + 1) % steps.len()].0;
    let po = steps[..edges].iter().enumerate().filter(|(_, (_, edge))| *edge == Edge::Po);
    po.map(|(at, &(event, _))| (event, next(at))).collect()
}

/// For each access that the trace has after one of its mo or fr successors, the shortest cycle through both.
pub(crate) fn shortest_cycles(graph: &Graph) -> Vec<Cycle> {
    let components = graph.components();
    let mut found: Vec<Cycle> = Vec::new();
    let mut known = BTreeSet::new();
    for number in 0..graph.nodes.len() {
        let backward: Vec<(Edge, usize)> =
            graph.mo_and_fr_successors(number).filter(|&(_, other)| other < number).collect();
        let shortest = backward
            .into_iter()
            .filter(|&(_, other)| components[other] == components[number])
            .filter_map(|(edge, other)| {
                let within = |event: usize| components[event] == components[number];
                let mut steps = shortest_path(graph, other, number, within, PathEdges::All)?;
                steps.last_mut()?.1 = edge;
                Some(Cycle { steps })
            })
            .min_by_key(|cycle| cycle.steps.len());
        let Some(cycle) = shortest else { continue };
        if known.insert(cycle.events().into_iter().collect::<BTreeSet<_>>()) {
            found.push(cycle);
        }
    }
    found
}

/// The relations that the edges of a path may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathEdges {
    /// po ∪ rf ∪ mo ∪ fr ∪ sw.
    All,
    /// po ∪ rf ∪ sw: the edges that happens-before could follow if every rf edge synchronised.
    PoRfSw,
}

/// The cost of a po edge: a stretch of program order is cheaper than any change of threads.
const PO_COST: usize = 1;
/// The cost of an rf or fr edge.
const COMMUNICATION_COST: usize = 10_000;
/// The cost of an mo or sw edge, which explains less than rf and fr.
const INDIRECT_COST: usize = 10_001;

/// The cheapest path between two events through the events for which `within` holds, found by Dijkstra's algorithm.
///
/// A stretch of program order becomes one step, from its first event to its last.
pub(crate) fn shortest_path(
    graph: &Graph,
    from: usize,
    to: usize,
    within: impl Fn(usize) -> bool,
    relations: PathEdges,
) -> Option<Vec<WalkStep>> {
    let mut sw_successors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        node.sw.iter().for_each(|&before| sw_successors.entry(before).or_default().push(number));
    }
    let mut best: BTreeMap<usize, (usize, Option<WalkStep>)> = BTreeMap::from([(from, (0, None))]);
    let mut open = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((cost, at))) = open.pop() {
        if at == to {
            break;
        }
        if best[&at].0 < cost {
            continue;
        }
        let node = &graph.nodes[at];
        let mut edges: Vec<(Edge, usize)> = graph.successors(at);
        edges.retain(|(edge, _)| matches!(edge, Edge::Po | Edge::Rf));
        if relations == PathEdges::All {
            edges.extend(graph.mo_and_fr_successors(at));
        }
        edges.extend(sw_successors.get(&at).into_iter().flatten().map(|&after| (Edge::Sw, after)));
        for (edge, after) in edges.into_iter().filter(|&(_, after)| within(after)) {
            let cost = cost
                + match edge {
                    Edge::Po => PO_COST,
                    Edge::Rf | Edge::Fr => COMMUNICATION_COST,
                    Edge::Sw if graph.nodes[after].thread == node.thread => continue,
                    Edge::Mo | Edge::Sw => INDIRECT_COST,
                };
            if best.get(&after).is_none_or(|known| cost < known.0) {
                best.insert(after, (cost, Some((at, edge))));
                open.push(Reverse((cost, after)));
            }
        }
    }
    let mut steps = vec![(to, Edge::Po)];
    let mut at = to;
    while let Some((before, edge)) = best.get(&at)?.1 {
        let continues_po =
            edge == Edge::Po && steps.last().is_some_and(|&(event, edge)| event != to && edge == Edge::Po);
        if continues_po {
            steps.pop();
        }
        steps.push((before, edge));
        at = before;
    }
    steps.reverse();
    (at == from).then_some(steps)
}

impl Graph {
    /// All mo and fr successors of an access. A read-modify-write has mo successors only: they include its fr successors.
    fn mo_and_fr_successors(&self, number: usize) -> impl Iterator<Item = (Edge, usize)> + '_ {
        let node = &self.nodes[number];
        let writes = node.location.map_or(&[][..], |location| &self.locations[location]);
        let after = move |edge: Edge, index: Option<usize>| {
            let later = index.map_or(&[][..], |index| &writes[index.min(writes.len())..]);
            later.iter().filter(move |&&write| write != number).map(move |&write| (edge, write))
        };
        after(Edge::Fr, node.read_index.filter(|_| node.write_index.is_none()))
            .chain(after(Edge::Mo, node.write_index))
    }
}
