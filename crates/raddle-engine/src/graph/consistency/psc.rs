//! The acyclicity of psc, decided from the sequentially consistent events alone.
//!
//! psc relates sequentially consistent accesses and fences only (the definition is in [`raddle_axioms::Psc`]). Whether it relates two
//! of them is decided by views and co-indices, without the relations between all other events:
//!
//! - Each access of a location has a *place* in its extended coherence order: twice the co-index of a write, and one more than that of
//!   its source for a read. By atomicity, `eco` is the order of these places, and `mo ∪ fr` the same before writes.
//! - By coherence, the places of a location do not descend along `hb`. So of all accesses that a fence happens before, the least place
//!   is enough, and of all that happen before a fence the greatest.
//! - `hb` grows along program order. So of all events that follow an access in program order the first is enough, and of all that
//!   precede one the last.
//! - Where a fence is at one end, `scb` by way of `po` and of `po≠loc ; hb ; po≠loc` comes to happens-before of the neighbour of the
//!   other end in program order. Between two fences, psc is `hb ∪ hb ; eco ; hb`.
//!
//! The search visits the events from which the changed one can be reached. An event on a new cycle is one of them.

use crate::graph::event::{Access, Event, EventId, LocationId, NONE};
use crate::graph::{Graph, covers};

/// Buffers of the search, kept to save allocations.
#[derive(Debug, Default)]
pub(crate) struct PscSearch {
    nodes: Vec<Node>,
    /// For each location of the graph its number in `bounds`, or [`NONE`].
    numbers: Vec<u32>,
    /// The locations that have a number.
    numbered: Vec<LocationId>,
    /// For each fence, the bounds at each numbered location.
    bounds: Vec<Bounds>,
    stack: Vec<(usize, usize)>,
}

/// A sequentially consistent event.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: EventId,
    mark: Mark,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A fence, and where its bounds begin.
    Fence(usize),
    Access {
        place: Option<u32>,
        /// The first later event of the thread that does not access the same location.
        next_other: Option<EventId>,
        /// The last earlier one.
        last_other: Option<EventId>,
    },
}

/// The state of a node in the depth-first search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Unvisited,
    /// The search is below the node: an edge to it closes a cycle.
    Open,
    Done,
}

/// The places of a location that a fence bounds.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The least place of an access that the fence happens before.
    least_after: u32,
    /// The greatest place of an access that happens before the fence, and one more; 0 if there is none.
    beyond_before: u32,
    /// The same of writes only.
    beyond_writes_before: u32,
}

impl Bounds {
    const NONE: Bounds = Bounds { least_after: u32::MAX, beyond_before: 0, beyond_writes_before: 0 };
}

impl PscSearch {
    /// Whether psc has no cycle among the events that `is_candidate` takes.
    pub(crate) fn is_acyclic(&mut self, graph: &Graph, is_candidate: impl Fn(EventId) -> bool) -> bool {
        self.collect(graph, is_candidate);
        for root in 0..self.nodes.len() {
            if self.nodes[root].mark == Mark::Unvisited && self.reaches_open(graph, root) {
                return false;
            }
        }
        true
    }

    /// Collects the nodes, and the bounds of those that are fences.
    fn collect(&mut self, graph: &Graph, is_candidate: impl Fn(EventId) -> bool) {
        let PscSearch { nodes, numbers, numbered, bounds, .. } = self;
        nodes.clear();
        bounds.clear();
        numbered.iter().for_each(|&location| numbers[location as usize] = NONE);
        numbered.clear();
        if numbers.len() < graph.locations.len() {
            numbers.resize(graph.locations.len(), NONE);
        }
        let is_node = |&(id, event): &(EventId, &Event)| super::rc11::is_sc(event) && is_candidate(id);
        for (id, event) in (0..).zip(&graph.events).filter(is_node) {
            let kind = match event.access {
                Access::Fence => Kind::Fence(0),
                _ => Kind::Access {
                    place: graph.place(id),
                    next_other: graph.others_after(id).next(),
                    last_other: graph.others_before(id).next(),
                },
            };
            nodes.push(Node { id, mark: Mark::Unvisited, kind });
        }
        if !nodes.iter().any(|node| matches!(node.kind, Kind::Fence(_))) {
            return;
        }
        for event in graph.events.iter().filter(|event| event.location != NONE && !event.blocked) {
            let number = &mut numbers[event.location as usize];
            if *number == NONE {
                *number = numbered.len() as u32;
                numbered.push(event.location);
            }
        }
        for node in nodes {
            let Kind::Fence(start) = &mut node.kind else { continue };
            *start = bounds.len();
            bounds.resize(*start + numbered.len(), Bounds::NONE);
            let (fence, own) = (graph.event(node.id), &mut bounds[*start..]);
            for (id, event) in (0..).zip(&graph.events).filter(|(_, event)| event.location != NONE) {
                let Some(place) = graph.place(id) else { continue };
                let at = &mut own[numbers[event.location as usize] as usize];
                if graph.hb_row(node.id, event) {
                    at.beyond_before = at.beyond_before.max(place + 1);
                    if event.writes() {
                        at.beyond_writes_before = at.beyond_writes_before.max(place + 1);
                    }
                } else if graph.hb_row(id, fence) {
                    at.least_after = at.least_after.min(place);
                }
            }
        }
    }

