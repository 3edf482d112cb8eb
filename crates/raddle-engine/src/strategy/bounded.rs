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
//! Memory is bounded: while the nodes take more than [`MOST_BYTES`], the search goes depth-first. Then new nodes yield all of their children
//! at once, the newest node first, whatever their preemptions.

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
    /// Nodes that were made while the search went depth-first, which come before all others.
    newest: Vec<Node>,
    /// Memory of the nodes, and the most of it that nodes of rounds may take.
    bytes: usize,
    most_bytes: usize,
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

/// An execution with children that were not made yet. There are many, so they are [packed](pack).
#[derive(Debug)]
struct Node {
    /// The deviations of the execution, then its children, in random order.
    packed: Box<[u8]>,
    /// Where the children begin, and the next of them. **Invariant:** there is a next one.
    children: u32,
    next: u32,
    /// The preemptions of each child.
    preemptions: usize,
}

/// The most memory that nodes may take before the search goes depth-first: tens of thousands of executions.
const MOST_BYTES: usize = 1 << 20;

impl Node {
    fn new(deviations: &[Deviation], children: &[Deviation], preemptions: usize) -> Node {
        let mut packed = Vec::with_capacity(4 * (deviations.len() + children.len()));
        deviations.iter().for_each(|&deviation| pack(deviation, &mut packed));
        let begin = packed.len() as u32;
        children.iter().for_each(|&child| pack(child, &mut packed));
        Node { packed: packed.into(), children: begin, next: begin, preemptions }
    }

    /// Takes the next child: appends the deviations of the execution, and that of the child.
    fn take_child(&mut self, deviations: &mut Vec<Deviation>) {
        let mut known = &self.packed[..self.children as usize];
        while !known.is_empty() {
            deviations.push(unpack(&mut known));
        }
        let mut rest = &self.packed[self.next as usize..];
        deviations.push(unpack(&mut rest));
        self.next = (self.packed.len() - rest.len()) as u32;
    }

    fn is_done(&self) -> bool {
        self.next as usize == self.packed.len()
    }

    /// Memory of the node, with the allocator's overhead.
    fn bytes(&self) -> usize {
        size_of::<Node>() + self.packed.len() + 32
    }
}

/// Appends a deviation: two numbers of seven bits in each byte, of which the highest bit says that more follow.
fn pack(Deviation { choice, to }: Deviation, into: &mut Vec<u8>) {
    for mut number in [choice, to.into()] {
        while number >= 0x80 {
            into.push(number as u8 | 0x80);
            number >>= 7;
        }
        into.push(number as u8);
    }
}

