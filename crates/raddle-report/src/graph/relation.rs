//! Binary relations over a few events, as matrices.

/// A relation between events that are numbered from 0.
pub(super) struct Relation {
    size: usize,
    rows: Vec<bool>,
}

impl Relation {
    /// The relation between events `0..size` that holds where `holds` says so.
    pub(super) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let pairs = (0..size).flat_map(|a| (0..size).map(move |b| (a, b)));
        Relation { size, rows: pairs.map(|(a, b)| holds(a, b)).collect() }
    }

    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a * self.size + b]
    }

    /// Union in place.
    pub(super) fn add(&mut self, other: &Relation) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Composition: `self ; other`.
    pub(super) fn then(&self, other: &Relation) -> Relation {
        Relation::of(self.size, |a, b| (0..self.size).any(|via| self.has(a, via) && other.has(via, b)))
    }
}
