//! Roll-back of the memory that the closure under test borrows: locals of the functions that called the exploration.
//!
//! The locals lie on the exploring thread's own stack, above the frame of the exploration. That part of the stack is a
//! few KiB, is not used otherwise meanwhile, and is copied as a whole.

use std::ops::Range;

use super::image::Image;
use crate::platform::{unwind, words};

/// The stack above the exploration, and a copy of its initial contents.
#[derive(Debug, Default)]
pub struct Borrowed {
    memory: Range<usize>,
    copy: Box<[u8]>,
}

/// Largest copy: tests that run on a deep stack of their own are rare, and pay for it with every execution.
const MOST: usize = 16 << 10;

impl Borrowed {
    /// Takes a copy of the calling thread's stack above an address.
    pub fn above(address: usize) -> Borrowed {
        // The outermost frame ends below the system's data at the top of a stack: thread-locals, the environment.
        let end = unwind::outermost_frame().clamp(address, address + MOST);
        let memory = address..end;
        // SAFETY: a part of the calling thread's stack that is in use.
        let copy = unsafe { std::slice::from_raw_parts(memory.start as *const u8, memory.len()) }.into();
        Borrowed { memory, copy }
    }

    /// The memory.
    pub fn memory(&self) -> Range<usize> {
        self.memory.clone()
    }

    /// The hash of the changes since the copy.
    pub(crate) fn hash_of_changes(&self) -> u64 {
        // SAFETY: the frames there wait for the exploration to return; no code under test runs now.
        unsafe { words::hash_of_changes(self.memory.clone(), self.copy.as_ptr().addr()) }
    }

    /// Adds the changes since the copy to an image.
    pub(crate) fn add_changes(&self, image: &mut Image) {
        // SAFETY: the frames there wait for the exploration to return; no code under test runs now.
        unsafe { image.add_changes(self.memory.clone(), self.copy.as_ptr().addr()) };
    }

    /// Writes the copy back.
    pub fn roll_back(&self) {
        // SAFETY: the frames there wait for the exploration to return; nothing but the code under test changed them.
        unsafe {
            std::ptr::copy_nonoverlapping(self.copy.as_ptr(), self.memory.start as *mut u8, self.copy.len());
        }
    }
}
