//! The types of `gimli` in use, and helpers for one entry.
//!
//! The two largest sections are never read whole: `.debug_info` is read unit by unit, `.debug_str` string by string.

use std::ops::Deref;

use gimli::{AttributeValue, EndianSlice, LittleEndian};

use crate::image::Image;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Unit<'a> = gimli::Unit<Slice<'a>>;
pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;
pub(crate) type Offset = gimli::UnitOffset<usize>;
pub(crate) type Sections = gimli::DwarfSections<Vec<u8>>;

/// The debug information of a program: the small sections, and the positions of the large ones.
pub(crate) struct Dwarf<'a> {
    sections: gimli::Dwarf<Slice<'a>>,
    image: &'a Image,
}

impl<'a> Deref for Dwarf<'a> {
    type Target = gimli::Dwarf<Slice<'a>>;

    fn deref(&self) -> &gimli::Dwarf<Slice<'a>> {
        &self.sections
    }
}

impl<'a> Dwarf<'a> {
    pub(crate) fn new(sections: &'a Sections, image: &'a Image) -> Dwarf<'a> {
        Dwarf { sections: sections.borrow(|bytes| slice(bytes)), image }
    }

    /// The bytes of the unit at an offset of `.debug_info`.
    pub(crate) fn unit_bytes(&self, offset: usize) -> Vec<u8> {
        self.image.part(".debug_info", offset, self.unit_length(offset).unwrap_or(0))
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
        let Ok(mut ranges) = self.die_ranges(unit, entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin <= address && address < range.end {
                return true;
            }
        }
        false
    }

    /// The length of a unit with its own length field; none at the end.
    fn unit_length(&self, offset: usize) -> Option<usize> {
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
            DebugInfo | DebugStr => Vec::new(),
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
