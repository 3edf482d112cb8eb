//! A set of numbers as a sorted list, without locks.
//!
//! Nodes live in an arena and are named by their position in it; a node is never used twice. A link is one word: the position of the
//! next node, and a mark. A node whose own link is marked is deleted: it is no longer in the set, and nothing may be put behind it. Who
//! comes by takes it out of the list.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// The position of a node.
type Position = u32;

/// The position before the first node: the beginning of the list.
const HEAD: Position = 0;
/// The position after the last node.
const END: Position = u32::MAX >> 1;

/// A link to the next node, and whether the node that has it is deleted.
#[derive(Default)]
struct Link(AtomicU32);

impl Link {
    /// The next node and the mark, in one read.
    fn get(&self) -> (Position, bool) {
        let word = self.0.load(Acquire);
        (word >> 1, word & 1 == 1)
    }

    /// Sets both. Only for nodes that no other thread knows.
    fn set(&self, next: Position) {
        self.0.store(next << 1, Relaxed);
    }

    /// Replaces both at once, if they are what they are expected to be.
    fn compare_and_set(&self, expected: (Position, bool), new: (Position, bool)) -> bool {
        let word = |(next, marked): (Position, bool)| next << 1 | u32::from(marked);
        self.0.compare_exchange(word(expected), word(new), Release, Relaxed).is_ok()
    }
}

#[derive(Default)]
struct Node {
    key: AtomicU32,
    next: Link,
}

/// A set of numbers.
pub struct SortedList {
    nodes: Box<[Node]>,
    used: AtomicUsize,
}

impl SortedList {
    /// An empty set, to which numbers can be added `capacity` times.
    pub fn new(capacity: usize) -> SortedList {
        let nodes: Box<[Node]> = (0..=capacity).map(|_| Node::default()).collect();
        nodes[0].next.set(END);
        SortedList { nodes, used: AtomicUsize::new(1) }
    }

    /// Adds a number. Returns whether it was not there.
    pub fn insert(&self, key: u32) -> bool {
        let new = self.allocate(key);
        loop {
            let (before, node) = self.find(key);
            if self.has(node, key) {
                return false;
            }
            self.next(new).set(node);
            if self.next(before).compare_and_set((node, false), (new, false)) {
                return true;
            }
        }
    }

    /// Removes a number. Returns whether it was there.
    pub fn delete(&self, key: u32) -> bool {
        loop {
            let (before, node) = self.find(key);
            if !self.has(node, key) {
                return false;
            }
            let (next, _) = self.next(node).get();
            if self.next(before).compare_and_set((node, false), (next, false)) {
                return true;
            }
        }
    }

    /// Whether a number is there.
    pub fn contains(&self, key: u32) -> bool {
        let mut node = self.next(HEAD).get().0;
        while node != END && self.key(node) < key {
            node = self.next(node).get().0;
        }
        self.has(node, key) && !self.next(node).get().1
    }

    /// The numbers, if no other thread is at work.
    pub fn to_vec(&self) -> Vec<u32> {
        let mut list = Vec::new();
        let mut node = self.next(HEAD).get().0;
        while node != END {
            let (next, deleted) = self.next(node).get();
            if !deleted {
                list.push(self.key(node));
            }
            node = next;
        }
        list
    }

    /// The first node whose key is not below `key`, and the node before it. Takes deleted nodes out on its way.
    fn find(&self, key: u32) -> (Position, Position) {
        'again: loop {
            let mut before = HEAD;
            let mut node = self.next(before).get().0;
            while node != END {
                let (next, deleted) = self.next(node).get();
                if deleted {
                    if !self.next(before).compare_and_set((node, false), (next, false)) {
                        continue 'again;
                    }
                } else if self.key(node) >= key {
                    break;
                } else {
                    before = node;
                }
                node = next;
            }
            return (before, node);
        }
    }

    fn allocate(&self, key: u32) -> Position {
        let position = self.used.fetch_add(1, Relaxed);
        self.nodes[position].key.store(key, Relaxed);
        position as Position
    }

    fn key(&self, node: Position) -> u32 {
        self.nodes[node as usize].key.load(Relaxed)
    }

    fn next(&self, node: Position) -> &Link {
        &self.nodes[node as usize].next
    }

    fn has(&self, node: Position, key: u32) -> bool {
        node != END && self.key(node) == key
    }
}
