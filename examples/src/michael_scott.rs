//! The queue of Michael and Scott.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// A lock-free queue. Nodes are freed with it.
pub struct MsQueue<T> {
    /// The last node that was popped, or the first of all, which never had a value.
    head: AtomicPtr<Node<T>>,
    /// The last node, or one before it.
    tail: AtomicPtr<Node<T>>,
    /// The first node of all: from it, `next` leads to all others.
    first: *mut Node<T>,
}

struct Node<T> {
    /// None before the first value, and once it was popped.
    value: UnsafeCell<Option<T>>,
    next: AtomicPtr<Node<T>>,
}

// SAFETY: a value is given to the thread that moves `head` to its node, and to no other.
unsafe impl<T: Send> Send for MsQueue<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for MsQueue<T> {}

impl<T> Node<T> {
    fn new(value: Option<T>) -> *mut Node<T> {
        let node = Node { value: UnsafeCell::new(value), next: AtomicPtr::new(ptr::null_mut()) };
        Box::into_raw(Box::new(node))
    }
}

impl<T> Default for MsQueue<T> {
    fn default() -> Self {
        let first = Node::new(None);
        MsQueue { head: AtomicPtr::new(first), tail: AtomicPtr::new(first), first }
    }
}

impl<T> MsQueue<T> {
    /// Appends a value.
    pub fn push(&self, value: T) {
        let new = Node::new(Some(value));
        loop {
            let tail = self.tail.load(Acquire);
            match self.next(tail).compare_exchange(ptr::null_mut(), new, Release, Acquire) {
                Ok(_) => {
                    // Who comes later will help if this fails.
                    _ = self.tail.compare_exchange(tail, new, Release, Relaxed);
                    return;
                }
                Err(next) => _ = self.tail.compare_exchange(tail, next, Release, Relaxed),
            }
        }
    }

    /// [`push`](Self::push) with a bug: between the two steps, the queue is cut in two, and what others push and pop meanwhile
    /// does not meet.
    pub fn push_tail_first(&self, value: T) {
        let new = Node::new(Some(value));
        let tail = self.tail.swap(new, AcqRel);
        self.next(tail).store(new, Release);
    }

    /// Takes the oldest value.
    pub fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Acquire);
        loop {
            let next = self.next(head).load(Acquire);
            if next.is_null() {
                return None;
            }
            match self.head.compare_exchange(head, next, AcqRel, Acquire) {
                // SAFETY: this thread alone has moved `head` to this node.
                Ok(_) => return unsafe { (*(*next).value.get()).take() },
                Err(now) => head = now,
            }
        }
    }

    fn next(&self, node: *mut Node<T>) -> &AtomicPtr<Node<T>> {
        // SAFETY: nodes live as long as the queue.
        unsafe { &(*node).next }
    }
}

impl<T> Drop for MsQueue<T> {
    fn drop(&mut self) {
        let mut node = self.first;
        while !node.is_null() {
            // SAFETY: nobody else is left.
            node = unsafe { Box::from_raw(node) }.next.into_inner();
        }
    }
}
