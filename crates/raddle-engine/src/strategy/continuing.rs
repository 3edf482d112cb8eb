//! The beginning of a given schedule, and then something else.

use super::stale_reads::StaleReadPolicy;
use super::yield_policy::YieldPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::schedule::{ALL_POINTS, Schedule};

/// A strategy that makes the first choices of a schedule, then another choice than the schedule does, and goes on: execution 0 lets each
/// thread run as long as it can, the others go on at random. Threads and sources of reads are choices, in the order of the execution.
#[derive(Debug)]
pub struct Continuing {
    script: Schedule,
    /// The number of choices that are made as the script has them.
    prefix: usize,
    /// The number of choices so far.
    made: usize,
    seed: u64,
    rng: Rng,
    is_random: bool,
    /// Whether a choice beyond the prefix was made.
    has_left: bool,
    yield_policy: YieldPolicy,
    stale_reads: StaleReadPolicy,
}

impl Continuing {
    /// The strategy that leaves the script after this many choices.
    pub fn new(mut script: Schedule, prefix: usize, seed: u64) -> Continuing {
        if script.threads.first() == Some(&ALL_POINTS) {
            script.threads.remove(0);
        }
        Continuing {
            script,
            prefix,
            made: 0,
            seed,
            rng: Rng::new(seed),
            is_random: false,
            has_left: false,
            yield_policy: YieldPolicy::default(),
            stale_reads: StaleReadPolicy::default(),
        }
    }
}

impl Strategy for Continuing {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        self.is_random = execution > 0;
        self.made = 0;
        self.has_left = false;
        self.yield_policy.begin();
        self.stale_reads.begin();
        true
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let scripted = self.script.threads.get(point.choice).copied();
        self.made += 1;
        if let Some(scripted) = scripted.filter(|_| self.made <= self.prefix) {
            return scripted;
        }
        let is_first = !std::mem::replace(&mut self.has_left, true);
        let threads = match self.is_random {
            true => self.yield_policy.choose(&mut self.rng, point),
            false => point.preferred(),
        };
        if let Some(avoided) = scripted.filter(|_| is_first) {
            // Another thread than the script's, if possible one that does not yield.
            let others = |threads: &[ThreadId]| threads.iter().filter(|&&thread| thread != avoided).count();
            let threads = if others(threads) > 0 { threads } else { point.runnable };
            let which = if self.is_random { self.rng.below(others(threads)) } else { 0 };
            return *threads.iter().filter(|&&thread| thread != avoided).nth(which).unwrap_or(&avoided);
        }
        match self.is_random {
            true => threads[self.rng.below(threads.len())],
            false => point.default_choice(),
        }
    }

    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize {
        let scripted = self.script.mo_offsets.get(choice).map(|&offset| usize::from(offset));
        self.made += 1;
        if let Some(scripted) = scripted.filter(|_| self.made <= self.prefix) {
            return scripted;
        }
        let is_first = !std::mem::replace(&mut self.has_left, true);
        match scripted.filter(|_| is_first) {
            // Another source than the script's.
            Some(avoided) => {
                let other = if self.is_random { self.rng.below(alternatives - 1) } else { 0 };
                if other < avoided { other } else { other + 1 }
            }
            None if self.is_random => self.stale_reads.choose(&mut self.rng, alternatives),
            None => 0,
        }
    }

    fn is_indexed(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Steps;
    use super::*;

    fn choices(strategy: &mut Continuing, points: &[&[ThreadId]]) -> Vec<ThreadId> {
        let mut current = 0;
        let choose = |(choice, runnable): (usize, &&[ThreadId])| {
            let point = Point { current, runnable, active: runnable, steps: Steps::Now(&[]), choice };
            current = strategy.choose(&point);
            current
        };
        points.iter().enumerate().map(choose).collect()
    }

    #[test]
    fn the_prefix_is_followed_and_then_left() {
        let script = Schedule { threads: vec![1, 0, 2, 0], ..Schedule::default() };
        let points: [&[ThreadId]; 5] = [&[0, 1], &[0, 1], &[1, 2], &[0, 1, 2], &[0, 1, 2]];
        for prefix in 0..=4 {
            for execution in 0..50 {
                let mut strategy = Continuing::new(script.clone(), prefix, 7);
                assert!(strategy.begin(execution));
                let made = choices(&mut strategy, &points);
                assert_eq!(made[..prefix], script.threads[..prefix]);
                if prefix < 4 {
                    assert_ne!(made[prefix], script.threads[prefix], "the next choice is another one");
                }
                for (thread, point) in made.iter().zip(points) {
                    assert!(point.contains(thread));
                }
            }
        }
    }

    #[test]
    fn reads_are_choices_too() {
        let script = Schedule { threads: vec![1, 0], mo_offsets: vec![2, 1], ..Schedule::default() };
        for execution in 0..50 {
            for prefix in 0..4 {
                let mut strategy = Continuing::new(script.clone(), prefix, 7);
                strategy.begin(execution);
                let point = |choice| Point {
                    current: 0,
                    runnable: &[0, 1],
                    active: &[0, 1],
                    steps: Steps::Now(&[]),
                    choice,
                };
                let made = [
                    strategy.choose_reads_from(4, 0),
                    strategy.choose(&point(0)).into(),
                    strategy.choose_reads_from(2, 1),
                    strategy.choose(&point(1)).into(),
                ];
                let scripted = [2, 1, 1, 0];
                assert_eq!(made[..prefix], scripted[..prefix]);
                assert_ne!(made[prefix], scripted[prefix], "the next choice is another one");
                assert!(made[0] < 4 && made[2] < 2);
            }
        }
    }

    #[test]
    fn the_mark_of_all_points_is_no_choice() {
        let script = Schedule { threads: vec![ALL_POINTS, 1, 0], ..Schedule::default() };
        let mut strategy = Continuing::new(script, 1, 7);
        strategy.begin(0);
        assert_eq!(choices(&mut strategy, &[&[0, 1], &[0, 1]]), [1, 1]);
    }
}
