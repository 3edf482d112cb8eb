//! A stack that forgets: `pop` reads and writes without an exchange.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

struct Node {
    value: u32,
    next: *mut Node,
}

pub struct Stack {
    head: AtomicPtr<Node>,
}

impl Default for Stack {
    fn default() -> Stack {
        Stack { head: AtomicPtr::new(null_mut()) }
    }
}

impl Stack {
    pub fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: self.head.load(Acquire) }));
        self.head.store(node, Release);
    }

    pub fn pop(&self) -> Option<u32> {
        let node = unsafe { self.head.load(Acquire).as_ref()? };
        self.head.store(node.next, Release);
        Some(node.value)
    }
}
