//! Memory as a sequence of words.

use std::ops::{Range, RangeInclusive};

/// A hash of memory, in whole words: the sum of the words' hashes, so that a change is a difference. The memory must be
/// readable.
pub(crate) fn hash_memory(memory: Range<usize>) -> u64 {
    words(memory).map(|(address, value)| hash_word(address, value)).fold(0, u64::wrapping_add)
}

/// The hash of memory less that of a copy, which is as long: the changes of whole words since the copy was made.
///
/// # Safety
/// Both must be readable, and nothing may write to them meanwhile.
pub(crate) unsafe fn hash_of_changes(memory: Range<usize>, copy: usize) -> u64 {
    // Most memory is unchanged, and comparing many bytes at once is fast.
    const BLOCK: usize = 512;
    if memory.is_empty() {
        return 0;
    }
    // SAFETY: the caller's.
    let bytes = |start: usize| unsafe { std::slice::from_raw_parts(start as *const u8, memory.len() & !7) };
    let blocks = bytes(memory.start).chunks(BLOCK).zip(bytes(copy).chunks(BLOCK)).enumerate();
    let mut hash = 0u64;
    for (block, (now, before)) in blocks.filter(|(_, (now, before))| now != before) {
        let (now, before) = (now.as_chunks::<8>().0, before.as_chunks::<8>().0);
        for (word, (now, before)) in now.iter().zip(before).enumerate() {
            if now != before {
                let address = memory.start + block * BLOCK + 8 * word;
                let hash_of = |value: &[u8; 8]| hash_word(address, u64::from_ne_bytes(*value));
                hash = hash.wrapping_add(hash_of(now)).wrapping_sub(hash_of(before));
            }
        }
    }
    hash
}

/// The hash of a word and its address.
#[inline]
pub(crate) fn hash_word(address: usize, value: u64) -> u64 {
    let mixed = mix(address as u64, value);
    mix(mixed >> 32, mixed)
}

/// Whether a word of memory is in a range. The memory must be readable.
pub(crate) fn holds(memory: Range<usize>, range: &RangeInclusive<usize>) -> bool {
    words(memory).any(|(_, value)| range.contains(&(value as usize)))
}

/// Whole words of memory, with their addresses.
fn words(memory: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    // SAFETY: the caller's; one OS thread runs all code that could change the memory.
    let value = |address: usize| unsafe { (address as *const u64).read_volatile() };
    (memory.start & !7..memory.end & !7).step_by(8).map(move |address| (address, value(address)))
}

pub(super) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_changes_differs_as_that_of_all_memory_does() {
        let mut memory = [7u64; 21];
        let copy = memory;
        let range = |memory: &[u64]| memory.as_ptr().addr()..memory.as_ptr().addr() + size_of_val(memory);
        // SAFETY: live arrays.
        let changes = |memory: &[u64]| unsafe { hash_of_changes(range(memory), copy.as_ptr().addr()) };
        assert_eq!(changes(&memory), 0);
        let before = hash_memory(range(&memory));
        for changed in [0, 9, 20] {
            memory[changed] = 8;
            assert_eq!(changes(&memory), hash_memory(range(&memory)).wrapping_sub(before));
        }
        memory.fill(7);
        assert_eq!(changes(&memory), 0);
        // SAFETY: nothing is read.
        assert_eq!(unsafe { hash_of_changes(0..0, copy.as_ptr().addr()) }, 0);
    }
}
