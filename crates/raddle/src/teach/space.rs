//! All schedules of a length with a bound on their context switches: how many there are, and each by its number.
//!
//! A schedule of length `l` over `n` threads with exactly `c` context switches is a choice of the `c` places after which the thread changes,
//! out of `l - 1`, a first thread, and `c` times one of the other threads: `C(l - 1, c) n (n - 1)^c` schedules. They are numbered by `c`,
//! then by the places, then by the threads. Because the numbers are exactly `0..len`, the schedule of a uniform number is a
//! uniform schedule.

use crate::engine::rng::Rng;

use super::schedule::Schedule;

/// The schedules of a length with at most so many context switches.
///
/// ```
/// use raddle::teach::ScheduleSpace;
///
/// let space = ScheduleSpace::new(2, 3, 1);
/// let all: Vec<String> = space.iter().map(|schedule| schedule.to_string()).collect();
/// assert_eq!(all, ["1x3", "2x3", "1 2x2", "2 1x2", "1x2 2", "2x2 1"]);
/// assert_eq!(space.len(), 6);
/// ```
#[derive(Clone, Debug)]
pub struct ScheduleSpace {
    threads: u16,
    length: usize,
    /// Number of schedules with exactly so many context switches, by that number.
    counts: Vec<u128>,
    total: u128,
    /// `binomials[n][k]` is the number of choices of `k` places out of `n`.
    binomials: Vec<Vec<u128>>,
}

impl ScheduleSpace {
    /// The space of schedules of so many threads, with so many entries and at most so many context switches.
    ///
    /// # Panics
    /// If there are no threads, or more schedules than a number of 128 bits can tell apart.
    pub fn new(threads: u16, length: usize, switches: usize) -> ScheduleSpace {
        assert!(threads > 0, "a schedule needs a thread; ask for at least 1");
        let most = switches.min(length.saturating_sub(1));
        let count = |switches: usize| {
            if length == 0 {
                return Some(u128::from(switches == 0));
            }
            let others = u128::from(threads - 1).checked_pow(u32::try_from(switches).ok()?)?;
            binomial(length - 1, switches)?.checked_mul(others)?.checked_mul(threads.into())
        };
        let row = |n: usize| (0..=most).map(|k| binomial(n, k).unwrap_or(u128::MAX)).collect();
        let counts: Option<Vec<u128>> = (0..=most).map(count).collect();
        let total = counts
            .as_ref()
            .and_then(|counts| counts.iter().try_fold(0u128, |sum, &count| sum.checked_add(count)));
        let (Some(counts), Some(total)) = (counts, total) else {
            panic!(
                "there are more than 2^128 schedules of {threads} threads, length {length} and {switches} context switches; lower the \
                 length or the bound"
            )
        };
        ScheduleSpace { threads, length, counts, total, binomials: (0..length).map(row).collect() }
    }

    /// Number of schedules.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> u128 {
        self.total
    }

    /// The schedule with this number; none if there are not so many.
    pub fn get(&self, number: u128) -> Option<Schedule> {
        let mut threads = Vec::new();
        self.write(number, &mut threads).then(|| Schedule::from(threads))
    }

    /// All schedules: those with fewer context switches first.
    pub fn iter(&self) -> impl Iterator<Item = Schedule> {
        (0..self.total).filter_map(|number| self.get(number))
    }

    /// The schedule that belongs to a number of a sample: equal for equal seeds, and uniform over all schedules.
    pub fn sample(&self, seed: u64, number: u64) -> Schedule {
        let mut threads = Vec::new();
        self.write_sample(seed, number, &mut threads);
        Schedule::from(threads)
    }

    /// Writes the entries of a sampled schedule.
    pub(super) fn write_sample(&self, seed: u64, number: u64, entries: &mut Vec<u16>) {
        let mut rng = Rng::of_execution(seed, number);
        self.write(below(&mut rng, self.total), entries);
    }

    /// Writes the entries of the schedule with this number. False if there are not so many.
    pub(super) fn write(&self, mut number: u128, entries: &mut Vec<u16>) -> bool {
        entries.clear();
        let Some(mut switches) = self.counts.iter().position(|&count| {
            let here = number < count;
            number -= if here { 0 } else { count };
            here
        }) else {
            return false;
        };
        if self.length == 0 {
            return true;
        }
        let names = u128::from(self.threads) * u128::from(self.threads - 1).pow(switches as u32);
        let (mut places, mut names) = (number / names, number % names);
        let mut digit = |base: u16| {
            let digit = (names % u128::from(base)) as u16;
            names /= u128::from(base);
            digit
        };
        let mut thread = 1 + digit(self.threads);
        entries.push(thread);
        for left in (0..self.length - 1).rev() {
            // Of the schedules left, those that change here come first.
            let changing = if switches == 0 { 0 } else { self.binomials[left][switches - 1] };
            if places < changing {
                switches -= 1;
                let other = 1 + digit(self.threads - 1);
                thread = if other < thread { other } else { other + 1 };
            } else {
                places -= changing;
            }
            entries.push(thread);
        }
        true
    }
}

