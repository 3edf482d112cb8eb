//! Where generators get their numbers.

use std::ops::RangeInclusive;

use crate::engine::rng::Rng;

/// The numbers that a generator draws. Smaller numbers stand for simpler values; 0 for the simplest.
#[derive(Debug)]
pub struct Source<'a> {
    from: From<'a>,
    drawn: Vec<u64>,
    thread: usize,
}

#[derive(Debug)]
enum From<'a> {
    Random(&'a mut Rng, &'a mut Growth),
    Numbers(&'a [u64]),
}

/// How wide the ranges of a scenario have become.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    width: u64,
}

impl<'a> Source<'a> {
    pub(crate) fn random(random: &'a mut Rng, growth: &'a mut Growth, thread: usize) -> Source<'a> {
        Source { from: From::Random(random, growth), drawn: Vec::new(), thread }
    }

    /// A source of given numbers, and of zeros after them.
    pub(crate) fn numbers(numbers: &'a [u64], thread: usize) -> Source<'a> {
        Source { from: From::Numbers(numbers), drawn: Vec::new(), thread }
    }

    /// The numbers that were drawn.
    pub(crate) fn into_drawn(self) -> Vec<u64> {
        self.drawn
    }

    /// A number below `bound`, each with the same probability.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "raddle: there is no number below 0 to draw");
        self.draw(bound - 1, |random, _| random.next() % bound)
    }

    /// Any number, each with the same probability.
    pub fn any(&mut self) -> u64 {
        self.draw(u64::MAX, |random, _| random.next())
    }

    /// `most` when values are made up; any smaller number when they are made simpler.
    #[cfg(feature = "proptest")]
    pub(crate) fn at_first(&mut self, most: u64) -> u64 {
        self.draw(most, |_, _| most)
    }

    /// A number up to `most`: small ones at first, larger ones as the scenario grows. Each time, with some probability, the
    /// range becomes wider by one and its new end is drawn; otherwise one within.
    pub fn small(&mut self, most: u64) -> u64 {
        self.draw(most, |random, growth| {
            if random.next() % 100 < 35 {
                growth.width += 1;
                return growth.width.min(most);
            }
            random.next() % (growth.width.min(most) + 1)
        })
    }

    /// An integer of the range, near to zero at first.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn int<I: Integer>(&mut self, range: RangeInclusive<I>) -> I {
        let (low, high) = (range.start().widen(), range.end().widen());
        assert!(low <= high, "raddle: there is no number in an empty range");
        let most = u64::try_from(high - low).unwrap_or(u64::MAX);
        I::narrow(nth_from_zero(low, high, self.small(most)))
    }

    /// True or false.
    pub fn bool(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of the values; the first is the simplest.
    ///
    /// # Panics
    /// If there are none.
    pub fn choose<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len() as u64) as usize]
    }

    /// The thread that the operation is called by: see [`thread_id`](super::thread_id).
    pub fn thread(&self) -> usize {
        self.thread
    }

    fn draw(&mut self, most: u64, pick: impl FnOnce(&mut Rng, &mut Growth) -> u64) -> u64 {
        let number = match &mut self.from {
            From::Random(random, growth) => pick(random, growth),
            From::Numbers(numbers) => numbers.get(self.drawn.len()).copied().unwrap_or(0),
        };
        let number = number.min(most);
        self.drawn.push(number);
        number
    }
}

/// The `n`th integer of the range by distance from zero, the positive one first.
fn nth_from_zero(low: i128, high: i128, n: u64) -> i128 {
    let origin = 0.clamp(low, high);
    let (up, down) = (high - origin, origin - low);
    let both = up.min(down);
    let n = i128::from(n);
    if n > 2 * both {
        let distance = n - both;
        return if up > down { origin + distance } else { origin - distance };
    }
    let distance = (n + 1) / 2;
    if n % 2 == 1 { origin + distance } else { origin - distance }
}

/// An integer type.
pub trait Integer: Copy + PartialOrd + Send + Sync + 'static {
    /// Its smallest value.
    const MIN: Self;
    /// Its largest value.
    const MAX: Self;
    /// The same number, wider.
    fn widen(self) -> i128;
    /// The same number, which is in range.
    fn narrow(number: i128) -> Self;
}

macro_rules! integer {
    ($($type:ident),*) => {$(
        impl Integer for $type {
            const MIN: $type = $type::MIN;
            const MAX: $type = $type::MAX;

            fn widen(self) -> i128 {
                self as i128
            }

            fn narrow(number: i128) -> $type {
                number as $type
            }
        }
    )*};
}
integer!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_of_a_range_has_one_number() {
        for (low, high) in [(-3, 7), (-7, 3), (2, 9), (-9, -2), (0, 0), (-1, 0)] {
            let count = (high - low + 1) as u64;
            let mut all: Vec<i128> = (0..count).map(|n| nth_from_zero(low, high, n)).collect();
            assert!(all.is_sorted_by_key(|value| (value - 0.clamp(low, high)).abs()), "{all:?}");
            all.sort_unstable();
            assert_eq!(all, (low..=high).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ranges_may_be_as_wide_as_their_type() {
        assert_eq!(Source::numbers(&[u64::MAX], 0).int(i64::MIN..=i64::MAX), i64::MIN);
        assert_eq!(Source::numbers(&[u64::MAX], 0).int(0..=u64::MAX), u64::MAX);
    }

    #[test]
    fn the_same_numbers_make_the_same_values() {
        let (mut random, mut growth) = (Rng::new(7), Growth::default());
        for _ in 0..100 {
            let draw =
                |source: &mut Source<'_>| (source.int(-5..=5), source.bool(), *source.choose(&[1, 2, 3]));
            let mut source = Source::random(&mut random, &mut growth, 0);
            let value = draw(&mut source);
            let drawn = source.into_drawn();
            assert_eq!(draw(&mut Source::numbers(&drawn, 0)), value);
        }
    }

    #[test]
    fn values_are_small_and_collide_at_first() {
        let (mut random, mut growth) = (Rng::new(0), Growth::default());
        let values: Vec<i32> =
            (0..10).map(|_| Source::random(&mut random, &mut growth, 0).int(i32::MIN..=i32::MAX)).collect();
        assert!(values.iter().all(|value| value.abs() <= 5), "{values:?}");
        assert!(values.iter().any(|a| values.iter().filter(|b| a == *b).count() > 1), "{values:?}");
    }
}
