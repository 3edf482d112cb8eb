//! Pages of the program's file and of its libraries, given back.
//!
//! Where code or a constant is first used, the kernel maps the pages around it as well: 64 KiB at a time. Most of what is mapped when an
//! exploration begins was needed by the loader, or by nobody. Pages that are needed again are mapped again, from the system's cache, for about
//! a microsecond each time.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use super::global::GLOBAL;
use super::sys::PAGE;

/// How often pages are given back: it has a use where a process begins to do something else, and that is not often.
const MOST: u32 = 8;

/// Of each page, the kernel tells in a word whether it is present or swapped out, and whether it is the file's own: a page that was written
/// to, by a debugger for a breakpoint, is a copy.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const WORD: usize = 8;

/// Segments of fewer pages are not worth a system call.
const LEAST: usize = 16;

/// Gives back what can be read again. Does nothing where the kernel does not tell what that is.
pub(crate) fn give_back() {
    if GLOBAL.given_back.fetch_add(1, Ordering::Relaxed) >= MOST {
        return;
    }
    let Ok(kinds) = File::open("/proc/self/pagemap") else { return };
    let mut words = [0; WORD * 1024];
    for Range { start, end } in constant_segments() {
        let mut at = start;
        while at < end {
            let some = (end - at).div_ceil(PAGE).min(words.len() / WORD);
            let words = &mut words[..some * WORD];
            if kinds.read_exact_at(words, (at / PAGE * WORD) as u64).is_err() {
                return;
            }
            let is_copy = |word: &[u8]| {
                let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
                word & (PRESENT | SWAPPED) != 0 && word & (PRESENT | OF_FILE) != PRESENT | OF_FILE
            };
            give_back_between(at, words.chunks_exact(WORD).map(is_copy));
            at += some * PAGE;
        }
    }
}

/// Gives back the pages from an address on that are no copies.
fn give_back_between(start: usize, copies: impl Iterator<Item = bool>) {
    let mut run = start..start;
    for (page, is_copy) in (start..).step_by(PAGE).zip(copies.chain([true])) {
        if !is_copy {
            run.end = page + PAGE;
            continue;
        }
        if !run.is_empty() {
            // SAFETY: pages of a file, in which nothing was changed: they read the same when they are mapped again.
            unsafe { libc::madvise(run.start as *mut c_void, run.len(), libc::MADV_DONTNEED) };
        }
        run = page + PAGE..page + PAGE;
    }
}

/// The pages of segments of the program and its libraries that nobody writes to.
fn constant_segments() -> Vec<Range<usize>> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, segments: *mut c_void) -> c_int {
        // SAFETY: the loader passes valid headers, the caller a valid vector.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let is_constant = |header: &&libc::Elf64_Phdr| {
                header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0
            };
            (*segments.cast::<Vec<Range<usize>>>()).extend(headers.iter().filter(is_constant).map(
                |header| {
                    let start = ((*info).dlpi_addr + header.p_vaddr) as usize;
                    start / PAGE * PAGE..(start + header.p_filesz as usize).next_multiple_of(PAGE)
                },
            ));
        }
        0
    }
    let mut segments: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback gets the vector it expects.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut segments).cast()) };
    segments.retain(|segment| segment.len() >= LEAST * PAGE);
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_constants_are_the_same_afterwards() {
        let segments = constant_segments();
        let here = code_and_constants_are_the_same_afterwards as fn() as usize;
        assert!(segments.iter().any(|segment| segment.contains(&here)));
        // SAFETY: a segment that can be read.
        let bytes =
            || segments.iter().map(|part| unsafe { std::slice::from_raw_parts(part.start as *const u8, 64) });
        let before: Vec<Vec<u8>> = bytes().map(<[u8]>::to_vec).collect();
        give_back();
        assert!(bytes().eq(before.iter().map(|bytes| &bytes[..])));
    }

    #[test]
    fn copies_are_kept() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of three pages.
        let bytes = unsafe {
            let pages =
                libc::mmap(std::ptr::null_mut(), 3 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            std::slice::from_raw_parts_mut(pages.cast::<u8>(), 3 * PAGE)
        };
        bytes.fill(1);
        give_back_between(bytes.as_ptr().addr(), [true, false, true].into_iter());
        // What is given back of memory without a file is zero.
        assert_eq!([bytes[PAGE - 1], bytes[PAGE], bytes[2 * PAGE - 1], bytes[2 * PAGE]], [1, 0, 0, 1]);
    }
}
