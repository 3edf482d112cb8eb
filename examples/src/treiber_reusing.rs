//! Treiber's stack with nodes that are used again.

use std::array;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// A stack of at most `N` values, in nodes of its own.
///
/// Its bug: a `pop` that was interrupted takes a node that was popped and pushed again for the one it had seen (ABA), and
/// makes the node that was below it *then* the new head.
pub struct ReusingStack<const N: usize> {
    nodes: [Node; N],
    head: AtomicUsize,
    free: AtomicUsize,
}

struct Node {
    value: AtomicU32,
    next: AtomicUsize,
}

const NONE: usize = usize::MAX;

impl<const N: usize> Default for ReusingStack<N> {
    fn default() -> Self {
        let next = |node| if node + 1 < N { node + 1 } else { NONE };
        ReusingStack {
            nodes: array::from_fn(|node| Node {
                value: AtomicU32::new(0),
                next: AtomicUsize::new(next(node)),
            }),
            head: AtomicUsize::new(NONE),
            free: AtomicUsize::new(0),
        }
    }
}

impl<const N: usize> ReusingStack<N> {
    /// Puts a value on top, unless the stack is full.
    pub fn push(&self, value: u32) -> bool {
        let Some(node) = self.unlink(&self.free) else { return false };
        self.nodes[node].value.store(value, Relaxed);
        self.link(&self.head, node);
        true
    }

    /// Takes the value on top.
    pub fn pop(&self) -> Option<u32> {
        let node = self.unlink(&self.head)?;
        let value = self.nodes[node].value.load(Relaxed);
        self.link(&self.free, node);
        Some(value)
    }

    fn link(&self, list: &AtomicUsize, node: usize) {
        let mut first = list.load(Acquire);
        loop {
            self.nodes[node].next.store(first, Relaxed);
            match list.compare_exchange(first, node, AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    fn unlink(&self, list: &AtomicUsize) -> Option<usize> {
        let mut first = list.load(Acquire);
        while first != NONE {
            let next = self.nodes[first].next.load(Acquire);
            match list.compare_exchange(first, next, AcqRel, Acquire) {
                Ok(_) => return Some(first),
                Err(now) => first = now,
            }
        }
        None
    }
}
