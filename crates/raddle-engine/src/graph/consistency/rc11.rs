//! The part of RC11 that is not seen to when events are added: the order of sequentially consistent accesses and fences.
//!
//! Coherence, atomicity and the absence of values out of thin air hold by construction: a read only takes writes that
//! coherence lets it see, a read-modify-write stands right behind its source, and a read comes after the write it reads.
//!
//! With `scb = po ∪ po≠loc;hb;po≠loc ∪ hb|loc ∪ co ∪ fr`, the relation
//! `([SC] ∪ [Fsc];hb?) ; scb ; ([SC] ∪ hb?;[Fsc])  ∪  [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]`
//! must have no cycle (Lahav et al., PLDI 2017).

use super::sc;
use crate::graph::event::{Access, Event, EventId, INIT, NONE};
use crate::graph::{Graph, Scratch, covers};
use crate::op::Order;

/// Relations between events, as rows of bits.
#[derive(Debug, Default)]
pub(crate) struct Matrices {
    words: usize,
    hb: Vec<u64>,
    po_elsewhere: Vec<u64>,
    scb: Vec<u64>,
    row: Vec<u64>,
    reach: Vec<u64>,
    sc: Vec<EventId>,
    edges: Vec<u64>,
    /// For each event the ranks of what it reads and of what it writes.
    ranks: Vec<(Option<usize>, Option<usize>)>,
}

impl Matrices {
    fn row_of<'a>(&self, matrix: &'a [u64], row: usize) -> &'a [u64] {
        &matrix[row * self.words..][..self.words]
    }
}

fn set(matrix: &mut [u64], words: usize, row: usize, column: usize) {
    matrix[row * words + column / 64] |= 1 << (column % 64);
}