/// A uniform number below `bound`, without bias.
fn below(rng: &mut Rng, bound: u128) -> u128 {
    let mut draw = || u128::from(rng.next()) << 64 | u128::from(rng.next());
    // Numbers of the last, incomplete block are drawn again.
    let complete = u128::MAX - (u128::MAX % bound + 1) % bound;
    loop {
        let number = draw();
        if number <= complete {
            return number % bound;
        }
    }
}

/// `n` over `k`. None if it does not fit.
fn binomial(n: usize, k: usize) -> Option<u128> {
    if k > n {
        return Some(0);
    }
    let mut result = 1u128;
    for i in 0..k.min(n - k) {
        // Exact: the product of so many consecutive numbers is divisible by their count.
        result = result.checked_mul((n - i) as u128)? / (i as u128 + 1);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// All words, filtered by their context switches.
    fn by_definition(threads: u16, length: usize, switches: usize) -> BTreeSet<Schedule> {
        let mut words = vec![Vec::new()];
        for _ in 0..length {
            words = words
                .into_iter()
                .flat_map(|word: Vec<u16>| (1..=threads).map(move |thread| [&word[..], &[thread]].concat()))
                .collect();
        }
        words.into_iter().map(Schedule::from).filter(|schedule| schedule.switches() <= switches).collect()
    }

    #[test]
    fn the_numbers_name_every_schedule_once() {
        for threads in 1..=4 {
            for length in 0..=5 {
                for switches in 0..=5 {
                    let space = ScheduleSpace::new(threads, length, switches);
                    let named: Vec<Schedule> = space.iter().collect();
                    let distinct: BTreeSet<Schedule> = named.iter().cloned().collect();
                    assert_eq!(named.len(), distinct.len(), "{threads} {length} {switches}");
                    assert_eq!(named.len() as u128, space.len());
                    assert_eq!(distinct, by_definition(threads, length, switches));
                    assert!(named.is_sorted_by_key(Schedule::switches));
                    assert_eq!(space.get(space.len()), None);
                }
            }
        }
    }

    /// Pearson's statistic of a sample, and the number of cells.
    fn chi_square(space: &ScheduleSpace, seed: u64, samples: u64) -> (f64, usize) {
        let mut seen: BTreeMap<Schedule, u64> = space.iter().map(|schedule| (schedule, 0)).collect();
        for number in 0..samples {
            *seen.get_mut(&space.sample(seed, number)).expect("a sample is one of the schedules") += 1;
        }
        let expected = samples as f64 / seen.len() as f64;
        (seen.values().map(|&count| (count as f64 - expected).powi(2) / expected).sum(), seen.len())
    }

    #[test]
    fn samples_are_uniform() {
        for (threads, length, switches) in [(2, 6, 2), (3, 4, 3), (3, 5, 1), (5, 3, 2)] {
            let space = ScheduleSpace::new(threads, length, switches);
            let (statistic, cells) = chi_square(&space, 0xcafe, 200 * space.len() as u64);
            // The statistic has a mean of the degrees of freedom and a variance of twice that: four deviations are never reached
            // by chance.
            let freedom = cells as f64 - 1.0;
            assert!(statistic < freedom + 4.0 * (2.0 * freedom).sqrt(), "{statistic} with {freedom} degrees");
        }
    }

    /// The walk of the original: each entry uniform until the bound is used up, and then no change.
    #[test]
    fn a_random_walk_would_be_told_apart() {
        let space = ScheduleSpace::new(2, 6, 2);
        let mut seen: BTreeMap<Schedule, u64> = space.iter().map(|schedule| (schedule, 0)).collect();
        let samples = 200 * space.len() as u64;
        let mut rng = Rng::new(0xcafe);
        for _ in 0..samples {
            let mut entries = vec![1 + rng.below(2) as u16];
            let mut left = 2;
            for _ in 1..6 {
                let before = *entries.last().expect("there is a first");
                let next = if left > 0 { 1 + rng.below(2) as u16 } else { before };
                left -= usize::from(next != before);
                entries.push(next);
            }
            *seen.get_mut(&Schedule::from(entries)).expect("within the bound") += 1;
        }
        let expected = samples as f64 / seen.len() as f64;
        let statistic: f64 = seen.values().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        let freedom = seen.len() as f64 - 1.0;
        assert!(statistic > 10.0 * freedom, "{statistic}");
    }

    #[test]
    fn samples_depend_on_seed_and_number_only() {
        let space = ScheduleSpace::new(3, 60, 10);
        assert_eq!(space.sample(7, 3), space.sample(7, 3));
        assert_ne!(space.sample(7, 3), space.sample(8, 3));
        assert_ne!(space.sample(7, 3), space.sample(7, 4));
        assert!((0..100).all(|number| space.sample(1, number).switches() <= 10));
    }

    #[test]
    #[should_panic(expected = "lower the length or the bound")]
    fn a_space_that_is_too_large_says_so() {
        ScheduleSpace::new(50, 1000, 100);
    }
}
