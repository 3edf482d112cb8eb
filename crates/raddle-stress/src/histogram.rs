//! How often each outcome occurred, counted by one thread.
//!
//! An open-addressing table with linear probing. A count of a known outcome hashes the results and compares them once: nothing is
//! allocated or cloned. Outcomes with panics are rare, and kept apart.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// The most different outcomes that are told apart. A program with more has results that are no outcomes, such as addresses or times.
const MOST: usize = 1 << 16;

/// The counts of one thread.
#[derive(Debug)]
pub(crate) struct Histogram<T> {
    /// Results of an outcome.
    width: usize,
    /// The results of all outcomes, `width` of each.
    keys: Vec<T>,
    /// **Invariant:** the length is a power of 2, and at least twice the number of outcomes.
    slots: Vec<Slot>,
    used: usize,
    panics: HashMap<Vec<Result<T, String>>, u64>,
    /// Executions with outcomes beyond the most that are told apart.
    overflow: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    /// 0 if the slot is free.
    count: u64,
    /// The number of the outcome in `keys`.
    key: usize,
}

impl<T: Clone + Eq + Hash> Histogram<T> {
    pub(crate) fn new(width: usize) -> Histogram<T> {
        let slots = vec![Slot::default(); 64];
        Histogram { width, keys: Vec::new(), slots, used: 0, panics: HashMap::new(), overflow: 0 }
    }

    /// Counts an execution in which every actor returned.
    #[inline]
    pub(crate) fn count(&mut self, results: &[&T]) {
        self.add(results, 1);
    }

    /// Counts an execution in which actors panicked.
    pub(crate) fn count_panic(&mut self, results: Vec<Result<T, String>>) {
        if self.panics.len() < MOST || self.panics.contains_key(&results) {
            *self.panics.entry(results).or_default() += 1;
        } else {
            self.overflow += 1;
        }
    }

    /// The outcomes without panics.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&[T], u64)> {
        let width = self.width;
        let key = move |slot: &Slot| &self.keys[slot.key * width..][..width];
        self.slots.iter().filter(|slot| slot.count > 0).map(move |slot| (key(slot), slot.count))
    }

    /// The outcomes with panics.
    pub(crate) fn panics(&self) -> impl Iterator<Item = (&Vec<Result<T, String>>, u64)> {
        self.panics.iter().map(|(results, count)| (results, *count))
    }

    /// Executions counted.
    pub(crate) fn executions(&self) -> u64 {
        let counts = self.slots.iter().map(|slot| slot.count).chain(self.panics.values().copied());
        counts.sum::<u64>() + self.overflow
    }

    pub(crate) fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(&mut self, other: &Histogram<T>) {
        for (results, count) in other.counts() {
            self.add(&results.iter().collect::<Vec<_>>(), count);
        }
        for (results, count) in other.panics() {
            *self.panics.entry(results.clone()).or_default() += count;
        }
        self.overflow += other.overflow;
    }

    fn add(&mut self, results: &[&T], count: u64) {
        let hash = hash(results);
        let mut at = hash as usize & (self.slots.len() - 1);
        loop {
            let slot = &mut self.slots[at];
            if slot.count == 0 {
                break;
            }
            let key = &self.keys[slot.key * self.width..][..self.width];
            if slot.hash == hash && results.iter().zip(key).all(|(a, b)| **a == *b) {
                slot.count += count;
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        if self.used == MOST {
            self.overflow += count;
            return;
        }
        self.slots[at] = Slot { hash, count, key: self.used };
        self.keys.extend(results.iter().map(|&result| result.clone()));
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mut slots = vec![Slot::default(); 2 * self.slots.len()];
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            let mut at = slot.hash as usize & (slots.len() - 1);
            while slots[at].count > 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

fn hash<T: Hash>(results: &[&T]) -> u64 {
    let mut hasher = Multiply(0);
    for result in results {
        result.hash(&mut hasher);
    }
    // The low bits choose the slot, and a multiplication leaves them poor.
    hasher.0 ^ (hasher.0 >> 32)
}

/// A hash by multiplication: a few cycles for a small number.
struct Multiply(u64);

impl Multiply {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.mix(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.mix(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn counts_agree_with_a_map() {
        let mut rng = Rng::new(1, 0);
        for values in [1, 3, 40, 2000] {
            let (mut histogram, mut other) = (Histogram::new(2), Histogram::new(2));
            let mut map: HashMap<Vec<u64>, u64> = HashMap::new();
            for _ in 0..20_000 {
                let (a, b) = (rng.next() % values, rng.next() % values);
                let half = if rng.next().is_multiple_of(2) { &mut histogram } else { &mut other };
                half.count(&[&a, &b]);
                *map.entry(vec![a, b]).or_default() += 1;
            }
            histogram.merge(&other);
            let counted: HashMap<Vec<u64>, u64> =
                histogram.counts().map(|(key, n)| (key.to_vec(), n)).collect();
            assert_eq!(counted, map);
            assert_eq!(histogram.overflow(), 0);
        }
    }

    #[test]
    fn outcomes_without_end_are_only_counted() {
        let mut histogram = Histogram::new(1);
        for value in 0..MOST + 10 {
            histogram.count(&[&value]);
        }
        assert_eq!((histogram.counts().count(), histogram.overflow()), (MOST, 10));
        histogram.count(&[&0]);
        assert!(histogram.counts().any(|(key, count)| key == [0] && count == 2));
    }

    #[test]
    fn panics_are_outcomes_of_their_own() {
        let mut histogram = Histogram::new(2);
        histogram.count_panic(vec![Ok(1), Err("no".to_owned())]);
        histogram.count_panic(vec![Ok(1), Err("no".to_owned())]);
        histogram.count(&[&1, &2]);
        assert_eq!(histogram.panics().map(|(_, count)| count).collect::<Vec<_>>(), [2]);
        assert_eq!(histogram.counts().count(), 1);
    }
}
