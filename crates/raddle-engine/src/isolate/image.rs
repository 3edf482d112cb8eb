//! Memory images: copies of pieces of memory, to be written back later.

use std::ops::Range;
use std::ptr;

/// Pieces of memory and their contents.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pieces: Vec<Range<usize>>,
    /// The contents, one after the other.
    bytes: Vec<u8>,
}

/// Granularity of changes, in bytes.
const LINE: usize = 64;

impl Image {
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.bytes.clear();
    }

    /// Keeps as much memory as is needed.
    pub(crate) fn compact(&mut self) {
        self.pieces = self.pieces.clone();
        self.bytes = self.bytes.clone();
    }

    /// The size of the contents.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a piece of memory.
    ///
    /// # Safety
    /// All of it must be mapped, and nothing may write to it meanwhile.
    pub(crate) unsafe fn add(&mut self, memory: Range<usize>) {
        if !memory.is_empty() {
            // SAFETY: the caller's.
            let bytes = unsafe { std::slice::from_raw_parts(memory.start as *const u8, memory.len()) };
            self.bytes.extend_from_slice(bytes);
            self.pieces.push(memory);
        }
    }

    /// Adds the differences from a copy, which is as long as the memory.
    ///
    /// # Safety
    /// As for [`Image::add`]; that holds for the copy, too.
    pub(crate) unsafe fn add_changes(&mut self, memory: Range<usize>, copy: usize) {
        let (lines, rest) = (memory.len() / LINE, memory.len() % LINE);
        let mut changed = |at: usize, len: usize, differs: bool| {
            if differs {
                // SAFETY: the caller's.
                unsafe { self.add(memory.start + at..memory.start + at + len) };
            }
        };
        // SAFETY: the caller's.
        unsafe {
            let (new, old) = (memory.start as *const [u64; LINE / 8], copy as *const [u64; LINE / 8]);
            for line in 0..lines {
                let (new, old) = (new.add(line).read_unaligned(), old.add(line).read_unaligned());
                let differs = new.iter().zip(&old).fold(0, |all, (new, old)| all | (new ^ old)) != 0;
                changed(line * LINE, LINE, differs);
            }
            if rest == 0 {
                return;
            }
            let bytes = |start: usize| std::slice::from_raw_parts((start + lines * LINE) as *const u8, rest);
            changed(lines * LINE, rest, bytes(memory.start) != bytes(copy));
        }
    }

    /// Writes everything back.
    ///
    /// # Safety
    /// The memory must still be mapped, and nothing else may use it meanwhile.
    pub(crate) unsafe fn write_back(&self) {
        let mut from = self.bytes.as_ptr();
        for piece in &self.pieces {
            // SAFETY: the caller's; the bytes are as many as the pieces have together.
            unsafe {
                ptr::copy_nonoverlapping(from, piece.start as *mut u8, piece.len());
                from = from.add(piece.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(memory: &[u8]) -> Range<usize> {
        let start = memory.as_ptr().addr();
        start..start + memory.len()
    }

    #[test]
    fn what_was_copied_comes_back_and_nothing_else() {
        let mut memory = [1u8; 100];
        let mut image = Image::default();
        // SAFETY: a live vector that nothing else uses.
        unsafe {
            image.add(range(&memory[10..20]));
            image.add(range(&memory[90..90]));
            image.add(range(&memory[50..51]));
            memory.fill(2);
            image.write_back();
        }
        let ones = |index: &usize| memory[*index] == 1;
        assert_eq!((0..100).filter(ones).collect::<Vec<_>>(), (10..20).chain(50..51).collect::<Vec<_>>());
        assert_eq!((image.pieces.len(), image.bytes.len()), (2, 11));
    }

    #[test]
    fn only_changed_lines_are_copied() {
        let before = vec![0u8; 1000];
        let mut memory = before.clone();
        memory[999] = 1;
        memory[0] = 2;
        let mut image = Image::default();
        // SAFETY: as above.
        unsafe { image.add_changes(range(&memory), before.as_ptr().addr()) };
        assert_eq!((image.pieces.len(), image.bytes.len()), (2, LINE + 1000 % LINE));
        memory.copy_from_slice(&before);
        // SAFETY: as above.
        unsafe { image.write_back() };
        let changed = memory.iter().enumerate().filter(|(_, byte)| **byte != 0);
        assert_eq!(changed.collect::<Vec<_>>(), [(0, &2), (999, &1)]);
    }
}