/// Reads a deviation off the beginning of packed ones.
fn unpack(packed: &mut &[u8]) -> Deviation {
    let mut number = || {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = packed.split_first().expect("a deviation is packed whole");
            *packed = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    };
    Deviation { choice: number(), to: number() as u16 }
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
            newest: Vec::new(),
            bytes: 0,
            most_bytes: MOST_BYTES,
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

    /// The node whose child is made next, and whether it belongs to a round.
    fn next_node(&mut self) -> Option<(Node, bool)> {
        if let Some(node) = self.newest.pop() {
            return Some((node, false));
        }
        if self.round.is_empty() {
            self.bound += 1;
            std::mem::swap(&mut self.round, &mut self.next_round);
        }
        self.round.pop_front().map(|node| (node, true))
    }

    /// Keeps the children of the current execution, which have so many preemptions.
    fn keep(&mut self, mut children: Vec<Deviation>, preemptions: usize) {
        if children.is_empty() {
            return;
        }
        if preemptions > self.most {
            self.cut = true;
            return;
        }
        for last in (1..children.len()).rev() {
            children.swap(last, self.rng.below(last + 1));
        }
        children.reverse();
        let node = Node::new(&self.deviations, &children, preemptions);
        let goes_deep = self.bytes > self.most_bytes || preemptions > self.bound + 1;
        self.bytes += node.bytes();
        match () {
            () if goes_deep => self.newest.push(node),
            () if preemptions == self.bound => self.round.push_back(node),
            () => self.next_round.push_back(node),
        }
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
        let Some((mut node, is_of_round)) = self.next_node() else { return false };
        self.preemptions = node.preemptions;
        node.take_child(&mut self.deviations);
        match () {
            () if node.is_done() => self.bytes -= node.bytes(),
            () if is_of_round => self.round.push_back(node),
            () => self.newest.push(node),
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
        let (free, preempting) = (std::mem::take(&mut self.free), std::mem::take(&mut self.preempting));
        self.keep(free, self.preemptions);
        self.keep(preempting, self.preemptions.saturating_add(1));
    }

    fn is_indexed(&self) -> bool {
        false
    }

    fn is_exhaustive(&self) -> bool {
        !self.cut && self.newest.is_empty() && self.round.is_empty() && self.next_round.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Steps;
    use super::*;

    /// The choices of an execution of three threads that make three steps each, and of a read with three sources by each second step.
    fn execution(strategy: &mut Bounded) -> Vec<u16> {
        let (mut left, mut made, mut current) = ([3; 3], Vec::new(), 0);
        for choice in 0.. {
            let runnable: Vec<ThreadId> = (0..3).filter(|&thread| left[usize::from(thread)] > 0).collect();
            if runnable.is_empty() {
                break;
            }
            let point =
                Point { current, runnable: &runnable, active: &runnable, steps: Steps::Now(&[]), choice };
            current = if runnable.len() > 1 { strategy.choose(&point) } else { runnable[0] };
            made.push(current);
            left[usize::from(current)] -= 1;
            if left[usize::from(current)] == 1 {
                made.push(strategy.choose_reads_from(3, 0) as u16);
            }
        }
        strategy.end(made.len());
        made
    }

    fn all(most: usize, most_bytes: usize) -> (Vec<Vec<u16>>, bool, usize) {
        let mut strategy = Bounded { most_bytes, ..Bounded::new(1, most) };
        let (mut made, mut peak) = (Vec::new(), 0);
        while strategy.begin(made.len() as u64) {
            made.push(execution(&mut strategy));
            peak = peak.max(strategy.bytes);
        }
        assert_eq!(strategy.bytes, 0, "all nodes are gone");
        made.sort();
        (made, strategy.is_exhaustive(), peak)
    }

    #[test]
    fn every_interleaving_is_made_once_however_little_memory_there_is() {
        // 9! / 3!^3 orders, three sources for each of three reads.
        let (by_rounds, is_exhaustive, peak) = all(usize::MAX, usize::MAX);
        assert_eq!((by_rounds.len(), is_exhaustive), (1680 * 27, true));
        let mut distinct = by_rounds.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), by_rounds.len());
        for most_bytes in [0, 1 << 10, 1 << 16] {
            let (made, is_exhaustive, least) = all(usize::MAX, most_bytes);
            assert!(made == by_rounds && is_exhaustive, "{most_bytes}");
            assert!(least < most_bytes + (1 << 13) && least < peak / 4, "{most_bytes}: {least} of {peak}");
        }
    }

    #[test]
    fn the_bound_holds_whatever_the_order() {
        for most in 0..4 {
            let (by_rounds, is_exhaustive, _) = all(most, usize::MAX);
            assert!(!is_exhaustive && by_rounds.len() < 1680 * 27);
            for most_bytes in [0, 1 << 10] {
                assert!(all(most, most_bytes).0 == by_rounds, "{most}, {most_bytes}");
            }
        }
    }

    #[test]
    fn deviations_are_unpacked_as_they_were_packed() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u32::MAX];
        let all: Vec<_> = numbers.map(|choice| Deviation { choice, to: choice as u16 }).into();
        let mut node = Node::new(&all, &all, 0);
        for &child in &all {
            assert!(!node.is_done());
            let mut deviations = Vec::new();
            node.take_child(&mut deviations);
            assert_eq!(deviations, [&all[..], &[child]].concat());
        }
        assert!(node.is_done());
    }
}
