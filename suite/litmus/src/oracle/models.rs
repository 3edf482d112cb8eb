//! The axioms.
//!
//! RC11 is that of Lahav, Vafeiadis, Kang, Hur and Dreyer, *Repairing Sequential Consistency in C/C++11* (PLDI 2017), with the
//! release sequences of C++20: a chain of read-modify-writes, without the later writes of the same thread. That no value comes
//! out of thin air needs no axiom here: graphs are built so that program order and reads-from have no cycle.

use std::sync::atomic::Ordering::SeqCst;

use super::graph::{Graph, Kind};
use super::relation::Relation;

/// A memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// C++20's, repaired.
    Rc11,
}

impl Model {
    /// All of them.
    pub const ALL: [Model; 2] = [Model::Sc, Model::Rc11];

    /// Whether the model allows the graph.
    ///
    /// What it forbids stays forbidden when events are added at the ends of threads: all axioms say that some relation has no
    /// cycle, and relations only grow.
    pub fn allows(self, graph: &Graph) -> bool {
        atomic(graph)
            && match self {
                Model::Sc => sequentially_consistent(graph),
                Model::Rc11 => repaired_c11(graph),
            }
    }
}

/// Nothing comes between the read and the write of a read-modify-write: `rmw ∩ (fr;co) = ∅`.
fn atomic(graph: &Graph) -> bool {
    let between = graph.from_reads().then(&graph.coherence());
    graph.rmw.iter().all(|&(read, write)| !between.contains(read, write))
}

/// `acyclic(po ∪ rf ∪ co ∪ fr)`.
fn sequentially_consistent(graph: &Graph) -> bool {
    graph.po.or(&graph.reads_from()).or(&graph.coherence()).or(&graph.from_reads()).acyclic()
}

fn repaired_c11(graph: &Graph) -> bool {
    let hb = happens_before(graph);
    let (rf, co, fr) = (graph.reads_from(), graph.coherence(), graph.from_reads());
    let eco = rf.or(&co).or(&fr).transitive();
    hb.then(&eco.optional()).irreflexive() && sc_order_exists(graph, &hb, &eco, &co, &fr)
}

/// `hb = (po ∪ sw)+`.
fn happens_before(graph: &Graph) -> Relation {
    graph.po.or(&synchronises_with(graph)).transitive()
}

/// `sw = [⊒rel];([F];po)?;[W];(rf;rmw)*;rf;[R];(po;[F])?;[⊒acq]`.
fn synchronises_with(graph: &Graph) -> Relation {
    let events = graph.events.len();
    let writes = graph.set(|event| event.kind == Kind::Write);
    let reads = graph.set(|event| event.kind == Kind::Read);
    let fences = graph.set(|event| event.kind == Kind::Fence);
    let releases = graph.set(|event| event.releases());
    let acquires = graph.set(|event| event.acquires());

    let rf = graph.reads_from();
    let release_sequence =
        rf.then(&graph.read_modify_write()).transitive().optional().between(writes, writes);
    let from_release =
        graph.po.between(fences & releases, writes).or(&Relation::identity(events, writes & releases));
    let to_acquire =
        graph.po.between(reads, fences & acquires).or(&Relation::identity(events, reads & acquires));
    from_release.then(&release_sequence).then(&rf).then(&to_acquire)
}

/// `acyclic(psc_base ∪ psc_F)`.
fn sc_order_exists(graph: &Graph, hb: &Relation, eco: &Relation, co: &Relation, fr: &Relation) -> bool {
    let events = graph.events.len();
    let sc = graph.set(|event| event.order == SeqCst);
    if sc == 0 {
        return true;
    }
    let sc_fences = graph.set(|event| event.order == SeqCst && event.kind == Kind::Fence);

    // scb = po ∪ po≠loc;hb;po≠loc ∪ hb|loc ∪ co ∪ fr
    let po_elsewhere = graph.po.filter(|a, b| !graph.same_location(a, b));
    let hb_same = hb.filter(|a, b| graph.same_location(a, b));
    let scb = graph.po.or(&po_elsewhere.then(hb).then(&po_elsewhere)).or(&hb_same).or(co).or(fr);

    // psc_base = ([SC] ∪ [Fsc];hb?);scb;([SC] ∪ hb?;[Fsc])
    let all = graph.set(|_| true);
    let all_sc = Relation::identity(events, sc);
    let begin = all_sc.or(&hb.optional().between(sc_fences, all));
    let end = all_sc.or(&hb.optional().between(all, sc_fences));
    let base = begin.then(&scb).then(&end);

    // psc_F = [Fsc];(hb ∪ hb;eco;hb);[Fsc]
    let fences = hb.or(&hb.then(eco).then(hb)).between(sc_fences, sc_fences);
    base.or(&fences).acyclic()
}
