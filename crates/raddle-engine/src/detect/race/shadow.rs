//! Shadow memory: the cells of all addresses, in a table of pages as processors have them.
//!
//! ```text
//!   address bits   46 ─── 30   29 ─── 12   11 ─── 3   2 ─ 0
//!                  region      page        cell       byte
//! ```
//!
//! A region is a table of pointers to pages, 2 MiB of address space that takes memory only where it is used. Nothing is
//! freed before the whole shadow is. The shadow lies far from other mappings: the kernel merges neighbours of a heap of
//! the C library into one mapping with it, which would be rolled back.

use std::ptr;

use super::cell::ShadowCell;
use crate::platform::sys::PAGE;

const REGIONS: usize = 1 << 17;
const REGION_BITS: usize = 30;
const PAGES: usize = 1 << (REGION_BITS - 12);
const CELLS: usize = PAGE / 8;

type Page = [ShadowCell; CELLS];
type Region = [*mut Page; PAGES];

/// The preferred address of tables and pages.
const SHADOW: usize = 0x2400_0000_0000;

/// Number of pages that are mapped at a time.
const AT_ONCE: usize = 16;

/// The shadow cells of all addresses.
#[derive(Debug)]
pub(super) struct Shadow {
    regions: *mut [*mut Region; REGIONS],
    /// Mapped pages that are not used yet.
    next: *mut Page,
    left: usize,
    /// The preferred address of the next mapping.
    end: usize,
    /// All mappings.
    mappings: Vec<(*mut libc::c_void, usize)>,
}

impl Default for Shadow {
    fn default() -> Shadow {
        let mut shadow = Shadow {
            regions: ptr::null_mut(),
            next: ptr::null_mut(),
            left: 0,
            end: SHADOW,
            mappings: Vec::new(),
        };
        shadow.regions = shadow.map(size_of::<[*mut Region; REGIONS]>()).cast();
        shadow
    }
}

impl Shadow {
    /// The cell of an address.
    #[inline(always)]
    pub(super) fn cell(&mut self, address: usize) -> *mut ShadowCell {
        // SAFETY: the tables are as large as the indices can be; what they point to stays mapped.
        unsafe {
            let region = (*self.regions)[region_of(address)];
            if !region.is_null() {
                let page = (*region)[page_of(address)];
                if !page.is_null() {
                    return page.cast::<ShadowCell>().add(cell_of(address));
                }
            }
            self.new_page(address)
        }
    }

    /// The cell of an address, if any address of its page has been accessed.
    pub(super) fn find(&self, address: usize) -> Option<&ShadowCell> {
        // SAFETY: as above.
        unsafe {
            let region = (*self.regions)[region_of(address)].as_ref()?;
            Some(&region[page_of(address)].as_ref()?[cell_of(address)])
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn new_page(&mut self, address: usize) -> *mut ShadowCell {
        // SAFETY: as above. Mapped memory is zero: null pointers, and cells without accesses.
        unsafe {
            let region = region_of(address);
            if (*self.regions)[region].is_null() {
                (*self.regions)[region] = self.map(size_of::<Region>()).cast();
            }
            if self.left == 0 {
                self.next = self.map(size_of::<Page>() * AT_ONCE).cast();
                self.left = AT_ONCE;
            }
            let page = self.next;
            self.next = self.next.add(1);
            self.left -= 1;
            (*(*self.regions)[region])[page_of(address)] = page;
            page.cast::<ShadowCell>().add(cell_of(address))
        }
    }

    fn map(&mut self, len: usize) -> *mut libc::c_void {
        // SAFETY: a fresh mapping.
        let memory = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(self.end),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(memory != libc::MAP_FAILED, "raddle: no memory to look for data races");
        self.end += len.next_multiple_of(PAGE);
        self.mappings.push((memory, len));
        memory
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        for &(memory, len) in &self.mappings {
            // SAFETY: mapped above; no cell is used any more.
            unsafe { libc::munmap(memory, len) };
        }
    }
}

/// The first address after the page of an address.
pub(super) fn end_of_page(address: usize) -> usize {
    (address & !(PAGE - 1)) + PAGE
}

#[inline(always)]
fn region_of(address: usize) -> usize {
    // Addresses that are not canonical fault before they are accessed.
    (address >> REGION_BITS) & (REGIONS - 1)
}

#[inline(always)]
fn page_of(address: usize) -> usize {
    (address >> 12) & (PAGES - 1)
}

#[inline(always)]
fn cell_of(address: usize) -> usize {
    (address >> 3) & (CELLS - 1)
}
