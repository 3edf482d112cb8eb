//! The queue monitor.
//!
//! Without peeks, a history is wrong only if some `x` is enqueued before `y` and `y` dequeued before `x`, each in real
//! time, or something is inside while the queue is found empty (Henzinger, Sezgin and Vafeiadis, CONCUR 2013). With
//! peeks, values are taken away one by one, each time one that can be the oldest, until none is left or none can be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Complaint;
use super::cover;
use super::facts::{Facts, NONE};
use crate::value::Value;

pub(super) fn check(facts: &Facts, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
    check_pairs(facts, name)?;
    if !facts.peeks.is_empty() {
        take_away(facts)?;
    }
    cover::check_empties(facts)
}

/// When the operations that see a value at the front end first and begin last.
#[derive(Clone, Copy)]
struct Front {
    first_return: u32,
    last_call: u32,
}

fn fronts(facts: &Facts) -> Vec<Front> {
    let removal = |value| facts.removal(value);
    let mut fronts: Vec<Front> = (0..facts.values.len() as u32)
        .map(|value| Front { first_return: removal(value).ret, last_call: removal(value).call })
        .collect();
    for &(value, op) in &facts.peeks {
        let (front, span) = (&mut fronts[value as usize], facts.spans[op as usize]);
        front.first_return = front.first_return.min(span.ret);
        front.last_call = front.last_call.max(span.call);
    }
    fronts
}

/// Looks for two values that leave in the wrong order, in one sweep over time.
fn check_pairs(facts: &Facts, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
    let fronts = fronts(facts);
    // What each rank is: the call of an addition, or the first sign that a value is inside.
    let mut called = vec![NONE; facts.ranks as usize];
    let mut inside = vec![NONE; facts.ranks as usize];
    for (value, fact) in facts.values.iter().enumerate().filter(|(_, fact)| fact.add != NONE) {
        called[facts.spans[fact.add as usize].call as usize] = value as u32;
        if (fact.lo as usize) < inside.len() {
            inside[fact.lo as usize] = value as u32;
        }
    }
    // Of the values that are certainly inside by now, the one that is still waited for longest.
    let (mut latest, mut oldest) = (0, NONE);
    for rank in 0..facts.ranks as usize {
        let value = inside[rank];
        if value != NONE {
            let last_call = fronts[value as usize].last_call;
            if oldest == NONE || last_call > latest {
                (latest, oldest) = (last_call, value);
            }
        }
        let value = called[rank];
        if value != NONE && oldest != NONE && fronts[value as usize].first_return < latest {
            let (x, y) = (name(facts.values[oldest as usize].add), name(facts.values[value as usize].add));
            let summary = format!("{y} is added after {x} and reaches the front before it");
            return Err(facts.complaint(summary, [oldest, value], &[]));
        }
    }
    Ok(())
}

/// Takes away values that can be the oldest while there are such.
fn take_away(facts: &Facts) -> Result<(), Complaint> {
    let fronts = fronts(facts);
    let mut values: Vec<u32> =
        (0..facts.values.len() as u32).filter(|&v| facts.values[v as usize].add != NONE).collect();
    let mut live = vec![false; facts.values.len()];
    values.iter().for_each(|&value| live[value as usize] = true);

    let mut by_inside = values.clone();
    by_inside.sort_unstable_by_key(|&v| facts.values[v as usize].lo);
    let mut by_front = values.clone();
    by_front.sort_unstable_by_key(|&v| fronts[v as usize].first_return);
    values.sort_unstable_by_key(|&v| facts.addition(v).call);

    let (mut inside, mut front, mut second, mut next) = (0, 0, 0, 0);
    // Values whose addition can be the earliest, by when they are last seen at the front.
    let mut ready = BinaryHeap::new();
    let mut is_ready = vec![false; facts.values.len()];
    for _ in 0..values.len() {
        while by_inside.get(inside).is_some_and(|&v| !live[v as usize]) {
            inside += 1;
        }
        let first_inside = by_inside.get(inside).map_or(u32::MAX, |&v| facts.values[v as usize].lo);
        while next < values.len() && facts.addition(values[next]).call <= first_inside {
            ready.push(Reverse((fronts[values[next] as usize].last_call, values[next])));
            is_ready[values[next] as usize] = true;
            next += 1;
        }
        while by_front.get(front).is_some_and(|&v| !live[v as usize]) {
            front += 1;
        }
        while ready.peek().is_some_and(|Reverse((_, v))| !live[*v as usize]) {
            ready.pop();
        }
        second = second.max(front + 1);
        while by_front.get(second).is_some_and(|&v| !live[v as usize]) {
            second += 1;
        }
        let holder = by_front[front];
        let others_return = |value: u32| {
            let first = if value == holder { by_front.get(second) } else { Some(&holder) };
            first.map_or(u32::MAX, |&v| fronts[v as usize].first_return)
        };
        let candidates = ready.peek().map(|Reverse((_, v))| *v).into_iter().chain([holder]);
        let fits = |&v: &u32| is_ready[v as usize] && fronts[v as usize].last_call <= others_return(v);
        match candidates.into_iter().find(fits) {
            Some(value) => live[value as usize] = false,
            None => {
                let left: Vec<u32> = values.iter().copied().filter(|&v| live[v as usize]).collect();
                let summary = format!("none of {} values that are left can be the oldest", left.len());
                return Err(facts.complaint(summary, left, &[]));
            }
        }
    }
    Ok(())
}
