//! The search for expected outcomes: linearizations and visibilities, merged where the rest cannot tell them apart.
//!
//! Operations are placed one after another, each with what it sees. What can still happen depends on what was placed, on the
//! states that the object has after those parts of it that a later operation may see, and on what was seen, as far as a later operation must see
//! it too. Positions in which these are equal are one node of a graph, so that the cost is that of the states, not of the
//! permutations.
//!
//! Two observations keep the graph small without losing an outcome, because levels bound what is seen from below only:
//! - Of operations that only read, an operation sees those that it must: they do not change its result.
//! - Of two sets of operations that give the same result, the one that contains the other need not be tried (the minimal visibilities
//!   of Emmi and Enea, CAV 2018).

use std::collections::HashMap;

use super::expected::{Edge, Graph};
use super::machine::{Machine, NotSequential, Oracle, StateId, ValueId};
use super::program::{Ops, Program, members};
use crate::level::Level;

/// Positions that are examined before a search gives up.
const MOST_POSITIONS: usize = 2_000_000;

/// Builds the graph of all outcomes.
pub(super) fn search<O: Oracle>(program: &Program, machine: &mut Machine<O>) -> Result<Graph, NotSequential> {
    let mutators = (0..program.ops.len())
        .filter(|&op| !machine.is_readonly(program.ops[op].call))
        .fold(0, |set, op| set | 1 << op);
    let mut search = Search { program, machine, mutators, nodes: Vec::new(), known: HashMap::new(), work: 0 };
    let start = Position {
        placed: 0,
        states: vec![(0, 0)],
        seen_before: vec![0; program.sequences],
        seen: Vec::new(),
    };
    let root = search.visit(start)?;
    Ok(Graph { nodes: search.nodes, root, operations: program.ops.len() })
}

struct Search<'a, O> {
    program: &'a Program,
    machine: &'a mut Machine<O>,
    /// The operations that may change the object.
    mutators: Ops,
    nodes: Vec<Vec<Edge>>,
    known: HashMap<Position, usize>,
    work: usize,
}

/// Everything on which the rest of a linearization depends.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Position {
    placed: Ops,
    /// For each set of placed mutators that a later operation may see, sorted: the state after them in the order of placement.
    states: Vec<(Ops, StateId)>,
    /// For each sequence with operations to come that must see what was seen before them: what was.
    seen_before: Vec<Ops>,
    /// What each placed operation saw, if a causal operation is to come.
    seen: Vec<Ops>,
}

impl<'a, O: Oracle> Search<'a, O> {
    fn visit(&mut self, position: Position) -> Result<usize, NotSequential> {
        if let Some(&node) = self.known.get(&position) {
            return Ok(node);
        }
        self.work += position.states.len();
        if self.work > MOST_POSITIONS {
            return Err(NotSequential::TooMany { positions: self.work });
        }
        let mut edges = Vec::new();
        let ready: Vec<usize> = self.program.ready(position.placed).collect();
        for op in ready {
            let choices = self.choices(&position, op)?;
            let rest = self.place(&position, op)?;
            for (value, seen) in choices {
                let next = self.remember(&position, rest.clone(), op, seen);
                edges.push(Edge { op, value, next: self.visit(next)? });
            }
        }
        edges.sort_unstable();
        edges.dedup();
        self.nodes.push(edges);
        let node = self.nodes.len() - 1;
        self.known.insert(position, node);
        Ok(node)
    }

    /// The results that an operation may have if it comes next, each with the smallest sets of operations to see for it.
    fn choices(&mut self, position: &Position, op: usize) -> Result<Vec<(ValueId, Ops)>, NotSequential> {
        let placed_mutators = position.placed & self.mutators;
        let call = self.program.ops[op].call;
        if self.program.ops[op].level == Level::Complete {
            let state = state_after(position, placed_mutators);
            let (_, value) = self.machine.step(state, call)?;
            return Ok(vec![(value, position.placed | 1 << op)]);
        }
        let matters = self.seeing_matters(position.placed | 1 << op, op);
        let mut choices: Vec<(ValueId, Ops)> = Vec::new();
        for &(visible, state) in &position.states {
            let seen = self.least_visibility(position, op, visible);
            if seen & placed_mutators != visible {
                continue;
            }
            let (_, value) = self.machine.step(state, call)?;
            choices.push((value, if matters { seen } else { 0 }));
        }
        let all = choices.clone();
        choices.retain(|&(value, seen)| {
            !all.iter().any(|&(other, less)| other == value && less != seen && less & !seen == 0)
        });
        choices.sort_unstable();
        choices.dedup();
        Ok(choices)
    }