fn bits(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(word, &bits)| {
        std::iter::successors((bits != 0).then_some(bits), |&bits| {
            Some(bits & (bits - 1)).filter(|&b| b != 0)
        })
        .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}

pub(crate) fn is_sc(event: &Event) -> bool {
    event.order == Order::SeqCst
        && !event.blocked
        && (event.location != NONE || event.access == Access::Fence)
}

/// Whether the accesses and fences that are sequentially consistent have an order, given that they had before `changed` was
/// added.
pub(crate) fn is_consistent(graph: &Graph, changed: EventId, scratch: &mut Scratch) -> bool {
    // Where all of memory is still sequentially consistent, there is one.
    if graph.sc < 2 || sc::is_consistent(graph, changed, scratch) {
        return true;
    }
    let m = &mut scratch.rc11;
    m.sc.clear();
    m.sc.extend((0..graph.len() as EventId).filter(|&id| is_sc(graph.event(id))));
    build(graph, m);
    has_no_cycle(m)
}

/// Whether `a` comes before `b` by what they read and wrote of their place.
fn eco(a: (Option<usize>, Option<usize>), b: (Option<usize>, Option<usize>)) -> bool {
    let less = |x: Option<usize>, y: Option<usize>| matches!((x, y), (Some(x), Some(y)) if x < y);
    let at_most = |x: Option<usize>, y: Option<usize>| matches!((x, y), (Some(x), Some(y)) if x <= y);
    less(a.1, b.1) || at_most(a.1, b.0) || less(a.0, b.1) || less(a.0, b.0)
}

fn build(graph: &Graph, m: &mut Matrices) {
    let n = graph.len();
    let words = n.div_ceil(64);
    m.words = words;
    for matrix in [&mut m.hb, &mut m.po_elsewhere, &mut m.scb] {
        matrix.clear();
        matrix.resize(n * words, 0);
    }
    m.ranks.clear();
    for (id, event) in graph.events.iter().enumerate() {
        if event.location == NONE || event.blocked {
            m.ranks.push((None, None));
            continue;
        }
        let read = event
            .reads()
            .then(|| if event.rf == INIT { 0 } else { graph.co_index(event.location, event.rf) });
        let written = event.writes().then(|| graph.co_index(event.location, id as EventId));
        m.ranks.push((read, written));
    }
    for (b, after) in graph.events.iter().enumerate() {
        if after.blocked {
            continue;
        }
        let view = graph.hb.row(b);
        for (a, before) in graph.events.iter().enumerate() {
            if a == b || before.blocked {
                continue;
            }
            let same_place = before.location == after.location && before.location != NONE;
            if covers(view, before) {
                set(&mut m.hb, words, a, b);
                if before.thread == after.thread {
                    set(&mut m.scb, words, a, b);
                    if !same_place {
                        set(&mut m.po_elsewhere, words, a, b);
                    }
                }
                if same_place {
                    set(&mut m.scb, words, a, b);
                }
            }
            if same_place {
                let ((read, written), (_, later)) = (m.ranks[a], m.ranks[b]);
                let co = matches!((written, later), (Some(x), Some(y)) if x < y);
                let fr = matches!((read, later), (Some(x), Some(y)) if x < y);
                if co || fr {
                    set(&mut m.scb, words, a, b);
                }
            }
        }
    }
    // po≠loc;hb;po≠loc
    for a in 0..n {
        m.row.clear();
        m.row.resize(words, 0);
        for x in bits(&m.po_elsewhere[a * words..][..words]) {
            or(&mut m.row, &m.hb[x * words..][..words]);
        }
        m.reach.clear();
        m.reach.resize(words, 0);
        for y in bits(&m.row) {
            or(&mut m.reach, &m.po_elsewhere[y * words..][..words]);
        }
        or(&mut m.scb[a * words..][..words], &m.reach);
    }
    // The relation between the events that are sequentially consistent.
    let sc_words = m.sc.len().div_ceil(64);
    m.edges.clear();
    m.edges.resize(m.sc.len() * sc_words, 0);
    for i in 0..m.sc.len() {
        let s = m.sc[i] as usize;
        let s_fence = graph.events[s].access == Access::Fence;
        m.reach.clear();
        m.reach.extend_from_slice(&m.scb[s * words..][..words]);
        if s_fence {
            for x in bits(&m.hb[s * words..][..words]) {
                or(&mut m.reach, &m.scb[x * words..][..words]);
            }
        }
        // What the fence reaches by hb;eco.
        m.row.clear();
        m.row.resize(words, 0);
        if s_fence {
            for x in bits(&m.hb[s * words..][..words]) {
                for (b, &ranks) in m.ranks.iter().enumerate() {
                    let (before, after) = (&graph.events[x], &graph.events[b]);
                    if b != x
                        && before.location == after.location
                        && before.location != NONE
                        && eco(m.ranks[x], ranks)
                    {
                        m.row[b / 64] |= 1 << (b % 64);
                    }
                }
            }
        }
        for (j, &t) in m.sc.iter().enumerate() {
            let t = t as usize;
            let t_fence = graph.events[t].access == Access::Fence;
            let has = |row: &[u64], column: usize| row[column / 64] >> (column % 64) & 1 == 1;
            let then_hb = |row: &[u64]| bits(row).any(|y| has(m.row_of(&m.hb, y), t));
            let base = has(&m.reach, t) || (t_fence && then_hb(&m.reach));
            let fences = s_fence && t_fence && (has(m.row_of(&m.hb, s), t) || then_hb(&m.row));
            if base || fences {
                set(&mut m.edges, sc_words, i, j);
            }
        }
    }
}

fn or(row: &mut [u64], other: &[u64]) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine |= theirs;
    }
}

fn has_no_cycle(m: &mut Matrices) -> bool {
    // Events without predecessors among those left are taken away until none is left.
    let words = m.sc.len().div_ceil(64);
    let mut left: Vec<usize> = (0..m.sc.len()).collect();
    loop {
        let edge = |from: usize, to: usize| m.edges[from * words + to / 64] >> (to % 64) & 1 == 1;
        let before = left.len();
        let all = left.clone();
        left.retain(|&to| all.iter().any(|&from| edge(from, to)));
        if left.is_empty() {
            return true;
        }
        if left.len() == before {
            return false;
        }
    }
}
