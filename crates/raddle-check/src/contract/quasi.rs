//! Quasi-linearizability (Afek, Korland and Yanovsky, OPODIS 2010), with one bound for all operations.
//!
//! Wanted are two orders of the same operations: a *legal* one that the model allows and a *timely* one that real time
//! allows, in which no operation's places differ by more than `k`. The search builds both at once, one place after the
//! other: an operation that is in one of them only has `k` more places to get into the other.

use rustc_hash::FxHashSet;

use super::{Finding, Problem, Rejected};
use crate::engine::Attempt;
use crate::engine::limits::Exhausted;
use crate::engine::lts::{Class, StateId};
use crate::engine::mask::{Mask, Words};
use crate::model::Model;
use crate::timeline::Span;

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>, k: usize) -> Finding {
    let spans = problem.timeline.spans(problem.operations.len());
    let classes: Vec<Class> = (0..spans.len()).map(|op| problem.class(op)).collect();
    let mut search = Search {
        problem,
        k,
        spans,
        classes,
        nodes: Vec::new(),
        memo: FxHashSet::default(),
        longest: Vec::new(),
    };
    match search.run() {
        Ok(true) => Finding::Accepted,
        Ok(false) => {
            let attempts = search.attempts();
            let prefix = search.problem.timeline.len();
            Finding::Rejected(Rejected { prefix, attempts, ..Rejected::default() })
        }
        Err(limit) => Finding::Unknown { limit, events: 0 },
    }
}

struct Search<'a, 'b, M: Model> {
    problem: &'a mut Problem<'b, M>,
    k: usize,
    spans: Vec<Span>,
    classes: Vec<Class>,
    /// The legal orders, as a tree: parent, last operation, length, state.
    nodes: Vec<(u32, u32, u32, StateId)>,
    memo: FxHashSet<Places>,
    longest: Vec<u32>,
}

/// Two orders of equal length, as far as the rest can depend on them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Places {
    legal: Words,
    timely: Words,
    /// Operations in one order only, with their place in it.
    unmatched: Vec<(u32, u32)>,
    state: StateId,
}

const ROOT: u32 = u32::MAX;

impl<M: Model> Search<'_, '_, M> {
    fn run(&mut self) -> Result<bool, Exhausted> {
        let state = self.problem.lts.initial(self.problem.model);
        let start =
            Places { legal: Words::default(), timely: Words::default(), unmatched: Vec::new(), state };
        let mut stack = vec![(start, ROOT, 0)];
        while let Some((places, node, length)) = stack.pop() {
            let bytes =
                self.memo.len() * (size_of::<Places>() * 2 + self.spans.len() / 4) + self.nodes.len() * 16;
            self.problem.budget.spend(|| bytes + self.problem.lts.bytes())?;
            if places.unmatched.is_empty() && self.is_complete(&places.legal) {
                return Ok(true);
            }
            if self.memo.insert(places.clone()) {
                self.note(node);
                self.expand(&places, node, length, &mut stack);
            }
        }
        Ok(false)
    }

    fn is_complete(&self, placed: &Words) -> bool {
        (0..self.spans.len()).all(|op| placed.contains(op) || self.is_optional(op))
    }

    fn is_optional(&self, op: usize) -> bool {
        self.problem.operations[op].output().is_none()
    }

    /// Tries every way to fill the next place of both orders.
    fn expand(&mut self, places: &Places, node: u32, place: u32, stack: &mut Vec<(Places, u32, u32)>) {
        let unplaced =
            |order: &Words| (0..self.spans.len()).filter(|&op| !order.contains(op)).collect::<Vec<_>>();
        let (mut legal, mut timely) = (unplaced(&places.legal), unplaced(&places.timely));
        let first_return = timely.iter().map(|&op| self.spans[op].ret).min();
        timely.retain(|&op| first_return.is_some_and(|ret| self.spans[op].call < ret));
        legal.retain(|&op| self.can_follow(places, op));
        for &legal in &legal {
            let edge = self.problem.lts.edge(self.problem.model, places.state, self.classes[legal]);
            for target in 0..self.problem.lts.fan_out(edge) {
                let state = self.problem.lts.target(edge, target);
                self.nodes.push((node, legal as u32, place + 1, state));
                let child = self.nodes.len() as u32 - 1;
                for &timely in &timely {
                    if let Some(next) = self.fill(places, place, legal, timely, state) {
                        stack.push((next, child, place + 1));
                    }
                }
            }
        }
    }

    /// Whether what has to come before `op` in the timely order leaves it a place near enough.
    fn can_follow(&self, places: &Places, op: usize) -> bool {
        places.timely.contains(op) || {
            let missing = |other: &usize| {
                self.spans[*other].ret < self.spans[op].call && !places.timely.contains(*other)
            };
            (0..self.spans.len()).filter(missing).count() <= self.k
        }
    }

    /// Puts `legal` and `timely` at `place`, unless some operation can then no longer be near enough to itself.
    fn fill(
        &self,
        places: &Places,
        place: u32,
        legal: usize,
        timely: usize,
        state: StateId,
    ) -> Option<Places> {
        let mut next = places.clone();
        next.state = state;
        next.legal.insert(legal);
        next.timely.insert(timely);
        for op in [legal, timely] {
            if next.legal.contains(op) && next.timely.contains(op) {
                next.unmatched.retain(|&(other, _)| other as usize != op);
            } else {
                next.unmatched.push((op as u32, place));
            }
        }
        next.unmatched.sort_unstable();
        // The next place is one further on.
        let in_reach = |&(_, at): &(u32, u32)| place < at + self.k as u32;
        next.unmatched.iter().all(in_reach).then_some(next)
    }

    fn note(&mut self, node: u32) {
        if node == ROOT {
            return;
        }
        let length = |node: u32| self.nodes[node as usize].2;
        let at = self.longest.partition_point(|&other| length(other) >= length(node));
        self.longest.insert(at, node);
        self.longest.truncate(ATTEMPTS);
    }

    fn attempts(&self) -> Vec<Attempt> {
        let order = |mut node: u32| {
            let mut order = Vec::new();
            while node != ROOT {
                let (parent, op, ..) = self.nodes[node as usize];
                order.push(op as usize);
                node = parent;
            }
            order.reverse();
            order
        };
        let attempt = |&node: &u32| Attempt { order: order(node), state: self.nodes[node as usize].3 };
        self.longest.iter().map(attempt).collect()
    }
}
