//! Memory as a sequence of words.

use std::ops::{Range, RangeInclusive};

/// A hash of memory, in whole words: the sum of the words' hashes, so that a change is a difference. The memory must be
/// readable.
pub(crate) fn hash_memory(memory: Range<usize>) -> u64 {
    words(memory).map(|(address, value)| hash_word(address, value)).fold(0, u64::wrapping_add)
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
