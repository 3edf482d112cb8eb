//! Sequential consistency (Lamport 1979), by its axiom.

use crate::event::{Graph, fr, mo, rf};
use crate::rc11;
use crate::relation::Relation;

/// Whether sequential consistency allows a graph: `po ∪ rf ∪ mo ∪ fr` is acyclic, and read-modify-writes are atomic.
///
/// Happens-before takes the place of `po`: it adds the edges of spawns and joins, and only such `sw` edges as `po` and `rf` imply.
pub fn is_consistent(graph: &impl Graph) -> bool {
    let relation = Relation::of(graph.event_count(), |a, b| {
        let (before, after) = (graph.event(a), graph.event(b));
        graph.past(b)(a) || rf(&before, &after) || mo(&before, &after) || fr(&before, &after)
    });
    rc11::atomicity(graph) && relation.is_acyclic()
}