    /// The least set that an operation can see if it sees these mutators. It may have more mutators: then these alone are not possible.
    fn least_visibility(&self, position: &Position, op: usize, visible: Ops) -> Ops {
        let ops = &self.program.ops;
        let level = ops[op].level;
        let mut seen = visible | 1 << op;
        if level >= Level::Basic {
            seen |= ops[op].before;
        }
        if matches!(level, Level::Monotonic | Level::Peer) {
            seen |= position.seen_before[ops[op].sequence];
        }
        loop {
            let mut more = seen;
            for other in members(seen & position.placed) {
                match level {
                    Level::Peer => more |= ops[other].before,
                    Level::Causal => more |= position.seen[other],
                    _ => {}
                }
            }
            if more == seen {
                return seen;
            }
            seen = more;
        }
    }

    /// Whether what an operation sees can bind a later one.
    fn seeing_matters(&self, placed: Ops, op: usize) -> bool {
        self.program.remaining(placed).any(|later| match self.program.ops[later].level {
            Level::Causal => true,
            Level::Monotonic | Level::Peer => self.program.ops[later].before >> op & 1 == 1,
            _ => false,
        })
    }

    /// The states that still matter once an operation was placed.
    fn place(&mut self, position: &Position, op: usize) -> Result<Vec<(Ops, StateId)>, NotSequential> {
        let placed = position.placed | 1 << op;
        let all = placed & self.mutators;
        let bounds = self.bounds(placed);
        let complete_to_come =
            self.program.remaining(placed).any(|later| self.program.ops[later].level == Level::Complete);
        let is_needed = |visible: Ops| {
            (visible == all && complete_to_come) || bounds.iter().any(|bound| bound.admits(visible))
        };
        let mut states = Vec::new();
        for &(visible, state) in &position.states {
            if is_needed(visible) {
                states.push((visible, state));
            }
            let with = visible | 1 << op;
            if self.mutators >> op & 1 == 1 && is_needed(with) {
                let (next, _) = self.machine.step(state, self.program.ops[op].call)?;
                states.push((with, next));
            }
        }
        states.sort_unstable();
        Ok(states)
    }

    /// What each operation to come that need not see everything must see at least.
    fn bounds(&self, placed: Ops) -> Vec<Bound<'a>> {
        let mut bounds = Vec::new();
        for later in self.program.remaining(placed) {
            let op = &self.program.ops[later];
            let least = match op.level {
                Level::Complete => continue,
                Level::Weak => 0,
                _ => op.before & placed & self.mutators,
            };
            let closed = op.level == Level::Peer;
            bounds.push(Bound { least, closed, mutators: self.mutators, program: self.program });
        }
        bounds
    }

    /// The position after an operation that saw this, with what later operations must see because of it.
    fn remember(&self, position: &Position, states: Vec<(Ops, StateId)>, op: usize, seen: Ops) -> Position {
        let ops = &self.program.ops;
        let placed = position.placed | 1 << op;
        let mut next =
            Position { placed, states, seen_before: vec![0; self.program.sequences], seen: Vec::new() };
        for later in self.program.remaining(placed) {
            let (Level::Monotonic | Level::Peer) = ops[later].level else { continue };
            let sequence = ops[later].sequence;
            next.seen_before[sequence] = position.seen_before[sequence];
            if ops[later].before >> op & 1 == 1 {
                next.seen_before[sequence] |= seen;
            }
        }
        if self.program.remaining(placed).any(|later| ops[later].level == Level::Causal) {
            next.seen = position.seen.clone();
            next.seen.resize(ops.len(), 0);
            next.seen[op] = seen;
        }
        next
    }
}

/// A condition on the mutators that an operation to come may see.
struct Bound<'a> {
    least: Ops,
    /// Whether with each operation, what happens before it must be seen.
    closed: bool,
    mutators: Ops,
    program: &'a Program,
}

impl Bound<'_> {
    fn admits(&self, visible: Ops) -> bool {
        self.least & !visible == 0
            && (!self.closed
                || members(visible).all(|op| self.program.ops[op].before & self.mutators & !visible == 0))
    }
}

/// The state after a set of mutators, which is one that matters.
fn state_after(position: &Position, visible: Ops) -> StateId {
    let found = position.states.binary_search_by_key(&visible, |&(set, _)| set);
    position.states[found.expect("an operation is to come that may see this set")].1
}
