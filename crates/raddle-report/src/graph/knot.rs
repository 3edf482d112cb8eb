//! What no order of events explains: cycles of program order, reads-from, modification order, from-read and synchronisation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Edge, Graph};

/// Events each of which comes before the next, and the last before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Knot {
    /// The events, and how each comes before the next one.
    pub(crate) steps: Vec<(usize, Edge)>,
}

impl Knot {
    pub(crate) fn events(&self) -> Vec<usize> {
        self.steps.iter().map(|&(event, _)| event).collect()
    }

    /// The pairs that are in program order, each the end of one part of the knot and the beginning of the next.
    pub(crate) fn program_pairs(&self) -> Vec<(usize, usize)> {
        pairs(&self.steps, true)
    }
}

/// Those of the steps that are followed by another of the same thread.
pub(crate) fn pairs(steps: &[(usize, Edge)], is_closed: bool) -> Vec<(usize, usize)> {
    let ends = steps.len() - usize::from(!is_closed && !steps.is_empty());
    let next = |at: usize| steps[(at + 1) % steps.len()].0;
    let program = steps[..ends].iter().enumerate().filter(|(_, (_, edge))| *edge == Edge::Program);
    program.map(|(at, &(event, _))| (event, next(at))).collect()
}

/// The shortest knots through each access that was made after an event that it comes before.
pub(crate) fn knots(graph: &Graph) -> Vec<Knot> {
    let sets = graph.knots();
    let mut found: Vec<Knot> = Vec::new();
    let mut known = BTreeSet::new();
    for number in 0..graph.nodes.len() {
        let late: Vec<(Edge, usize)> =
            graph.overtaken_by(number).filter(|&(_, other)| other < number).collect();
        let shortest = late
            .into_iter()
            .filter(|&(_, other)| sets[other] == sets[number])
            .filter_map(|(edge, other)| {
                let mut steps = path(graph, other, number, |event| sets[event] == sets[number], Ways::Every)?;
                steps.last_mut()?.1 = edge;
                Some(Knot { steps })
            })
            .min_by_key(|knot| knot.steps.len());
        let Some(knot) = shortest else { continue };
        if known.insert(knot.events().into_iter().collect::<BTreeSet<_>>()) {
            found.push(knot);
        }
    }
    found
}

/// Which edges a path may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    /// All.
    Every,
    /// Those along which something could be handed on: program order, reads and synchronisation.
    HandingOn,
}

/// The shortest way from one event to another, program order counting least. The last step's edge means nothing.
pub(crate) fn path(
    graph: &Graph,
    from: usize,
    to: usize,
    within: impl Fn(usize) -> bool,
    ways: Ways,
) -> Option<Vec<(usize, Edge)>> {
    let mut synchronised: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        node.after.iter().for_each(|&before| synchronised.entry(before).or_default().push(number));
    }
    let mut best: BTreeMap<usize, (usize, Option<(usize, Edge)>)> = BTreeMap::from([(from, (0, None))]);
    let mut open = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((cost, at))) = open.pop() {
        if at == to {
            break;
        }
        if best[&at].0 < cost {
            continue;
        }
        let node = &graph.nodes[at];
        let mut edges: Vec<(Edge, usize)> =
            graph.next(at).into_iter().filter(|edge| edge.0 <= Edge::Read).collect();
        if ways == Ways::Every {
            edges.extend(graph.overtaken_by(at));
        }
        edges.extend(synchronised.get(&at).into_iter().flatten().map(|&after| (Edge::Synchronised, after)));
        for (edge, after) in edges.into_iter().filter(|&(_, after)| within(after)) {
            // A step within the thread costs least, a long way more than a short one.
            let step = match edge {
                Edge::Program => 1,
                Edge::Read | Edge::Missed => 10_000,
                Edge::Synchronised if graph.nodes[after].thread == node.thread => continue,
                Edge::Overwritten | Edge::Synchronised => 10_001,
            };
            let cost = cost + step;
            if best.get(&after).is_none_or(|known| cost < known.0) {
                best.insert(after, (cost, Some((at, edge))));
                open.push(Reverse((cost, after)));
            }
        }
    }
    let mut steps = vec![(to, Edge::Program)];
    let mut at = to;
    while let Some((before, edge)) = best.get(&at)?.1 {
        // A stretch of a thread is its two ends.
        let goes_on = edge == Edge::Program
            && steps.last().is_some_and(|&(event, edge)| event != to && edge == Edge::Program);
        if goes_on {
            steps.pop();
        }
        steps.push((before, edge));
        at = before;
    }
    steps.reverse();
    (at == from).then_some(steps)
}

impl Graph {
    /// The writes that an access comes before: those that overwrite what it wrote or read.
    fn overtaken_by(&self, number: usize) -> impl Iterator<Item = (Edge, usize)> + '_ {
        let node = &self.nodes[number];
        let writes = node.place.map_or(&[][..], |place| &self.places[place]);
        let of = move |edge: Edge, rank: Option<usize>| {
            let later = rank.map_or(&[][..], |rank| &writes[rank.min(writes.len())..]);
            later.iter().filter(move |&&write| write != number).map(move |&write| (edge, write))
        };
        // What reads and writes is in the way of whatever comes in between.
        of(Edge::Missed, node.reads.filter(|_| node.writes.is_none()))
            .chain(of(Edge::Overwritten, node.writes))
    }
}
