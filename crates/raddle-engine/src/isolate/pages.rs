//! Roll-back of memory that existed before the exploration: statics, and heap blocks allocated earlier.
//!
//! All such pages are write-protected when the exploration begins. The first write to a page faults once: the handler
//! keeps a copy of the page and makes it writable for good. After every execution the copies are written back. A page that
//! is never written costs nothing, one that is costs a fault (about 10 µs) once and a copy (about 0.1 µs) per execution.
//!
//! Left alone: the stack of the exploring thread, heaps of other threads (the test harness's main thread has one), the C
//! library's own statics (which describe the process, not the code under test), blocks that the C library mapped one by one
//! (128 KiB and larger), and everything that is not private memory.
//! A system call that writes into a protected page fails with `EFAULT` instead of faulting; only reading input into a
//! buffer that existed before the exploration does that.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::ptr;

use super::heap;
use super::image::Image;
use crate::platform::elf::{self, Segment};
use crate::platform::sys::{self, PAGE};
use crate::platform::words;

/// The protected pages and the copies of those that were written.
#[derive(Debug, Default)]
pub struct Pages {
    regions: Vec<Region>,
    /// Index of the region and of the page in it. The capacity covers every page, so that the fault handler never
    /// allocates.
    dirty: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Region {
    memory: Range<usize>,
    /// As many bytes as `memory`, reserved but only touched where a page was saved.
    copies: usize,
    /// One flag per page: written since the exploration began.
    written: Vec<bool>,
}

impl Pages {
    /// Protects all memory that can be rolled back. `heap_block` is the address of any block that the exploring thread
    /// allocated: it identifies this thread's heap of the C library.
    pub fn protect(heap_block: usize) -> Pages {
        let mut pages = Pages::default();
        for memory in rollback_ranges(heap_block) {
            let len = memory.len();
            // SAFETY: a fresh anonymous mapping.
            let copies = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    len,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            assert!(
                copies != libc::MAP_FAILED,
                "raddle: no address space for copies of {len} bytes of statics"
            );
            pages.regions.push(Region { memory, copies: copies.addr(), written: vec![false; len / PAGE] });
        }
        pages.dirty.reserve_exact(pages.regions.iter().map(|r| r.written.len()).sum());
        for region in &pages.regions {
            // SAFETY: the fault handler that makes pages writable again is installed before this.
            unsafe { sys::protect(region.memory.start, region.memory.len(), libc::PROT_READ) };
        }
        pages
    }

    /// Saves the page at `address` and makes it writable. Called by the fault handler. False if the page is not
    /// protected here.
    pub fn save(&mut self, address: usize) -> bool {
        let Some((index, region)) =
            self.regions.iter_mut().enumerate().find(|(_, region)| region.memory.contains(&address))
        else {
            return false;
        };
        let page = (address - region.memory.start) / PAGE;
        if region.written[page] {
            return false;
        }
        region.written[page] = true;
        let start = region.memory.start + page * PAGE;
        // SAFETY: both pages are mapped; the copy is written here only.
        unsafe {
            ptr::copy_nonoverlapping(start as *const u8, (region.copies + page * PAGE) as *mut u8, PAGE);
            sys::protect(start, PAGE, libc::PROT_READ | libc::PROT_WRITE);
        }
        self.dirty.push((index as u32, page as u32));
        true
    }

    /// The pages whose contents differ from those at the beginning of the exploration.
    pub(crate) fn changed(&self) -> impl Iterator<Item = Range<usize>> {
        self.dirty()
            .filter(|(page, copy)| {
                // SAFETY: both pages are mapped; nothing writes to them meanwhile.
                let bytes = |start: usize| unsafe { std::slice::from_raw_parts(start as *const u8, PAGE) };
                bytes(page.start) != bytes(*copy)
            })
            .map(|(page, _)| page)
    }

