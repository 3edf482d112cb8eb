//! The stack monitor: take away values that can be pushed on and popped off without anything in between.
//!
//! A value can be taken away once its push has an instant at which nothing is certainly inside, its pop has one, and
//! each of its peeks has one at which nothing else is. What is taken away no longer counts, so more can go. If all can
//! go the history is linearizable; if some are left and none can go it is not. Near-linear by two observations: a gap
//! that is free stays free, and each operation waits for one free gap only.

use super::Complaint;
use super::cover;
use super::facts::{Facts, NONE};
use super::tree::{MinTree, Stabber};
use crate::value::Value;

/// More values than this that block each other are not listed.
const MOST_LISTED: usize = 30;

pub(super) fn check(facts: &Facts, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
    cover::check_empties(facts)?;
    let mut removal = Removal::new(facts);
    removal.run();
    let left: Vec<u32> =
        (0..facts.values.len() as u32).filter(|&v| removal.waiting[v as usize] > 0).collect();
    match left.len() {
        0 => Ok(()),
        1..=MOST_LISTED => {
            let values: Vec<String> =
                left.iter().map(|&v| name(facts.values[v as usize].add).to_string()).collect();
            let summary = format!("{} cannot be pushed and popped in any nesting", values.join(", "));
            Err(facts.complaint(summary, left, &[]))
        }
        many => {
            let summary = format!("{many} values cannot be pushed and popped in any nesting");
            Err(Complaint { summary, core: Vec::new() })
        }
    }
}

struct Removal<'a> {
    facts: &'a Facts,
    /// For each value, how many of its operations wait for a gap.
    waiting: Vec<u32>,
    /// The operations that wait for a gap that no critical interval covers; the owner is the wait.
    free: Stabber,
    /// The peeks that wait for a gap that only the interval of their own value covers.
    own: Stabber,
    /// The value of each wait; `NONE` once it is over.
    waits: Vec<u32>,
    /// For each gap, by how many intervals too many it is covered.
    gaps: MinTree,
    /// Whether each gap has been found covered by one interval at most.
    nearly_free: Vec<bool>,
    removable: Vec<u32>,
}

/// Added to a gap that has been dealt with.
const DONE: i32 = i32::MAX / 4;

impl<'a> Removal<'a> {
    fn new(facts: &'a Facts) -> Self {
        let mut counts = cover::counts(facts);
        let has_peeks = !facts.peeks.is_empty();
        // With peeks, a gap is of interest when it is covered once and again when it is free.
        if has_peeks {
            counts.iter_mut().for_each(|count| *count -= 1);
        }
        let (mut free, mut own, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        let mut waiting = vec![0; facts.values.len()];
        for (value, fact) in facts.values.iter().enumerate() {
            // Operations that all overlap fit together at one instant, whatever else there is.
            if fact.add == NONE || !fact.is_critical() {
                continue;
            }
            let value = value as u32;
            let (added, removed) = (facts.addition(value), facts.removal(value));
            let mut wait = |free_parts: &[(u32, u32)], own_part: (u32, u32)| {
                let id = waits.len() as u32;
                let before = (free.len(), own.len());
                free.extend(free_parts.iter().filter(|(l, r)| l < r).map(|&(l, r)| (l, r, id)));
                own.extend(Some(own_part).filter(|(l, r)| l < r).map(|(l, r)| (l, r, id)));
                debug_assert!(before != (free.len(), own.len()), "every operation spans a gap");
                waits.push(value);
                waiting[value as usize] += 1;
            };
            wait(&[(added.call, fact.lo)], (0, 0));
            if fact.remove != NONE {
                wait(&[(fact.hi, removed.ret)], (0, 0));
            }
            for &(_, op) in facts.peeks_of(value) {
                let span = facts.spans[op as usize];
                let (from, to) = (span.call.max(added.call), span.ret.min(removed.ret).min(facts.ranks));
                let outside = [(from, to.min(fact.lo)), (from.max(fact.hi), to)];
                wait(&outside, (from.max(fact.lo), to.min(fact.hi)));
            }
        }
        Removal {
            facts,
            waiting,
            free: Stabber::new(free),
            own: Stabber::new(own),
            waits,
            gaps: MinTree::new(&counts),
            nearly_free: vec![!has_peeks; counts.len()],
            removable: Vec::new(),
        }
    }

    fn run(&mut self) {
        loop {
            while let Some(gap) = self.gaps.find() {
                self.free_gap(gap);
            }
            let Some(value) = self.removable.pop() else { break };
            let fact = self.facts.values[value as usize];
            self.gaps.add(fact.lo as usize, fact.hi.min(self.facts.ranks) as usize, -1);
        }
    }

    /// Ends the waits for `gap`, which is covered once at most or not at all.
    fn free_gap(&mut self, gap: usize) {
        if !self.nearly_free[gap] {
            self.nearly_free[gap] = true;
            self.gaps.add(gap, gap + 1, 1);
            // A peek waits within its own value's interval, so if it is over this gap nothing else is.
            while let Some(wait) = self.own.take(gap as u32) {
                self.end_wait(wait);
            }
            return;
        }
        self.gaps.add(gap, gap + 1, DONE);
        while let Some(wait) = self.free.take(gap as u32) {
            self.end_wait(wait);
        }
    }

    fn end_wait(&mut self, wait: u32) {
        let value = std::mem::replace(&mut self.waits[wait as usize], NONE);
        if value != NONE {
            self.waiting[value as usize] -= 1;
            if self.waiting[value as usize] == 0 {
                self.removable.push(value);
            }
        }
    }
}
