//! The outcomes of a schema, as a graph whose paths they are.

use std::collections::{BTreeSet, HashSet};

use super::machine::ValueId;

/// Nodes are positions of the search, edges are operations with their results.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Vec<Edge>>,
    pub(super) root: usize,
    pub(super) operations: usize,
}

/// An operation that comes next, with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) op: usize,
    pub(super) value: ValueId,
    pub(super) next: usize,
}

/// What a schema may return at given levels.
///
/// The outcomes themselves may be far more than what is kept here: 16 increments of a counter have 63 million.
#[derive(Clone, Debug)]
pub struct Expected {
    pub(super) graph: Graph,
    /// The texts of results.
    pub(super) values: Vec<String>,
}

impl Expected {
    /// Whether the operations may return this, in the order in which they are written.
    pub fn contains<S: AsRef<str>>(&self, outcome: &[S]) -> bool {
        if outcome.len() != self.graph.operations {
            return false;
        }
        let find = |text: &S| self.values.iter().position(|value| value == text.as_ref());
        let Some(wanted) = outcome.iter().map(find).collect::<Option<Vec<_>>>() else { return false };
        let end = |node: usize| self.graph.nodes[node].is_empty();
        let mut seen = HashSet::from([self.graph.root]);
        let mut open = vec![self.graph.root];
        while let Some(node) = open.pop() {
            if end(node) {
                return true;
            }
            for edge in &self.graph.nodes[node] {
                if edge.value as usize == wanted[edge.op] && seen.insert(edge.next) {
                    open.push(edge.next);
                }
            }
        }
        false
    }

    /// All outcomes, if there are no more than `most`.
    pub fn outcomes(&self, most: usize) -> Option<BTreeSet<Vec<String>>> {
        let text = |outcome: Vec<ValueId>| {
            outcome.into_iter().map(|value| self.values[value as usize].clone()).collect()
        };
        Some(self.graph.outcomes(most)?.into_iter().map(text).collect())
    }

    /// How many positions the search has told apart.
    pub fn positions(&self) -> usize {
        self.graph.nodes.len()
    }
}

impl Graph {
    fn outcomes(&self, most: usize) -> Option<HashSet<Vec<ValueId>>> {
        let mut found = HashSet::new();
        let mut seen: HashSet<(usize, Vec<ValueId>)> = HashSet::new();
        let mut open = vec![(self.root, vec![ValueId::MAX; self.operations])];
        while let Some((node, outcome)) = open.pop() {
            if self.nodes[node].is_empty() {
                found.insert(outcome);
                if found.len() > most {
                    return None;
                }
                continue;
            }
            for edge in &self.nodes[node] {
                let mut longer = outcome.clone();
                longer[edge.op] = edge.value;
                if seen.insert((edge.next, longer.clone())) {
                    open.push((edge.next, longer));
                }
            }
            // Partial outcomes can be far more than whole ones, but not by orders of magnitude.
            if seen.len() > most.saturating_mul(200) {
                return None;
            }
        }
        Some(found)
    }
}
