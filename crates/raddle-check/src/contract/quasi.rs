//! Quasi-linearizability (Afek, Korland and Yanovsky, OPODIS 2010).
//!
//! Wanted are two orders of the same operations: a *legal* one that the model allows and a *timely* one that real time
//! allows, in which no operation's places differ by more than a bound. Places are counted within a [`Domain`]: all
//! operations, or those of a kind, each kind with its own bound ([`Model::domains`]). The search builds both orders at
//! once, one operation after the other.

use rustc_hash::FxHashSet;

use super::order::Precedence;
use super::{Finding, Problem, Rejected};
use crate::engine::Attempt;
use crate::engine::limits::Exhausted;
use crate::engine::lts::{Class, StateId};
use crate::engine::mask::{Mask, Words};
use crate::model::Model;
use crate::timeline::Span;

/// Operations whose places are compared with each other under [`Contract::Quasi`](crate::Contract::Quasi).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// Which ones: operations that name the same number.
    pub number: u32,
    /// By how much the two places of the operation that names this domain may differ.
    pub bound: usize,
}

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

/// Checks with real time as the order.
pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>, k: usize) -> Finding {
    let spans = problem.timeline.spans(problem.operations.len());
    check_with(problem, k, Timing::Clock(spans))
}

/// Checks with a given order instead of real time.
pub(super) fn check_order<M: Model>(problem: &mut Problem<'_, M>, k: usize, order: Precedence) -> Finding {
    check_with(problem, k, Timing::Given(order))
}

