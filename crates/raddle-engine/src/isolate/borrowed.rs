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

    /// A hash of the memory: the sum of what each word that differs from the copy adds to [`words::hash_memory`], so that a change is a
    /// difference.
    pub(crate) fn hash_of_changes(&self) -> u64 {
        const LINE: usize = 64;
        let start = self.memory.start;
        let (whole, mut hash) = (self.memory.len() & !7, 0u64);
        for at in (0..whole).step_by(LINE) {
            let len = LINE.min(whole - at);
            // SAFETY: the frames there wait for the exploration to return; no code under test runs now.
            let now = unsafe { std::slice::from_raw_parts((start + at) as *const u8, len) };
            let before = &self.copy[at..at + len];
            if now != before {
                for (word, (now, before)) in now.chunks(8).zip(before.chunks(8)).enumerate() {
                    let value = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
                    let hash_of = |bytes| words::hash_word(start + at + 8 * word, value(bytes));
                    hash = hash.wrapping_add(hash_of(now)).wrapping_sub(hash_of(before));
                }
            }
        }
        hash
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_changes_differs_as_that_of_all_memory_does() {
        let mut memory = [7u64; 21];
        let start = memory.as_ptr().addr();
        let range = start..start + size_of_val(&memory);
        // SAFETY: a live array.
        let copy = unsafe { std::slice::from_raw_parts(start as *const u8, range.len()) }.into();
        let borrowed = Borrowed { memory: range.clone(), copy };
        assert_eq!(borrowed.hash_of_changes(), 0);
        let before = words::hash_memory(range.clone());
        for changed in [0, 9, 20] {
            memory[changed] = 8;
            std::hint::black_box(&mut memory);
            assert_eq!(borrowed.hash_of_changes(), words::hash_memory(range.clone()).wrapping_sub(before));
        }
        memory.fill(7);
        std::hint::black_box(&mut memory);
        assert_eq!(borrowed.hash_of_changes(), 0);
    }
}
