//! The priority-queue monitor: from the best priority down, each removal or peek needs an instant at which nothing
//! better is certainly inside.

use super::Complaint;
use super::cover;
use super::facts::{Facts, NONE};
use crate::value::Value;

/// The priority of an element.
pub(crate) fn priority(element: &Value) -> &Value {
    element.as_pair().map_or(element, |(priority, _)| priority)
}

pub(super) fn check(
    facts: &Facts,
    name: &impl Fn(u32) -> Value,
    smallest_first: bool,
) -> Result<(), Complaint> {
    let mut values: Vec<(Value, u32)> = facts
        .values
        .iter()
        .enumerate()
        .filter(|(_, fact)| fact.add != NONE)
        .map(|(value, fact)| (priority(&name(fact.add)).clone(), value as u32))
        .collect();
    values.sort_unstable();
    if !smallest_first {
        values.reverse();
    }
    let mut free = FreeGaps::new(facts.ranks);
    for equals in values.chunk_by(|a, b| a.0 == b.0) {
        for &(_, value) in equals {
            check_value(facts, name, value, &free, |other| {
                let theirs = name(facts.values[other as usize].add);
                let (theirs, mine) = (priority(&theirs), &equals[0].0);
                if smallest_first { theirs < mine } else { theirs > mine }
            })?;
        }
        for &(_, value) in equals {
            let fact = facts.values[value as usize];
            free.cover(fact.lo, fact.hi);
        }
    }
    cover::check_empties(facts)
}

/// Checks the operations that saw `value` at the front.
fn check_value(
    facts: &Facts,
    name: &impl Fn(u32) -> Value,
    value: u32,
    free: &FreeGaps,
    is_better: impl Fn(u32) -> bool,
) -> Result<(), Complaint> {
    let (added, removed) = (facts.addition(value), facts.removal(value));
    let removal = facts.values[value as usize].remove;
    let peeks = facts.peeks_of(value).iter().map(|&(_, op)| op);
    for op in peeks.chain([removal]).filter(|&op| op != NONE) {
        let span = facts.spans[op as usize];
        // It cannot have been at the front before it was added or after it was removed.
        let (from, to) = (span.call.max(added.call), span.ret.min(removed.ret));
        if free.next(from) >= to {
            let better = cover::smallest_cover(facts, from, to, &is_better);
            let summary = format!("{} comes to the front while something better is inside", name(op));
            return Err(facts.complaint(summary, better.into_iter().chain([value]), &[]));
        }
    }
    Ok(())
}

/// The gaps that no interval covers so far: a union-find in which covered gaps point to the next free one.
struct FreeGaps {
    next: std::cell::RefCell<Vec<u32>>,
}

impl FreeGaps {
    fn new(ranks: u32) -> FreeGaps {
        FreeGaps { next: std::cell::RefCell::new((0..ranks + 2).collect()) }
    }

    /// The first free gap from `gap` on; behind the last rank there always is one.
    fn next(&self, gap: u32) -> u32 {
        let mut next = self.next.borrow_mut();
        let mut root = gap.min(next.len() as u32 - 1);
        while next[root as usize] != root {
            let two_on = next[next[root as usize] as usize];
            next[root as usize] = two_on;
            root = two_on;
        }
        root
    }

    /// Covers the gaps from `lo` up to `hi`.
    fn cover(&mut self, lo: u32, hi: u32) {
        let last = self.next.borrow().len() as u32 - 1;
        let mut gap = self.next(lo);
        while gap < hi.min(last) {
            self.next.borrow_mut()[gap as usize] = gap + 1;
            gap = self.next(gap);
        }
    }
}
