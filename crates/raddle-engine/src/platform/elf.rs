//! The segments of the program, by the loader.

use std::ffi::{c_int, c_void};
use std::ops::Range;

/// A segment of the program: its header, and the memory that it occupies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) header: libc::Elf64_Phdr,
    start: usize,
}

impl Segment {
    pub(crate) fn memory(&self) -> Range<usize> {
        self.start..self.start + self.header.p_memsz as usize
    }

    pub(crate) fn is(&self, kind: u32) -> bool {
        self.header.p_type == kind
    }
}

/// All segments of the program, without those of its shared libraries.
pub(crate) fn segments() -> Vec<Segment> {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, segments: *mut c_void) -> c_int {
        // SAFETY: the loader passes valid headers, the caller a valid vector; the first object is the program itself.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let start = |header: &libc::Elf64_Phdr| ((*info).dlpi_addr + header.p_vaddr) as usize;
            let segment = |header: &libc::Elf64_Phdr| Segment { header: *header, start: start(header) };
            (*segments.cast::<Vec<Segment>>()).extend(headers.iter().map(segment));
        }
        1
    }
    let mut segments: Vec<Segment> = Vec::new();
    // SAFETY: the callback gets the vector it expects.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut segments).cast()) };
    segments
}

/// The addresses of the program's code.
pub(crate) fn code_of_program() -> Range<usize> {
    let segments = segments();
    let is_code = |segment: &&Segment| segment.is(libc::PT_LOAD) && segment.header.p_flags & libc::PF_X != 0;
    let code = segments.iter().filter(is_code).map(Segment::memory);
    let start = code.clone().map(|memory| memory.start).min().unwrap_or(0);
    start..code.map(|memory| memory.end).max().unwrap_or(start)
}
