//! The set monitor, for elements that are inserted at most once and removed at most once.

use super::Complaint;
use super::facts::{Facts, NONE};
use crate::value::Value;

/// What sees an element absent must not lie wholly within the time in which it is certainly present. That it is seen
/// present only between its insertion and its removal is checked for every collection.
pub(super) fn check(facts: &Facts, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
    for &(value, op) in &facts.absents {
        let (fact, span) = (facts.values[value as usize], facts.spans[op as usize]);
        if fact.add != NONE && fact.lo < span.call && span.ret < fact.hi {
            let summary = format!("{} is seen absent while it is present", name(op));
            return Err(facts.complaint(summary, [value], &[op]));
        }
    }
    Ok(())
}
