//! The types of `gimli` in use, and helpers for one entry.
//!
//! Large sections are never read whole, because what was read once remains in the memory of a test: of `.debug_info`, entries are read, of
//! `.debug_line` the rows of a function, of `.debug_ranges` a piece at a time, of `.debug_str` strings.

use std::cell::RefCell;
use std::ops::Deref;

use gimli::{AttributeValue, EndianSlice, LittleEndian};

use crate::image::{Image, u64_at};

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Unit<'a> = gimli::Unit<Slice<'a>>;
pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;
pub(crate) type Offset = gimli::UnitOffset<usize>;
pub(crate) type Sections = gimli::DwarfSections<Vec<u8>>;

/// The debug information of a program: the small sections, and the positions of the large ones.
pub(crate) struct Dwarf<'a> {
    sections: gimli::Dwarf<Slice<'a>>,
    pub(crate) image: &'a Image,
    /// The piece of `.debug_ranges` that was read last, and where it begins.
    ranges: RefCell<(usize, Vec<u8>)>,
}

const RANGES: &str = ".debug_ranges";

/// The size of pieces of `.debug_ranges`, and of two addresses in it.
const RANGES_PIECE: usize = 4096;
const RANGE: usize = 16;

impl<'a> Deref for Dwarf<'a> {
    type Target = gimli::Dwarf<Slice<'a>>;

    fn deref(&self) -> &gimli::Dwarf<Slice<'a>> {
        &self.sections
    }
}

impl<'a> Dwarf<'a> {
    pub(crate) fn new(sections: &'a Sections, image: &'a Image) -> Dwarf<'a> {
        Dwarf { sections: sections.borrow(|bytes| slice(bytes)), image, ranges: RefCell::default() }
    }

    /// The beginnings of units in `.debug_info`, in order.
    pub(crate) fn unit_offsets(&self) -> Vec<usize> {
        let mut offsets = Vec::new();
        let mut at = 0;
        while let Some(length) = self.unit_length(at) {
            offsets.push(at);
            at = at.saturating_add(length);
        }
        offsets
    }

    /// A textual attribute.
    pub(crate) fn text(&self, unit: &Unit<'a>, entry: &Entry<'a>, at: gimli::DwAt) -> Option<String> {
        self.string(unit, entry.attr_value(at)?)
    }

    pub(crate) fn string(&self, unit: &Unit<'a>, value: AttributeValue<Slice<'a>>) -> Option<String> {
        let offset = match value {
            AttributeValue::DebugStrRef(offset) => offset,
            AttributeValue::DebugStrOffsetsIndex(index) => self.string_offset(unit, index).ok()?,
            value => return Some(self.attr_string(unit, value).ok()?.to_string_lossy().into_owned()),
        };
        self.image.text(".debug_str", offset.0)
    }

    /// Whether an entry's code covers an address.
    pub(crate) fn covers(&self, unit: &Unit<'a>, entry: &Entry<'a>, address: u64) -> bool {
        let mut covers = false;
        // Ranges before damage count.
        let _ = self.code_of(unit, entry, |range| covers |= range.begin <= address && address < range.end);
        covers
    }

    /// Visits the ranges of an entry's code.
    pub(crate) fn code_of(
        &self,
        unit: &Unit<'a>,
        entry: &Entry<'a>,
        mut visit: impl FnMut(gimli::Range),
    ) -> gimli::Result<()> {
        if unit.header.version() < 5
            && let Some(AttributeValue::RangeListsRef(list)) = entry.attr_value(gimli::DW_AT_ranges)
        {
            self.ranges_at(list.0, unit.low_pc, visit);
            return Ok(());
        }
        let mut ranges = self.die_ranges(unit, entry)?;
        while let Some(range) = ranges.next()? {
            visit(range);
        }
        Ok(())
    }

    /// Visits a list in `.debug_ranges`: pairs of addresses, relative to a base that a pair may change, up to a pair of zeros.
    fn ranges_at(&self, mut at: usize, mut base: u64, mut visit: impl FnMut(gimli::Range)) {
        let (from, piece) = &mut *self.ranges.borrow_mut();
        loop {
            let is_here = |at: usize| at >= *from && at.saturating_add(RANGE) <= *from + piece.len();
            if !is_here(at) {
                (*from, *piece) = (at, self.image.part(RANGES, at, RANGES_PIECE));
                if piece.len() < RANGE {
                    return;
                }
            }
            match (u64_at(piece, at - *from), u64_at(piece, at - *from + 8)) {
                (0, 0) => return,
                (u64::MAX, new) => base = new,
                (begin, end) => {
                    visit(gimli::Range { begin: base.wrapping_add(begin), end: base.wrapping_add(end) })
                }
            }
            at += RANGE;
        }
    }

    /// The length of a unit with its own length field; none at the end.
    pub(crate) fn unit_length(&self, offset: usize) -> Option<usize> {
        let field = self.image.part(".debug_info", offset, 12);
        let short = u32::from_le_bytes(field.get(..4)?.try_into().ok()?);
        let length = match short {
            // The 64-bit format, which is not in use.
            0xffff_ffff => {
                usize::try_from(u64::from_le_bytes(field.get(4..)?.try_into().ok()?)).ok()?.checked_add(12)?
            }
            0xffff_fff0.. => return None,
            _ => short as usize + 4,
        };
        (length > 4).then_some(length)
    }
}

/// Reads the small sections.
pub(crate) fn read_sections(image: &Image) -> Sections {
    use gimli::SectionId::*;
    gimli::DwarfSections::load(|id| -> Result<_, std::convert::Infallible> {
        Ok(match id {
            DebugInfo | DebugLine | DebugRanges | DebugStr => Vec::new(),
            DebugMacinfo | DebugMacro | DebugNames | DebugTypes | DebugLoc | DebugLocLists => Vec::new(),
            _ => image.section(id.name()),
        })
    })
    .unwrap_or_else(|never| match never {})
}

pub(crate) fn slice(bytes: &[u8]) -> Slice<'_> {
    EndianSlice::new(bytes, LittleEndian)
}

/// An attribute that refers to another entry of the same unit.
pub(crate) fn reference(entry: &Entry<'_>, at: gimli::DwAt) -> Option<Offset> {
    match entry.attr_value(at)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

pub(crate) fn number(entry: &Entry<'_>, at: gimli::DwAt) -> Option<u64> {
    match entry.attr_value(at)? {
        AttributeValue::FileIndex(n) => Some(n),
        value => value.udata_value(),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::Program;

    /// Visits the units of a program as `gimli` reads them, with their offsets.
    pub(crate) fn each_unit(program: &Program, mut visit: impl FnMut(usize, &Unit<'_>)) {
        let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(program.image().section(id.name()));
        let sections = gimli::DwarfSections::load(load).unwrap();
        let dwarf = sections.borrow(|bytes| slice(bytes));
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().unwrap() {
            let offset = header.debug_info_offset().unwrap().0;
            visit(offset, &dwarf.unit(header).unwrap());
        }
    }
}