    /// Whether a cycle can be reached from a node.
    fn reaches_open(&mut self, graph: &Graph, root: usize) -> bool {
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        stack.push((root, 0));
        self.nodes[root].mark = Mark::Open;
        let mut found = false;
        'search: while let Some((node, next)) = stack.last_mut() {
            while *next < self.nodes.len() {
                let other = *next;
                *next += 1;
                if self.nodes[other].mark == Mark::Done || !self.is_edge(graph, *node, other) {
                    continue;
                }
                if self.nodes[other].mark == Mark::Open {
                    found = true;
                    break 'search;
                }
                self.nodes[other].mark = Mark::Open;
                stack.push((other, 0));
                continue 'search;
            }
            self.nodes[*node].mark = Mark::Done;
            stack.pop();
        }
        self.stack = stack;
        found
    }

    /// Whether psc relates two nodes.
    fn is_edge(&self, graph: &Graph, from: usize, to: usize) -> bool {
        let (Node { id: a, kind: before, .. }, Node { id: b, kind: after, .. }) =
            (self.nodes[from], self.nodes[to]);
        let (from, to) = (graph.event(a), graph.event(b));
        match (before, after) {
            (Kind::Fence(before), Kind::Fence(after)) => {
                let bounds = |start: usize| &self.bounds[start..][..self.numbered.len()];
                let precedes = |(x, y): (&Bounds, &Bounds)| x.least_after.saturating_add(1) < y.beyond_before;
                graph.happens_before(a, b) || bounds(before).iter().zip(bounds(after)).any(precedes)
            }
            (Kind::Fence(before), Kind::Access { place, .. }) => {
                let previous = graph.previous_in_thread(b);
                let bounds = &self.bounds[before + self.numbers[to.location as usize] as usize];
                previous.is_some_and(|previous| previous == a || graph.happens_before(a, previous))
                    || to.writes() && place.is_some_and(|place| bounds.least_after < place)
                    || graph
                        .accesses(to.location)
                        .any(|x| graph.happens_before(a, x) && graph.happens_before(x, b))
            }
            (Kind::Access { place, .. }, Kind::Fence(after)) => {
                let next = graph.next_in_thread(a);
                let bounds = &self.bounds[after + self.numbers[from.location as usize] as usize];
                next.is_some_and(|next| next == b || graph.happens_before(next, b))
                    || place.is_some_and(|place| place + 1 < bounds.beyond_writes_before)
                    || graph
                        .accesses(from.location)
                        .any(|y| graph.happens_before(a, y) && graph.happens_before(y, b))
            }
            (Kind::Access { place: x, next_other, .. }, Kind::Access { place: y, last_other, .. }) => {
                let same_location = from.location == to.location;
                from.thread == to.thread && from.po < to.po
                    || same_location
                        && (graph.happens_before(a, b) || to.writes() && a != b && x.is_some() && x < y)
                    || matches!((next_other, last_other), (Some(c), Some(d)) if graph.happens_before(c, d))
            }
        }
    }
}

impl Graph {
    /// The place of an access in the extended coherence order of its location. None if it neither reads nor writes.
    fn place(&self, id: EventId) -> Option<u32> {
        let event = self.event(id);
        let co_index = |write: EventId| self.co_index(event.location, write) as u32;
        match event.blocked || event.location == NONE {
            true => None,
            false if event.writes() => Some(2 * co_index(id)),
            false => event.reads().then(|| 2 * co_index(event.rf) + 1),
        }
    }

    /// Whether the view of an event covers another, or the same, one.
    #[inline]
    fn hb_row(&self, id: EventId, before: &Event) -> bool {
        covers(self.hb.row(id as usize), before)
    }

    /// Whether an event happens before another one in RC11. Neither is a blocked read.
    #[inline]
    fn happens_before(&self, a: EventId, b: EventId) -> bool {
        a != b && self.hb_row(b, self.event(a))
    }

    /// The accesses of a location, without blocked reads. Read-modify-writes come twice.
    fn accesses(&self, location: LocationId) -> impl Iterator<Item = EventId> {
        let reads = self.reads(location).iter().filter(|&&read| !self.event(read).blocked);
        self.co(location).iter().chain(reads).chain(self.decrements(location)).copied()
    }

    fn next_in_thread(&self, id: EventId) -> Option<EventId> {
        let Event { thread, po, .. } = *self.event(id);
        self.threads[usize::from(thread)].get(po as usize + 1).copied()
    }

    fn previous_in_thread(&self, id: EventId) -> Option<EventId> {
        let Event { thread, po, .. } = *self.event(id);
        self.threads[usize::from(thread)][..po as usize].last().copied()
    }

    /// The later events of the thread that do not access the location of an access.
    fn others_after(&self, id: EventId) -> impl Iterator<Item = EventId> {
        let Event { thread, po, location, .. } = *self.event(id);
        let after = self.threads[usize::from(thread)][po as usize + 1..].iter().copied();
        after.filter(move |&other| self.event(other).location != location)
    }

    /// The earlier ones, the last one first.
    fn others_before(&self, id: EventId) -> impl Iterator<Item = EventId> {
        let Event { thread, po, location, .. } = *self.event(id);
        let before = self.threads[usize::from(thread)][..po as usize].iter().rev().copied();
        before.filter(move |&other| self.event(other).location != location)
    }
}
