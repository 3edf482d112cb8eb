//! The shape of schemas that are aimed at one method.
//!
//! A method that looks at an object piece by piece shows it when it is called once while others change several pieces. In schemas whose
//! threads are alike that is rare: the method is called often, beside few changes, on an object that is empty. Here one thread calls it
//! once, with at most one other call before and after it, the other threads have the rest, and some calls come first, so that
//! there is something to change; if the method changes the object, some look at what is left.

use super::rng::Rng;

/// How many invocations each part of a schema has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Changes before the threads begin.
    pub(super) initial: usize,
    /// In the thread of the method, before it and after it.
    pub(super) before: usize,
    pub(super) after: usize,
    /// Of each other thread.
    pub(super) others: Vec<usize>,
    /// Looks after the threads have ended.
    pub(super) last: usize,
}

/// The most invocations before the threads begin, and after they have ended.
const MOST_AT_ENDS: usize = 2;

/// Draws a shape with at least one invocation for each thread.
pub(super) fn aimed(threads: usize, invocations: usize, looks_after: bool, rng: &mut Rng) -> Parts {
    let others = threads.saturating_sub(1);
    let mut parts = Parts { others: vec![1; others], ..Parts::default() };
    let mut left = invocations.saturating_sub(threads);
    let mut take = |most: usize, rng: &mut Rng| {
        let taken = rng.between(0, most).min(left);
        left -= taken;
        taken
    };
    parts.initial = take(MOST_AT_ENDS, rng);
    if looks_after {
        parts.last = take(MOST_AT_ENDS, rng);
    }
    // Rarely: each makes the executions longer, and adds orders that are allowed.
    parts.before = if rng.below(4) == 0 { take(1, rng) } else { 0 };
    parts.after = if rng.below(4) == 0 { take(1, rng) } else { 0 };
    match others {
        0 => parts.before += left,
        _ => (0..left).for_each(|_| parts.others[rng.below(others)] += 1),
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_an_invocation_and_none_is_lost() {
        let mut rng = Rng::new(5);
        let mut with_ends = 0;
        for round in 0..500 {
            let (threads, invocations) = (1 + round % 3, 3 + round % 4);
            let parts = aimed(threads, invocations, round % 2 == 0, &mut rng);
            let others: usize = parts.others.iter().sum();
            let sum = parts.initial + parts.before + 1 + parts.after + others + parts.last;
            assert_eq!(sum, invocations, "{parts:?}");
            assert!(parts.others.len() == threads - 1 && parts.others.iter().all(|&count| count > 0));
            assert!(round % 2 == 0 || parts.last == 0);
            with_ends += usize::from(parts.initial > 0 && parts.last > 0);
        }
        assert!(with_ends > 20, "{with_ends}");
    }
}
