//! Gaps between ranks, and which of them intervals cover. Gap `g` lies between ranks `g` and `g + 1`.

use super::facts::{Fact, Facts};

/// For each gap, how many of the critical intervals cover it; gaps behind the last rank are left out.
pub(super) fn counts(facts: &Facts) -> Vec<i32> {
    let mut counts = vec![0; facts.ranks as usize + 1];
    for fact in facts.values.iter().filter(|fact| fact.is_critical()) {
        counts[fact.lo as usize] += 1;
        counts[fact.hi.min(facts.ranks) as usize] -= 1;
    }
    let mut sum = 0;
    for count in &mut counts {
        sum += *count;
        *count = sum;
    }
    counts
}

/// Checks that nothing is certainly inside all through an operation that found the collection empty.
pub(super) fn check_empties(facts: &Facts) -> Result<(), super::Complaint> {
    if facts.empties.is_empty() {
        return Ok(());
    }
    // For each gap, the next one that is free.
    let counts = counts(facts);
    let mut next_free = vec![u32::MAX; counts.len() + 1];
    for gap in (0..counts.len()).rev() {
        next_free[gap] = if counts[gap] == 0 { gap as u32 } else { next_free[gap + 1] };
    }
    for &op in &facts.empties {
        let span = facts.spans[op as usize];
        if next_free[span.call as usize] >= span.ret {
            let covering = smallest_cover(facts, span.call, span.ret, |_| true);
            let summary = "the collection is found empty while something is inside all the time".into();
            return Err(facts.complaint(summary, covering, &[op]));
        }
    }
    Ok(())
}

/// A few of the `allowed` values whose critical intervals cover the gaps from `from` up to `to`, which all together do.
pub(super) fn smallest_cover(facts: &Facts, from: u32, to: u32, allowed: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut intervals: Vec<(u32, u32, u32)> = facts
        .values
        .iter()
        .enumerate()
        .filter(|&(value, fact)| {
            fact.is_critical() && fact.hi > from && fact.lo < to && allowed(value as u32)
        })
        .map(|(value, &Fact { lo, hi, .. })| (lo, hi, value as u32))
        .collect();
    intervals.sort_unstable();
    let (mut cover, mut reached, mut i) = (Vec::new(), from, 0);
    while reached < to {
        let mut best = None;
        while i < intervals.len() && intervals[i].0 <= reached {
            best = best.max(Some((intervals[i].1, intervals[i].2)));
            i += 1;
        }
        let Some((hi, value)) = best.filter(|&(hi, _)| hi > reached) else { break };
        cover.push(value);
        reached = hi;
    }
    cover
}
