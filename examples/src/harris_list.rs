//! A set as a sorted, linked list (Harris, with Michael's way of unlinking one node at a time).
//!
//! A node is removed in two steps: its link to the next node is marked, from when on it is not in the set and nothing can be
//! put behind it; then it is unlinked, by whoever comes by.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};

use crate::graveyard::{Bury, Graveyard};

/// A lock-free set of numbers. Nodes are freed with it.
pub struct HarrisList {
    head: Link,
    removed: Graveyard<Node>,
}

/// A pointer whose lowest bit says that the node which has it is removed.
type Link = AtomicPtr<Node>;

struct Node {
    key: u32,
    next: Link,
    below: UnsafeCell<*mut Node>,
}

impl Bury for Node {
    fn below(&self) -> &UnsafeCell<*mut Self> {
        &self.below
    }
}

// SAFETY: nodes are changed through atomics only.
unsafe impl Send for HarrisList {}
// SAFETY: as above.
unsafe impl Sync for HarrisList {}

impl Default for HarrisList {
    fn default() -> Self {
        HarrisList { head: Link::new(ptr::null_mut()), removed: Graveyard::new() }
    }
}

fn marked(node: *mut Node) -> *mut Node {
    node.map_addr(|address| address | 1)
}

fn unmarked(node: *mut Node) -> *mut Node {
    node.map_addr(|address| address & !1)
}

fn is_marked(node: *mut Node) -> bool {
    node.addr() & 1 == 1
}

impl HarrisList {
    /// Adds a number, unless it is there.
    pub fn insert(&self, key: u32) -> bool {
        let new = Box::into_raw(Box::new(Node {
            key,
            next: Link::new(ptr::null_mut()),
            below: UnsafeCell::new(ptr::null_mut()),
        }));
        loop {
            let (link, node) = self.find(key);
            if node_has(node, key) {
                // SAFETY: nobody has seen the node.
                drop(unsafe { Box::from_raw(new) });
                return false;
            }
            // SAFETY: the node is not linked yet.
            unsafe { &*new }.next.store(node, Relaxed);
            if link.compare_exchange(node, new, Release, Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Removes a number, if it is there.
    pub fn remove(&self, key: u32) -> bool {
        loop {
            let (link, node) = self.find(key);
            if !node_has(node, key) {
                return false;
            }
            let next = self.next(node).load(Acquire);
            if is_marked(next) {
                continue;
            }
            if self.next(node).compare_exchange(next, marked(next), AcqRel, Relaxed).is_ok() {
                self.unlink(link, node, next);
                return true;
            }
        }
    }

    /// Whether a number is there.
    pub fn contains(&self, key: u32) -> bool {
        let node = self.first_from(key);
        node_has(node, key) && !is_marked(self.next(node).load(Acquire))
    }

    /// [`contains`](Self::contains) with a bug: nodes that are removed but still linked count.
    pub fn contains_without_mark_check(&self, key: u32) -> bool {
        node_has(self.first_from(key), key)
    }

    /// The first node whose key is at least `key`, and the link that leads there. Unlinks removed nodes on its way.
    fn find(&self, key: u32) -> (&Link, *mut Node) {
        'again: loop {
            let mut link = &self.head;
            let mut node = link.load(Acquire);
            while !node.is_null() {
                let next = self.next(node).load(Acquire);
                if is_marked(next) {
                    if !self.unlink(link, node, unmarked(next)) {
                        continue 'again;
                    }
                    node = unmarked(next);
                } else if key_of(node) >= key {
                    break;
                } else {
                    (link, node) = (self.next(node), next);
                }
            }
            return (link, node);
        }
    }

    /// The first node whose key is at least `key`, removed or not. Changes nothing.
    fn first_from(&self, key: u32) -> *mut Node {
        let mut node = self.head.load(Acquire);
        while !node.is_null() && key_of(node) < key {
            node = unmarked(self.next(node).load(Acquire));
        }
        node
    }

    fn unlink(&self, link: &Link, node: *mut Node, next: *mut Node) -> bool {
        let unlinked = link.compare_exchange(node, next, AcqRel, Relaxed).is_ok();
        if unlinked {
            // SAFETY: a node is linked once, and so unlinked once.
            unsafe { self.removed.bury(node) };
        }
        unlinked
    }

    fn next(&self, node: *mut Node) -> &Link {
        // SAFETY: nodes live as long as the list.
        unsafe { &(*node).next }
    }
}

fn key_of(node: *mut Node) -> u32 {
    // SAFETY: nodes live as long as the list, and keys do not change.
    unsafe { (*node).key }
}

fn node_has(node: *mut Node, key: u32) -> bool {
    !node.is_null() && key_of(node) == key
}

impl Drop for HarrisList {
    fn drop(&mut self) {
        let mut node = *self.head.get_mut();
        while !node.is_null() {
            // SAFETY: nobody else is left, and what is linked is not buried.
            node = unmarked(unsafe { Box::from_raw(node) }.next.into_inner());
        }
    }
}
