//! The strongly connected components of an execution graph.

use super::Graph;

/// The mark of an event that Tarjan's algorithm has not visited, or not yet put into a component.
const NONE: usize = usize::MAX;

impl Graph {
    /// The strongly connected component of each event under po ∪ rf ∪ mo ∪ fr ∪ sw, named by the component's first event.
    ///
    /// Two events are in one component exactly if they lie on a common cycle.
    pub(super) fn components(&self) -> Vec<usize> {
        Tarjan::new(self).components()
    }
}

/// Tarjan's algorithm ("Depth-First Search and Linear Graph Algorithms", 1972), with an explicit call stack.
struct Tarjan {
    successors: Vec<Vec<usize>>,
    /// The position of each event in the order of visits.
    index: Vec<usize>,
    /// The smallest index that is known to be reachable from each event.
    low: Vec<usize>,
    component: Vec<usize>,
    /// The visited events that have no component yet.
    stack: Vec<usize>,
    visited: usize,
}

impl Tarjan {
    fn new(graph: &Graph) -> Tarjan {
        let n = graph.nodes.len();
        let mut successors: Vec<Vec<usize>> =
            (0..n).map(|event| graph.successors(event).iter().map(|edge| edge.1).collect()).collect();
        for (number, node) in graph.nodes.iter().enumerate() {
            node.sw.iter().for_each(|&before| successors[before].push(number));
        }
        Tarjan {
            successors,
            index: vec![NONE; n],
            low: vec![0; n],
            component: vec![NONE; n],
            stack: Vec::new(),
            visited: 0,
        }
    }

    fn components(mut self) -> Vec<usize> {
        for root in 0..self.index.len() {
            if self.index[root] == NONE {
                self.visit(root);
            }
        }
        self.component
    }

    fn visit(&mut self, root: usize) {
        // Events under visit, each with the number of its successors that were followed.
        let mut calls = vec![(root, 0)];
        while let Some((at, followed)) = calls.pop() {
            if followed == 0 {
                (self.index[at], self.low[at]) = (self.visited, self.visited);
                self.visited += 1;
                self.stack.push(at);
            } else {
                self.low[at] = self.low[at].min(self.low[self.successors[at][followed - 1]]);
            }
            if let Some(next) = self.next_unvisited(at, followed) {
                calls.push((at, next + 1));
                calls.push((self.successors[at][next], 0));
            } else if self.low[at] == self.index[at] {
                self.close_component(at);
            }
        }
    }

    /// The position among an event's successors, from `followed` on, of the first that was not visited.
    fn next_unvisited(&mut self, at: usize, followed: usize) -> Option<usize> {
        for next in followed..self.successors[at].len() {
            let successor = self.successors[at][next];
            if self.index[successor] == NONE {
                return Some(next);
            }
            if self.component[successor] == NONE {
                self.low[at] = self.low[at].min(self.index[successor]);
            }
        }
        None
    }

    fn close_component(&mut self, root: usize) {
        let start = self.stack.iter().rposition(|&other| other == root).expect("a root is on the stack");
        let members = self.stack.split_off(start);
        let first = members.iter().copied().min().expect("a component has its root");
        members.iter().for_each(|&member| self.component[member] = first);
    }
}
