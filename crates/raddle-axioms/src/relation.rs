//! Binary relations over the events of an execution, as matrices of bits.

/// A binary relation over the events `0..events`.
///
/// The methods that take `&mut self` use the memory of the relation again; the others return a new relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    events: usize,
    /// The words of a row.
    words: usize,
    /// For each event, the set of its successors.
    rows: Vec<u64>,
}

impl Relation {
    /// The empty relation over `events` events.
    pub fn empty(events: usize) -> Relation {
        let mut relation = Relation::default();
        relation.clear(events);
        relation
    }

    /// The relation of the pairs for which `holds` is true.
    pub fn of(events: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::empty(events);
        for a in 0..events {
            (0..events).filter(|&b| holds(a, b)).for_each(|b| relation.insert(a, b));
        }
        relation
    }

    /// `[set]`: the identity on the events of a set.
    pub fn identity(events: usize, set: impl Fn(usize) -> bool) -> Relation {
        Relation::of(events, |a, b| a == b && set(a))
    }

    /// Makes the relation the empty one over `events` events.
    #[inline]
    pub fn clear(&mut self, events: usize) {
        self.events = events;
        self.words = events.div_ceil(64);
        self.rows.clear();
        self.rows.resize(events * self.words, 0);
    }

    /// Adds a pair.
    #[inline]
    pub fn insert(&mut self, a: usize, b: usize) {
        self.rows[a * self.words + b / 64] |= 1 << (b % 64);
    }

    /// Whether a pair is in the relation.
    #[inline]
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// The successors of an event, in ascending order.
    #[inline]
    pub fn successors(&self, a: usize) -> impl Iterator<Item = usize> + '_ {
        bits(self.row(a))
    }

    /// Adds `a × successors`, where the successors are those of `b` in another relation.
    #[inline]
    pub fn add_successors(&mut self, a: usize, other: &Relation, b: usize) {
        let words = self.words;
        add(&mut self.rows[a * words..][..words], other.row(b));
    }

    /// Adds `first ; second`.
    #[inline]
    pub fn add_composition(&mut self, first: &Relation, second: &Relation) {
        let words = self.words;
        for a in 0..self.events {
            let row = &mut self.rows[a * words..][..words];
            bits(first.row(a)).for_each(|via| add(row, second.row(via)));
        }
    }

    /// Union.
    pub fn or(&self, other: &Relation) -> Relation {
        let mut union = self.clone();
        add(&mut union.rows, &other.rows);
        union
    }

    /// Composition: `self ; other`.
    pub fn then(&self, other: &Relation) -> Relation {
        let mut composition = Relation::empty(self.events);
        composition.add_composition(self, other);
        composition
    }

    /// The pairs for which `holds` is true.
    pub fn only(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
        Relation::of(self.events, |a, b| self.has(a, b) && holds(a, b))
    }

    /// `self⁺`: the transitive closure, by Warshall's algorithm.
    pub fn transitive(&self) -> Relation {
        let mut closure = self.clone();
        for via in 0..self.events {
            let successors = closure.row(via).to_vec();
            for a in 0..self.events {
                if closure.has(a, via) {
                    add(&mut closure.rows[a * self.words..][..self.words], &successors);
                }
            }
        }
        closure
    }

    /// `self?`: the reflexive closure.
    pub fn optional(&self) -> Relation {
        self.or(&Relation::identity(self.events, |_| true))
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.events).all(|a| !self.has(a, a))
    }

    /// Whether the relation has no cycle.
    pub fn is_acyclic(&self) -> bool {
        self.is_acyclic_with(&mut Vec::new())
    }

    /// [`is_acyclic`](Relation::is_acyclic), in memory that is used again.
    #[inline]
    pub(crate) fn is_acyclic_with(&self, left: &mut Vec<u64>) -> bool {
        left.clear();
        left.resize(self.words, 0);
        (0..self.events).for_each(|event| left[event / 64] |= 1 << (event % 64));
        // An event without a successor among those left is on no cycle of them.
        loop {
            let mut has_changed = false;
            let mut is_empty = true;
            for event in (0..self.events).rev() {
                let (word, bit) = (event / 64, 1 << (event % 64));
                if left[word] & bit == 0 {
                    continue;
                }
                if self.row(event).iter().zip(&*left).all(|(successors, left)| successors & left == 0) {
                    left[word] &= !bit;
                    has_changed = true;
                } else {
                    is_empty = false;
                }
            }
            if is_empty || !has_changed {
                return is_empty;
            }
        }
    }

    #[inline]
    fn row(&self, a: usize) -> &[u64] {
        &self.rows[a * self.words..][..self.words]
    }
}

/// The elements of a set.
#[inline]
fn bits(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(word, &bits)| {
        let rest = |&bits: &u64| Some(bits & (bits - 1)).filter(|&rest| rest != 0);
        std::iter::successors((bits != 0).then_some(bits), rest)
            .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}

/// Adds the elements of one set to another.
#[inline]
fn add(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(mine, theirs)| *mine |= theirs);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `0 → 1 → … → events - 1`, which needs more than one word for a row.
    fn chain(events: usize) -> Relation {
        Relation::of(events, |a, b| a + 1 == b)
    }

    #[test]
    fn composition_follows_one_pair_of_each() {
        for events in [3, 64, 65, 130] {
            assert_eq!(chain(events).then(&chain(events)), Relation::of(events, |a, b| a + 2 == b));
        }
    }

    #[test]
    fn the_closure_of_a_chain_is_the_order() {
        for events in [0, 1, 64, 65, 130] {
            let closure = chain(events).transitive();
            assert_eq!(closure, Relation::of(events, |a, b| a < b));
            assert_eq!(closure.optional(), Relation::of(events, |a, b| a <= b));
            assert!(closure.is_irreflexive() && closure.is_acyclic());
        }
    }

    #[test]
    fn a_cycle_is_found_wherever_it_is() {
        for events in [2, 64, 65, 130] {
            let cycle = chain(events).or(&Relation::of(events, |a, b| (a, b) == (events - 1, 0)));
            assert!(!cycle.is_acyclic());
            assert_eq!(cycle.transitive(), Relation::of(events, |_, _| true));
            assert!(!Relation::identity(events, |event| event == events - 1).is_acyclic());
        }
    }

    #[test]
    fn successors_ascend() {
        let relation = Relation::of(130, |a, b| a == 1 && b % 63 == 1);
        assert_eq!(relation.successors(1).collect::<Vec<_>>(), [1, 64, 127]);
        assert_eq!(relation.successors(0).count(), 0);
    }

    #[test]
    fn a_relation_can_be_used_again() {
        let mut relation = Relation::of(130, |_, _| true);
        relation.clear(3);
        relation.insert(0, 2);
        relation.add_successors(1, &chain(3), 0);
        assert_eq!(relation, Relation::of(3, |a, b| (a, b) == (0, 2) || (a, b) == (1, 1)));
        assert_eq!(relation.only(|a, _| a == 0), Relation::of(3, |a, b| (a, b) == (0, 2)));
    }
}
