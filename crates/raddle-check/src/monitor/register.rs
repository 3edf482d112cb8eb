//! The register monitor (Gibbons and Korach 1997), for values that are written once.
//!
//! A write and the reads that see it are a cluster, whose operations are neighbours in any order. From its first return
//! to its last call, if that is later, the register certainly holds the value (a forward zone); else the cluster fits
//! at any instant between the two (a backward zone). Forward zones must not overlap, and a backward zone must not lie
//! within one.

use super::Complaint;
use super::facts::{Facts, NONE};
use crate::value::Value;

pub(super) fn check(facts: &Facts, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
    let mut forward: Vec<(u32, u32, u32)> = Vec::new();
    let mut backward: Vec<(u32, u32, u32)> = Vec::new();
    for (value, fact) in facts.values.iter().enumerate() {
        if facts.operations(value as u32).next().is_none() {
            continue;
        }
        match fact.is_critical() {
            true => forward.push((fact.lo, fact.hi, value as u32)),
            false => backward.push((fact.hi, fact.lo, value as u32)),
        }
    }
    let show = |value: u32| {
        let op = facts.operations(value).next().unwrap_or(NONE);
        name(op)
    };
    forward.sort_unstable();
    if let Some([(_, _, x), (_, _, y)]) = forward.windows(2).find(|pair| pair[1].0 < pair[0].1) {
        let summary = format!("{} and {} are held at the same time", show(*x), show(*y));
        return Err(facts.complaint(summary, [*x, *y], &[]));
    }
    for (from, to, value) in backward {
        // Only the initial value's zone can begin at the rank of a call, and it begins before that.
        let before = forward.partition_point(|&(start, _, _)| start <= from);
        if let Some(&(_, end, other)) = before.checked_sub(1).map(|i| &forward[i])
            && to < end
        {
            let summary = format!("{} is held while {} is held all the time", show(value), show(other));
            return Err(facts.complaint(summary, [value, other], &[]));
        }
    }
    Ok(())
}
