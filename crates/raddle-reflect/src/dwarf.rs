//! The types of `gimli` as they are used here, and small helpers around one entry.

use gimli::{AttributeValue, EndianSlice, LittleEndian};

use crate::image::Image;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
pub(crate) type Unit<'a> = gimli::Unit<Slice<'a>>;
pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;
pub(crate) type Offset = gimli::UnitOffset<usize>;
pub(crate) type Sections = gimli::DwarfSections<Vec<u8>>;

/// Reads the sections that answer questions, and no others.
pub(crate) fn read_sections(image: &Image) -> Sections {
    use gimli::SectionId::*;
    gimli::DwarfSections::load(|id| -> Result<_, std::convert::Infallible> {
        Ok(match id {
            DebugMacinfo | DebugMacro | DebugNames | DebugTypes | DebugLoc | DebugLocLists => Vec::new(),
            _ => image.section(id.name()),
        })
    })
    .unwrap_or_else(|never| match never {})
}

pub(crate) fn borrow(sections: &Sections) -> Dwarf<'_> {
    sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))
}

/// A textual attribute.
pub(crate) fn text<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entry: &Entry<'a>,
    at: gimli::DwAt,
) -> Option<&'a str> {
    let bytes = dwarf.attr_string(unit, entry.attr_value(at)?).ok()?;
    std::str::from_utf8(bytes.slice()).ok()
}

/// An attribute that refers to another entry of the same unit.
pub(crate) fn reference(unit: &Unit<'_>, entry: &Entry<'_>, at: gimli::DwAt) -> Option<Offset> {
    match entry.attr_value(at)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

pub(crate) fn number(entry: &Entry<'_>, at: gimli::DwAt) -> Option<u64> {
    match entry.attr_value(at)? {
        AttributeValue::FileIndex(n) => Some(n),
        value => value.udata_value(),
    }
}

/// Whether the entry's code covers an address.
pub(crate) fn covers<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, entry: &Entry<'a>, address: u64) -> bool {
    let Ok(mut ranges) = dwarf.die_ranges(unit, entry) else { return false };
    while let Ok(Some(range)) = ranges.next() {
        if range.begin <= address && address < range.end {
            return true;
        }
    }
    false
}
