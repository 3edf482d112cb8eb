//! Context-bounded search: all interleavings with no preemption, then with one, with two, ...
//!
//! An interleaving is named by its *deviations*: the choices at which it does not take the default (the current thread
//! if it can go on, else the next in turn). The name is unique, so no interleaving is made twice. Each execution is a
//! node; its children add one deviation after its last. A deviation while the current thread could go on is a
//! preemption and counts; one where it could not is free. One to a thread that yields or sleeps counts, too. Under a
//! weak memory model, an access that does not go to the newest store deviates too, and counts as a preemption.
//!
//! Round b makes the interleavings with exactly b preemptions. Within a round the nodes take turns, each yielding one
//! random child at a time, so that the search spreads over the whole tree instead of exhausting one corner first.
//!
//! Memory is bounded: while the nodes take more than [`MOST_BYTES`], the children of new ones are dropped, and the search no
//! longer claims to be exhaustive.

use std::collections::VecDeque;

use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Bounded {
    rng: Rng,
    most: usize,
    bound: usize,
    /// The deviations of the current execution.
    deviations: Vec<Deviation>,
    /// Number of deviations taken so far.
    taken: usize,
    /// Number of choices of either kind so far.
    choices: u32,
    preemptions: usize,
    /// Children of the current execution.
    free: Vec<Deviation>,
    preempting: Vec<Deviation>,
    /// Nodes with children for this round, and for the next.
    round: VecDeque<Node>,
    next_round: VecDeque<Node>,
    /// Memory of the nodes.
    bytes: usize,
    dropped: bool,
    begun: bool,
    /// Executions with more preemptions than `most` exist.
    cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Deviation {
    choice: u32,
    /// The thread, or the access's position in modification order.
    to: u16,
}

#[derive(Debug)]
struct Node {
    deviations: Box<[Deviation]>,
    preemptions: usize,
    /// In random order; taken from the end.
    children: Vec<Deviation>,
}

/// The most memory that nodes may take.
const MOST_BYTES: usize = 32 << 20;

impl Node {
    /// Memory of the node, with the allocator's overhead.
    fn bytes(&self) -> usize {
        size_of::<Node>()
            + size_of_val(&*self.deviations)
            + self.children.capacity() * size_of::<Deviation>()
            + 64
    }
}

impl Bounded {
    /// Searches with up to `most` preemptions.
    pub fn new(seed: u64, most: usize) -> Bounded {
        Bounded {
            rng: Rng::new(seed),
            most,
            bound: 0,
            deviations: Vec::new(),
            taken: 0,
            choices: 0,
            preemptions: 0,
            free: Vec::new(),
            preempting: Vec::new(),
            round: VecDeque::new(),
            next_round: VecDeque::new(),
            bytes: 0,
            dropped: false,
            begun: false,
            cut: false,
        }
    }

    /// Makes a choice: the default, or the next deviation if this is its choice. Beyond the last deviation, the others
    /// become children; each comes with whether it is free.
    fn deviate(&mut self, default: u16, others: impl Iterator<Item = (u16, bool)>) -> u16 {
        let choice = self.choices;
        self.choices += 1;
        match self.deviations.get(self.taken) {
            Some(deviation) if deviation.choice == choice => {
                self.taken += 1;
                deviation.to
            }
            Some(_) => default,
            None => {
                for (to, free) in others {
                    let children = if free { &mut self.free } else { &mut self.preempting };
                    children.push(Deviation { choice, to });
                }
                default
            }
        }
    }

    fn next_node(&mut self) -> Option<Node> {
        loop {
            if let Some(node) = self.round.pop_front() {
                return Some(node);
            }
            if self.next_round.is_empty() {
                return None;
            }
            if self.bound == self.most {
                self.cut = true;
                return None;
            }
            self.bound += 1;
            std::mem::swap(&mut self.round, &mut self.next_round);
        }
    }

    fn keep(&mut self, mut children: Vec<Deviation>) -> Option<Node> {
        if children.is_empty() {
            return None;
        }
        if self.bytes > MOST_BYTES {
            self.dropped = true;
            return None;
        }
        children.shrink_to_fit();
        for last in (1..children.len()).rev() {
            children.swap(last, self.rng.below(last + 1));
        }
        let node =
            Node { deviations: self.deviations.as_slice().into(), preemptions: self.preemptions, children };
        self.bytes += node.bytes();
        Some(node)
    }
}

impl Strategy for Bounded {
    fn begin(&mut self, _execution: u64) -> bool {
        self.deviations.clear();
        self.taken = 0;
        self.choices = 0;
        self.preemptions = 0;
        if !self.begun {
            self.begun = true;
            return true;
        }
        let Some(mut node) = self.next_node() else { return false };
        let child = node.children.pop().expect("only nodes with children are kept");
        self.deviations.extend_from_slice(&node.deviations);
        self.deviations.push(child);
        // A node's children either all cost a preemption (it comes from the round before) or none does.
        self.preemptions = self.bound;
        debug_assert!(node.preemptions <= self.bound);
        if node.children.is_empty() {
            self.bytes -= node.bytes();
        } else {
            self.round.push_back(node);
        }
        true
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let default = point.default_choice();
        let preempts = point.current_goes_on();
        let others = point.runnable.iter().filter(|&&thread| thread != default);
        self.deviate(
            default,
            others.map(|&thread| (thread, !preempts && point.preferred().contains(&thread))),
        )
    }

    fn choose_reads_from(&mut self, alternatives: usize, _choice: usize) -> usize {
        self.deviate(0, (1..alternatives as u16).map(|back| (back, false))).into()
    }

    fn end(&mut self, _choices: usize) {
        let free = std::mem::take(&mut self.free);
        if let Some(node) = self.keep(free) {
            self.round.push_back(node);
        }
        let preempting = std::mem::take(&mut self.preempting);
        if let Some(node) = self.keep(preempting) {
            self.next_round.push_back(node);
        }
    }

    fn is_indexed(&self) -> bool {
        false
    }

    fn is_exhaustive(&self) -> bool {
        !self.dropped && !self.cut && self.round.is_empty() && self.next_round.is_empty()
    }
}
