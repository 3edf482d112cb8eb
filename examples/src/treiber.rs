//! Treiber's stack.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};

use crate::graveyard::{Bury, Graveyard};

/// A lock-free stack. Nodes are freed with it.
pub struct TreiberStack<T> {
    head: AtomicPtr<Node<T>>,
    popped: Graveyard<Node<T>>,
}

struct Node<T> {
    /// None once the value was popped.
    value: UnsafeCell<Option<T>>,
    next: *mut Node<T>,
    below: UnsafeCell<*mut Node<T>>,
}

impl<T> Bury for Node<T> {
    fn below(&self) -> &UnsafeCell<*mut Self> {
        &self.below
    }
}

// SAFETY: a value is given to the thread that pops its node, and to no other.
unsafe impl<T: Send> Send for TreiberStack<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for TreiberStack<T> {}

impl<T> Default for TreiberStack<T> {
    fn default() -> Self {
        TreiberStack { head: AtomicPtr::new(ptr::null_mut()), popped: Graveyard::new() }
    }
}

impl<T> TreiberStack<T> {
    /// Puts a value on top.
    pub fn push(&self, value: T) {
        let mut head = self.head.load(Relaxed);
        let mut node = Box::new(Node {
            value: UnsafeCell::new(Some(value)),
            next: head,
            below: UnsafeCell::new(ptr::null_mut()),
        });
        loop {
            node.next = head;
            let new = Box::into_raw(node);
            match self.head.compare_exchange(head, new, Release, Relaxed) {
                Ok(_) => return,
                // SAFETY: nobody has seen the node.
                Err(now) => (head, node) = (now, unsafe { Box::from_raw(new) }),
            }
        }
    }

    /// Takes the value on top.
    pub fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Acquire);
        loop {
            // SAFETY: nodes live as long as the stack, and those that were pushed do not change their `next`.
            let next = unsafe { head.as_ref()? }.next;
            match self.head.compare_exchange(head, next, Acquire, Acquire) {
                Ok(_) => return self.take(head),
                Err(now) => head = now,
            }
        }
    }

    /// [`pop`](Self::pop) with a bug: two threads may pop the same node.
    ///
    /// Values are copied so that popping one twice is wrong, but no undefined behaviour.
    pub fn pop_without_cas(&self) -> Option<T>
    where
        T: Copy,
    {
        let head = self.head.load(Acquire);
        // SAFETY: as in `pop`.
        let node = unsafe { head.as_ref()? };
        self.head.store(node.next, Release);
        // SAFETY: nobody writes the values of a stack that is popped in this way.
        unsafe { *node.value.get() }
    }

    /// The value of a node that this thread has popped.
    fn take(&self, node: *mut Node<T>) -> Option<T> {
        // SAFETY: the node is this thread's alone: it was popped once, and is buried once.
        unsafe {
            let value = (*(*node).value.get()).take();
            self.popped.bury(node);
            value
        }
    }
}

impl<T> Drop for TreiberStack<T> {
    fn drop(&mut self) {
        let mut node = *self.head.get_mut();
        while !node.is_null() {
            // SAFETY: nobody else is left.
            node = unsafe { Box::from_raw(node) }.next;
        }
    }
}
