//! Sets of open operations: one machine word while that is enough, any number of words after.

use std::fmt::Debug;
use std::hash::Hash;

/// A set of small numbers.
pub(crate) trait Mask: Clone + Eq + Hash + Debug + Default {
    /// How many numbers fit.
    const CAPACITY: usize;

    fn contains(&self, bit: usize) -> bool;
    fn insert(&mut self, bit: usize);
    fn remove(&mut self, bit: usize);
    fn is_subset(&self, other: &Self) -> bool;
    /// `self` without the members of `other`.
    fn minus(&self, other: &Self) -> Self;
    fn heap_bytes(&self) -> usize;
}

impl Mask for u64 {
    const CAPACITY: usize = 64;

    fn contains(&self, bit: usize) -> bool {
        self >> bit & 1 == 1
    }

    fn insert(&mut self, bit: usize) {
        *self |= 1 << bit;
    }

    fn remove(&mut self, bit: usize) {
        *self &= !(1 << bit);
    }

    fn is_subset(&self, other: &Self) -> bool {
        self & !other == 0
    }

    fn minus(&self, other: &Self) -> Self {
        self & !other
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// As many words as the largest member needs: never a trailing zero word, so that equal sets are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Words(Vec<u64>);

impl Words {
    /// The members, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(i, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// Adds the members of `other`.
    pub(crate) fn unite(&mut self, other: &Words) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl From<u64> for Words {
    fn from(word: u64) -> Words {
        let mut words = Words(vec![word]);
        words.trim();
        words
    }
}

impl Mask for Words {
    const CAPACITY: usize = usize::MAX;

    fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn insert(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
            self.trim();
        }
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn minus(&self, other: &Self) -> Self {
        let theirs = other.0.iter().copied().chain(std::iter::repeat(0));
        let mut words = Words(self.0.iter().zip(theirs).map(|(a, b)| a & !b).collect());
        words.trim();
        words
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}
