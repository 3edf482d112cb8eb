//! RC11 (Lahav et al., *Repairing sequential consistency in C/C++11*, PLDI 2017) for graphs that grow event by event.
//!
//! The axioms are those of [`raddle_axioms`], and the search checks only one of them. The other three hold by construction:
//!
//! - NO-THIN-AIR: a read is added after its source.
//! - ATOMICITY: a read-modify-write is added right after its source in modification order.
//! - COHERENCE: a read has no source below the coherence floor of its thread, and a write comes after that floor.
//!
//! SC, the acyclicity of psc, is checked by [`raddle_axioms::Psc`] on the graph itself: the trait below is all that stands between
//! them, and costs nothing at run time. psc is computed anew, not extended by the new event. Most graphs never come to that,
//! because they are sequentially consistent, which is decided by a search from the new event alone.

use raddle_axioms::Kind;

use super::sc;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::{Graph, Scratch, covers};
use crate::op::Order;

/// Whether an event is a sequentially consistent access or fence.
pub(crate) fn is_sc(event: &Event) -> bool {
    event.order == Order::SeqCst
        && !event.blocked
        && (event.location != NONE || event.access == Access::Fence)
}

/// Whether psc of a graph is acyclic. It must have been so before `changed` was added.
pub(crate) fn is_consistent(graph: &Graph, changed: EventId, scratch: &mut Scratch) -> bool {
    // The total order of a sequentially consistent graph contains psc, and coherence leaves one event alone no cycle.
    graph.sc < 2 || sc::is_consistent(graph, changed, scratch) || scratch.psc.is_acyclic(graph)
}

/// Blocked reads take no part in any relation.
impl raddle_axioms::Graph for Graph {
    fn event_count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn event(&self, id: usize) -> raddle_axioms::Event {
        let event = &self.events[id];
        let thread = event.thread.into();
        if !event.blocked && event.access == Access::Fence {
            return raddle_axioms::Event::fence(thread, event.order.into());
        }
        let other = raddle_axioms::Event::other(thread);
        if event.blocked || event.location == NONE {
            return other;
        }
        let co_index = |write: EventId| self.co_index(event.location, write) as u32;
        raddle_axioms::Event {
            kind: Kind::Access,
            order: event.order.into(),
            location: Some(event.location),
            read_index: event.reads().then(|| co_index(event.rf)),
            write_index: event.writes().then(|| co_index(id as EventId)),
            ..other
        }
    }

    #[inline]
    fn past(&self, id: usize) -> impl Fn(usize) -> bool {
        let (is_blocked, view) = (self.events[id].blocked, self.hb.row(id));
        move |before| {
            let event = &self.events[before];
            before != id && !is_blocked && !event.blocked && covers(view, event)
        }
    }
}