    /// The pages that were written since the exploration began, and the addresses of their copies.
    fn dirty(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        self.dirty.iter().map(|&(region, page)| {
            let (region, offset) = (&self.regions[region as usize], page as usize * PAGE);
            let start = region.memory.start + offset;
            (start..start + PAGE, region.copies + offset)
        })
    }

    /// Adds the changes since the beginning of the exploration to an image.
    pub(crate) fn add_changes(&self, image: &mut Image) {
        // SAFETY: both pages are mapped; no code under test runs now.
        self.dirty().for_each(|(page, copy)| unsafe { image.add_changes(page, copy) });
    }

    /// The hash of the changes since the beginning of the exploration.
    pub(crate) fn hash_of_changes(&self) -> u64 {
        // SAFETY: both pages are mapped; no code under test runs now.
        let changes = self.dirty().map(|(page, copy)| unsafe { words::hash_of_changes(page, copy) });
        changes.fold(0, u64::wrapping_add)
    }

    /// Writes back every page that was written since the exploration began.
    pub fn roll_back(&self) {
        for (page, copy) in self.dirty() {
            // SAFETY: the page was made writable when it was saved; no code under test runs now.
            unsafe { ptr::copy_nonoverlapping(copy as *const u8, page.start as *mut u8, PAGE) };
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        for region in &self.regions {
            // SAFETY: restores the protection that the region had; the copies are not used any more.
            unsafe {
                sys::protect(region.memory.start, region.memory.len(), libc::PROT_READ | libc::PROT_WRITE);
                libc::munmap(region.copies as *mut _, region.memory.len());
            }
        }
    }
}

/// The writable private memory of the program: its own statics, and the heap of the exploring thread.
fn rollback_ranges(heap_block: usize) -> Vec<Range<usize>> {
    let statics = statics();
    let mut ranges = statics.clone();
    // The first thread's heap may be one mapping with the statics before it.
    ranges.extend(statics.iter().fold(Vec::from_iter(mapping_of(heap_block)), |parts, known| {
        parts.into_iter().flat_map(|part| without(part, known)).collect()
    }));
    ranges.into_iter().flat_map(heap::without_own_statics).collect()
}

/// The pages of the program's statics, except those that become read-only after relocation.
pub(crate) fn statics() -> Vec<Range<usize>> {
    let segments = elf::segments();
    let pages = |segment: &Segment| {
        let Range { start, end } = segment.memory();
        start / PAGE * PAGE..end.next_multiple_of(PAGE)
    };
    let is_writable =
        |segment: &&Segment| segment.is(libc::PT_LOAD) && segment.header.p_flags & libc::PF_W != 0;
    let constant: Vec<_> =
        segments.iter().filter(|segment| segment.is(libc::PT_GNU_RELRO)).map(pages).collect();
    let without_constants = |range| {
        constant
            .iter()
            .fold(vec![range], |parts, hole| parts.into_iter().flat_map(|part| without(part, hole)).collect())
    };
    segments.iter().filter(is_writable).map(pages).flat_map(without_constants).collect()
}

/// The writable mapping that an address lies in.
fn mapping_of(address: usize) -> Option<Range<usize>> {
    // The kernel makes the lines that are read: those behind the mapping would be of no use.
    let maps = BufReader::with_capacity(1024, File::open("/proc/self/maps").ok()?);
    maps.lines().map_while(Result::ok).find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        (rest.starts_with("rw-p") && range.contains(&address)).then_some(range)
    })
}

pub(super) fn without(range: Range<usize>, hole: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let before = range.start..range.end.min(hole.start);
    let after = range.start.max(hole.end)..range.end;
    [before, after].into_iter().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_splits_a_range() {
        let parts = |range, hole| without(range, &hole).collect::<Vec<_>>();
        assert_eq!(parts(0..10, 3..5), vec![0..3, 5..10]);
        assert_eq!(parts(0..10, 0..5), vec![5..10]);
        assert_eq!(parts(0..10, 5..10), vec![0..5]);
        assert_eq!(parts(0..10, 20..30), vec![0..10]);
        assert_eq!(parts(5..10, 0..20), vec![]);
    }
}
