//! Ordering operations that real time does not order: depth-first, with a memo.
//!
//! Operations come in chains, each to be ordered front to back (a process's program order); an operation may besides
//! wait for numbers of operations of other chains (happens-before) or for a number of operations altogether
//! (quiescent points). A configuration is then the position in each chain and the state.

use rustc_hash::FxHashSet;

use super::Attempt;
use super::limits::{Budget, Exhausted};
use super::lts::{Class, Lts, StateId};
use crate::model::Model;

/// An operation in its chain.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) class: Class,
    pub(crate) op: usize,
    /// Its outcome is unknown: it may be left out, and then nothing behind it in its chain can be reached.
    pub(crate) optional: bool,
    /// How many operations that are not optional come before it, at least.
    pub(crate) after: usize,
    /// How far each of these chains must have got before it.
    pub(crate) needs: Vec<(usize, usize)>,
}

/// The operations of a history and the order they are under.
#[derive(Default)]
pub(crate) struct Chains {
    pub(crate) chains: Vec<Vec<Item>>,
}

/// Looks for an order of all operations that are not optional: the order, or the longest attempts.
pub(crate) fn search<M: Model>(
    chains: &Chains,
    lts: &mut Lts<M>,
    model: &M,
    budget: &mut Budget,
) -> Result<Result<Vec<usize>, Vec<Attempt>>, Exhausted> {
    let state = lts.initial(model);
    let mut search = Search {
        chains: &chains.chains,
        required: chains.chains.iter().flatten().filter(|item| !item.optional).count(),
        positions: vec![0; chains.chains.len()],
        placed: 0,
        trail: Vec::new(),
        frames: Vec::new(),
        memo: FxHashSet::default(),
        longest: Vec::new(),
    };
    if search.enter(lts, model, state) {
        return Ok(Ok(search.order()));
    }
    while !search.frames.is_empty() {
        budget.spend(|| search.bytes() + lts.bytes())?;
        if search.advance(lts, model) {
            return Ok(Ok(search.order()));
        }
    }
    Ok(Err(search.longest))
}

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

struct Search<'a> {
    chains: &'a [Vec<Item>],
    required: usize,
    positions: Vec<u32>,
    /// Operations placed that are not optional.
    placed: usize,
    /// The chains whose next operation was placed, in order.
    trail: Vec<u32>,
    frames: Vec<Frame>,
    memo: FxHashSet<(Box<[u32]>, StateId)>,
    longest: Vec<Attempt>,
}

/// A configuration on the current path, and what has been tried from it.
struct Frame {
    state: StateId,
    /// The length of the trail before this configuration was entered.
    start: usize,
    chain: usize,
    target: usize,
    is_leaf: bool,
}

impl Search<'_> {
    /// Tries the next continuation of the innermost configuration, or leaves it; `true` if all is placed.
    fn advance<M: Model>(&mut self, lts: &mut Lts<M>, model: &M) -> bool {
        let frame = self.frames.last().expect("advance is called with a frame");
        let (state, mut chain, mut target) = (frame.state, frame.chain, frame.target);
        while chain < self.chains.len() {
            if let Some(item) = self.enabled(chain) {
                let (class, optional) = (item.class, item.optional);
                let edge = lts.edge(model, state, class);
                while target < lts.fan_out(edge) {
                    let next = lts.target(edge, target);
                    target += 1;
                    if optional && next == state {
                        continue;
                    }
                    let frame = self.frames.last_mut().expect("it was there");
                    (frame.chain, frame.target, frame.is_leaf) = (chain, target, false);
                    self.place(chain);
                    return self.enter(lts, model, next);
                }
            }
            (chain, target) = (chain + 1, 0);
        }
        let frame = self.frames.pop().expect("it was there");
        if frame.is_leaf {
            self.remember_attempt(frame.state);
        }
        self.rewind(frame.start);
        false
    }

    /// Goes to `state` after the last operation of the trail; `true` if that completes the order.
    fn enter<M: Model>(&mut self, lts: &mut Lts<M>, model: &M, state: StateId) -> bool {
        let start = self.trail.len().saturating_sub(1);
        self.place_reads(lts, model, state);
        if self.placed == self.required {
            return true;
        }
        if self.memo.insert((self.positions.as_slice().into(), state)) {
            self.frames.push(Frame { state, start, chain: 0, target: 0, is_leaf: true });
        } else {
            self.rewind(start);
        }
        false
    }

    /// Places every operation that only reads and fits: waiting gains nothing.
    fn place_reads<M: Model>(&mut self, lts: &mut Lts<M>, model: &M, state: StateId) {
        let mut progress = true;
        while progress {
            progress = false;
            for chain in 0..self.chains.len() {
                while let Some(item) = self.enabled(chain)
                    && !item.optional
                    && lts.is_read_only(item.class)
                    && lts.edge(model, state, item.class).is_legal()
                {
                    self.place(chain);
                    progress = true;
                }
            }
        }
    }

    /// The next operation of `chain`, if nothing it waits for is missing.
    fn enabled(&self, chain: usize) -> Option<&Item> {
        let item = self.chains[chain].get(self.positions[chain] as usize)?;
        let ready = self.placed >= item.after
            && item.needs.iter().all(|&(other, count)| self.positions[other] as usize >= count);
        ready.then_some(item)
    }

    fn place(&mut self, chain: usize) {
        let item = &self.chains[chain][self.positions[chain] as usize];
        self.placed += usize::from(!item.optional);
        self.positions[chain] += 1;
        self.trail.push(chain as u32);
    }

    fn rewind(&mut self, length: usize) {
        while self.trail.len() > length {
            let chain = self.trail.pop().expect("the trail is longer than that") as usize;
            self.positions[chain] -= 1;
            let item = &self.chains[chain][self.positions[chain] as usize];
            self.placed -= usize::from(!item.optional);
        }
    }

    fn order(&self) -> Vec<usize> {
        let mut next = vec![0; self.chains.len()];
        let mut take = |&chain: &u32| {
            let chain = chain as usize;
            next[chain] += 1;
            self.chains[chain][next[chain] - 1].op
        };
        self.trail.iter().map(&mut take).collect()
    }

    fn remember_attempt(&mut self, state: StateId) {
        let length = self.trail.len();
        if self.longest.len() == ATTEMPTS
            && self.longest.last().is_some_and(|last| last.order.len() >= length)
        {
            return;
        }
        let at = self.longest.partition_point(|attempt| attempt.order.len() >= length);
        let next = (0..self.chains.len()).filter_map(|chain| self.enabled(chain));
        let next = next.filter(|item| !item.optional).map(|item| item.op).collect();
        self.longest.insert(at, Attempt { order: self.order(), state, next: Some(next) });
        self.longest.truncate(ATTEMPTS);
    }

    fn bytes(&self) -> usize {
        self.memo.len() * (size_of::<(Box<[u32]>, StateId)>() * 2 + self.positions.len() * 4)
    }
}