fn check_with<M: Model>(problem: &mut Problem<'_, M>, k: usize, timing: Timing) -> Finding {
    let count = problem.operations.len();
    let classes: Vec<Class> = (0..count).map(|op| problem.class(op)).collect();
    let domains: Vec<Vec<Domain>> =
        problem.operations.iter().map(|op| problem.model.domains(&op.input, k)).collect();
    let mut search = Search {
        problem,
        timing,
        classes,
        domains,
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

/// What the timely order has to respect.
enum Timing {
    Clock(Vec<Span>),
    Given(Precedence),
}

impl Timing {
    fn precedes(&self, i: usize, j: usize) -> bool {
        match self {
            Timing::Clock(spans) => spans[i].ret < spans[j].call,
            Timing::Given(order) => order.has(i, j),
        }
    }

    /// Those of `unplaced` that none of the others precedes.
    fn first(&self, unplaced: &[usize]) -> Vec<usize> {
        let is_first: &dyn Fn(usize) -> bool = match self {
            Timing::Clock(spans) => {
                let first_return = unplaced.iter().map(|&op| spans[op].ret).min().unwrap_or(0);
                &move |op| spans[op].call < first_return
            }
            Timing::Given(order) => &|op| !unplaced.iter().any(|&other| order.has(other, op)),
        };
        unplaced.iter().copied().filter(|&op| is_first(op)).collect()
    }
}

struct Search<'a, 'b, M: Model> {
    problem: &'a mut Problem<'b, M>,
    timing: Timing,
    classes: Vec<Class>,
    /// By operation.
    domains: Vec<Vec<Domain>>,
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
    /// Operations in one order only, with their place in it in each of their domains.
    unmatched: Vec<(u32, Vec<u32>)>,
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
                self.memo.len() * (size_of::<Places>() * 2 + self.classes.len() / 4) + self.nodes.len() * 16;
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
        (0..self.classes.len()).all(|op| placed.contains(op) || self.is_optional(op))
    }

    fn is_optional(&self, op: usize) -> bool {
        self.problem.operations[op].output().is_none()
    }

    /// Tries every way to extend both orders by an operation each.
    fn expand(&mut self, places: &Places, node: u32, length: u32, stack: &mut Vec<(Places, u32, u32)>) {
        let unplaced =
            |order: &Words| (0..self.classes.len()).filter(|&op| !order.contains(op)).collect::<Vec<_>>();
        let timely = self.timing.first(&unplaced(&places.timely));
        for legal in unplaced(&places.legal) {
            if !self.can_follow(places, legal) {
                continue;
            }
            let edge = self.problem.lts.edge(self.problem.model, places.state, self.classes[legal]);
            for target in 0..self.problem.lts.fan_out(edge) {
                let state = self.problem.lts.target(edge, target);
                self.nodes.push((node, legal as u32, length + 1, state));
                let child = self.nodes.len() as u32 - 1;
                for &timely in &timely {
                    if let Some(next) = self.fill(places, legal, timely, state) {
                        stack.push((next, child, length + 1));
                    }
                }
            }
        }
    }

    /// Whether what has to come before `op` in the timely order leaves it a place near enough, if it is next in the
    /// legal one.
    fn can_follow(&self, places: &Places, op: usize) -> bool {
        places.timely.contains(op)
            || self.domains[op].iter().all(|domain| {
                let missing = |&other: &usize| {
                    !places.timely.contains(other)
                        && self.timing.precedes(other, op)
                        && self.is_in(other, domain)
                };
                let missing = (0..self.classes.len()).filter(missing).count();
                self.place(&places.timely, domain) + missing
                    <= self.place(&places.legal, domain) + domain.bound
            })
    }

    fn is_in(&self, op: usize, domain: &Domain) -> bool {
        self.domains[op].iter().any(|other| other.number == domain.number)
    }

    /// The place in `domain` that the next operation of `order` gets.
    fn place(&self, order: &Words, domain: &Domain) -> usize {
        order.iter().filter(|&op| self.is_in(op, domain)).count()
    }

    /// Extends both orders, unless some operation can then no longer be near enough to itself.
    fn fill(&self, places: &Places, legal: usize, timely: usize, state: StateId) -> Option<Places> {
        let mut next = places.clone();
        next.state = state;
        let here = |order: &Words, op: usize| -> Vec<u32> {
            self.domains[op].iter().map(|domain| self.place(order, domain) as u32).collect()
        };
        for (op, place) in [(legal, here(&places.legal, legal)), (timely, here(&places.timely, timely))] {
            match next.unmatched.iter().position(|(other, _)| *other as usize == op) {
                Some(at) => {
                    let (_, other) = next.unmatched.swap_remove(at);
                    let mut pairs = self.domains[op].iter().zip(place.iter().zip(&other));
                    if pairs.any(|(domain, (a, b))| a.abs_diff(*b) as usize > domain.bound) {
                        return None;
                    }
                }
                None => next.unmatched.push((op as u32, place)),
            }
        }
        next.unmatched.sort_unstable();
        next.legal.insert(legal);
        next.timely.insert(timely);
        let in_reach = |(op, place): &(u32, Vec<u32>)| {
            let op = *op as usize;
            let other = if next.legal.contains(op) { &next.timely } else { &next.legal };
            let mut pairs = self.domains[op].iter().zip(place);
            pairs.all(|(domain, &at)| self.place(other, domain) <= at as usize + domain.bound)
        };
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

    fn attempts(&mut self) -> Vec<Attempt> {
        let initial = self.problem.lts.initial(self.problem.model);
        let mut longest = std::mem::take(&mut self.longest);
        if longest.is_empty() {
            longest.push(ROOT);
        }
        longest.into_iter().map(|node| self.attempt(node, initial)).collect()
    }

    fn attempt(&self, last: u32, initial: StateId) -> Attempt {
        let mut order = Vec::new();
        let mut node = last;
        while node != ROOT {
            let (parent, op, ..) = self.nodes[node as usize];
            order.push(op as usize);
            node = parent;
        }
        order.reverse();
        let state = if last == ROOT { initial } else { self.nodes[last as usize].3 };
        // Real time does not say what may be next in the legal order.
        let is_left = |op: &usize| !order.contains(op) && !self.is_optional(*op);
        let next = Some((0..self.classes.len()).filter(is_left).collect());
        Attempt { order, state, next }
    }
}
