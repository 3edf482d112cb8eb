//! RC11 (Lahav et al., *Repairing sequential consistency in C/C++11*, PLDI 2017) for graphs that grow event by event.
//!
//! The axioms are those of [`raddle_axioms`], and the search checks only one of them. The other three hold by construction:
//!
//! - NO-THIN-AIR: a read is added after its source.
//! - ATOMICITY: a read-modify-write is added right after its source in modification order.
//! - COHERENCE: a read has no source below the coherence floor of its thread, and a write comes after that floor.
//!
//! SC, the acyclicity of psc, is decided by a search among the sequentially consistent events ([`psc`](super::psc)). Most graphs never
//! come to that, because they are sequentially consistent, which is decided by a search from the new event alone.

use super::sc;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::{Graph, Scratch};
use crate::op::Order;

/// Whether an event is a sequentially consistent access or fence.
pub(crate) fn is_sc(event: &Event) -> bool {
    event.order == Order::SeqCst
        && !event.blocked
        && (event.location != NONE || event.access == Access::Fence)
}

/// Whether psc of a graph is acyclic. It must have been so before `changed` was added.
pub(crate) fn is_consistent(graph: &mut Graph, changed: EventId, scratch: &mut Scratch) -> bool {
    // The total order of a sequentially consistent graph contains psc, and coherence leaves one event alone no cycle.
    if graph.sc < 2 || sc::is_consistent(graph, changed, scratch) {
        return true;
    }
    sc::mark_predecessors(graph, changed, scratch);
    let Scratch { marks, psc, .. } = scratch;
    psc.is_acyclic(graph, |id| marks[id as usize / 64] >> (id % 64) & 1 == 1)
}
