//! RC11 by its axioms (Lahav et al., PLDI 2017, section 3).

use crate::event::{Event, Graph, eco, fr, mo, rf, same_location};
use crate::relation::Relation;

/// An axiom of RC11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axiom {
    /// [`no_thin_air`]
    NoThinAir,
    /// [`atomicity`]
    Atomicity,
    /// [`coherence`]
    Coherence,
    /// [`Psc::is_acyclic`]
    Sc,
}

/// The first axiom that a graph violates; none if RC11 allows the graph.
pub fn violated_axiom(graph: &impl Graph) -> Option<Axiom> {
    if !no_thin_air(graph) {
        Some(Axiom::NoThinAir)
    } else if !atomicity(graph) {
        Some(Axiom::Atomicity)
    } else if !coherence(graph) {
        Some(Axiom::Coherence)
    } else if !Psc::default().is_acyclic(graph) {
        Some(Axiom::Sc)
    } else {
        None
    }
}

/// NO-THIN-AIR: `po ∪ rf` is acyclic. RC11 thus forbids load buffering.
pub fn no_thin_air(graph: &impl Graph) -> bool {
    let relation = Relation::of(graph.event_count(), |a, b| {
        let (before, after) = (graph.event(a), graph.event(b));
        rf(&before, &after) || before.thread == after.thread && graph.past(b)(a)
    });
    relation.is_acyclic()
}

/// ATOMICITY: no write comes between a read-modify-write and its source in modification order, `fr ; mo` is irreflexive.
pub fn atomicity(graph: &impl Graph) -> bool {
    (0..graph.event_count()).all(|event| match graph.event(event) {
        Event { read_index: Some(source), write_index: Some(own), .. } => own == source + 1,
        _ => true,
    })
}

/// COHERENCE: `hb ; eco?` is irreflexive.
pub fn coherence(graph: &impl Graph) -> bool {
    (0..graph.event_count()).all(|b| {
        let (after, is_before) = (graph.event(b), graph.past(b));
        (0..graph.event_count()).all(|a| !is_before(a) || a != b && !eco(&after, &graph.event(a)))
    })
}

/// RC11's partial SC order, in memory that is used again.
///
/// ```text
/// scb      = po ∪ po≠loc ; hb ; po≠loc ∪ hb|loc ∪ mo ∪ fr
/// psc_base = ([SC] ∪ [Fsc] ; hb?) ; scb ; ([SC] ∪ hb? ; [Fsc])
/// psc_F    = [Fsc] ; (hb ∪ hb ; eco ; hb) ; [Fsc]
/// psc      = psc_base ∪ psc_F
/// ```
#[derive(Clone, Debug, Default)]
pub struct Psc {
    events: Vec<Event>,
    hb: Relation,
    /// `po≠loc`: program order between events that do not access the same location.
    po_other: Relation,
    scb: Relation,
    /// `[Fsc] ; hb`
    from_fence: Relation,
    /// `hb ; [Fsc]`
    to_fence: Relation,
    /// `[SC] ∪ [Fsc] ; hb?`
    from_sc: Relation,
    /// `[SC] ∪ hb? ; [Fsc]`
    to_sc: Relation,
    eco: Relation,
    /// The first composition of two.
    via: Relation,
    psc: Relation,
    /// The set of events that may still be on a cycle.
    left: Vec<u64>,
}

impl Psc {
    /// SC: whether `psc` of a graph is acyclic.
    pub fn is_acyclic(&mut self, graph: &impl Graph) -> bool {
        self.compute(graph);
        self.psc.is_acyclic_with(&mut self.left)
    }

    /// `psc` of a graph.
    pub fn of(&mut self, graph: &impl Graph) -> &Relation {
        self.compute(graph);
        &self.psc
    }

    fn compute(&mut self, graph: &impl Graph) {
        self.read(graph);
        self.complete_scb();
        self.separate_fences();
        self.psc.clear(self.events.len());
        self.add_psc_base();
        self.add_psc_fences();
    }

    /// Reads `hb`, `po≠loc`, and `scb` without `po≠loc ; hb ; po≠loc`.
    #[inline]
    fn read(&mut self, graph: &impl Graph) {
        let n = graph.event_count();
        self.events.clear();
        self.events.extend((0..n).map(|event| graph.event(event)));
        for relation in [&mut self.hb, &mut self.po_other, &mut self.scb] {
            relation.clear(n);
        }
        for (b, after) in self.events.iter().enumerate() {
            let is_before = graph.past(b);
            for (a, before) in self.events.iter().enumerate() {
                let same_location = same_location(before, after);
                let mut scb = mo(before, after) || fr(before, after);
                if is_before(a) {
                    self.hb.insert(a, b);
                    let po = before.thread == after.thread;
                    if po && !same_location {
                        self.po_other.insert(a, b);
                    }
                    scb |= po || same_location;
                }
                if scb {
                    self.scb.insert(a, b);
                }
            }
        }
    }

    /// Adds `po≠loc ; hb ; po≠loc` to `scb`.
    fn complete_scb(&mut self) {
        self.via.clear(self.events.len());
        self.via.add_composition(&self.po_other, &self.hb);
        self.scb.add_composition(&self.via, &self.po_other);
    }

    /// Restricts `hb` to the SC fences on either side, and adds the identity on all SC events.
    fn separate_fences(&mut self) {
        let n = self.events.len();
        for relation in [&mut self.from_fence, &mut self.to_fence, &mut self.from_sc, &mut self.to_sc] {
            relation.clear(n);
        }
        for (number, event) in self.events.iter().enumerate().filter(|(_, event)| event.is_sc()) {
            self.from_sc.insert(number, number);
            self.to_sc.insert(number, number);
            if event.is_fence() {
                self.from_sc.add_successors(number, &self.hb, number);
                self.from_fence.add_successors(number, &self.hb, number);
                for before in (0..n).filter(|&before| self.hb.has(before, number)) {
                    self.to_sc.insert(before, number);
                    self.to_fence.insert(before, number);
                }
            }
        }
    }

    /// Adds `([SC] ∪ [Fsc] ; hb?) ; scb ; ([SC] ∪ hb? ; [Fsc])`.
    fn add_psc_base(&mut self) {
        self.via.clear(self.events.len());
        self.via.add_composition(&self.from_sc, &self.scb);
        self.psc.add_composition(&self.via, &self.to_sc);
    }

    /// Adds `[Fsc] ; (hb ∪ hb ; eco ; hb) ; [Fsc]`.
    fn add_psc_fences(&mut self) {
        let n = self.events.len();
        let is_sc_fence = |event: &Event| event.is_sc() && event.is_fence();
        if !self.events.iter().any(is_sc_fence) {
            return;
        }
        for (number, _) in self.events.iter().enumerate().filter(|(_, event)| is_sc_fence(event)) {
            self.psc.add_successors(number, &self.to_fence, number);
        }
        self.eco.clear(n);
        for (a, before) in self.events.iter().enumerate().filter(|(_, event)| event.location.is_some()) {
            for (b, _) in self.events.iter().enumerate().filter(|(_, after)| eco(before, after)) {
                self.eco.insert(a, b);
            }
        }
        self.via.clear(n);
        self.via.add_composition(&self.from_fence, &self.eco);
        self.psc.add_composition(&self.via, &self.to_fence);
    }
}
