//! Steps through the entries of a unit, most of which nobody reads: only their codes are looked at. A unit has hundreds of thousands of
//! entries, of a few hundred layouts.

use gimli::{Abbreviation, DwForm, DwTag, UnitOffset};

use crate::dwarf::{Offset, Unit};

/// The entries of a piece of a unit that were not stepped over yet. An entry that is not all there, or is damaged, ends them.
pub(crate) struct Entries<'u, 'd> {
    unit: &'u Unit<'d>,
    /// The bytes of the piece.
    bytes: &'u [u8],
    progress: Progress,
    /// Where the next entry begins.
    pub(crate) at: usize,
}

/// What is known of a unit after a piece of it.
#[derive(Default)]
pub(crate) struct Progress {
    /// The layouts of entries by code, those that are known.
    layouts: Vec<Layout>,
    depth: isize,
}

/// An entry that was stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) offset: Offset,
    /// The number of entries around it: 0 for that of the unit itself.
    pub(crate) depth: isize,
    pub(crate) tag: DwTag,
}

/// The layout of the entries of one code.
#[derive(Clone, Debug)]
struct Layout {
    /// [`NO_TAG`] if it is not known.
    tag: DwTag,
    has_children: bool,
    rest: Rest,
}

/// More codes than any unit has.
const MOST_CODES: usize = 1 << 20;

/// The tag of no entry.
const NO_TAG: DwTag = DwTag(0);

/// What follows the code.
#[derive(Clone, Debug)]
enum Rest {
    Bytes(usize),
    Parts(Vec<Part>),
    /// The reader of all forms knows.
    Other,
}

/// A part of an entry.
#[derive(Clone, Copy, Debug)]
enum Part {
    Bytes(usize),
    /// A number in LEB128.
    Number,
    /// The number of bytes in LEB128, and the bytes.
    Block,
}

impl<'u, 'd> Entries<'u, 'd> {
    /// The entries of a piece that looks like a unit with these bytes.
    pub(crate) fn new(unit: &'u Unit<'d>, bytes: &'u [u8], progress: Progress) -> Entries<'u, 'd> {
        Entries { unit, bytes, progress, at: unit.header.root_offset().0 }
    }

    pub(crate) fn into_progress(self) -> Progress {
        self.progress
    }

    /// Finds out the layout of a code.
    #[cold]
    fn learn(&mut self, code: usize) -> Option<()> {
        // A damaged code may be any number; those that there are follow one another.
        if code > MOST_CODES {
            return None;
        }
        let layouts = &mut self.progress.layouts;
        if layouts.len() <= code {
            layouts.resize(code + 1, Layout::UNKNOWN);
        }
        layouts[code] = Layout::of(self.unit.abbreviations.get(code as u64)?, self.unit);
        Some(())
    }

    /// The end of the entry at an offset, of any layout.
    fn end_of(&self, begin: usize) -> Option<usize> {
        let mut entries = self.unit.entries_raw(Some(UnitOffset(begin))).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        entries.skip_attributes(abbreviation.attributes()).ok()?;
        Some(entries.next_offset().0)
    }
}

impl Iterator for Entries<'_, '_> {
    type Item = Step;

    // Written for a compiler that does not optimise much.
    fn next(&mut self) -> Option<Step> {
        let bytes = self.bytes;
        loop {
            let begin = self.at;
            let mut at = begin;
            let code = unsigned(bytes, &mut at)? as usize;
            if code == 0 {
                self.at = at;
                self.progress.depth -= 1;
                continue;
            }
            if code >= self.progress.layouts.len() || self.progress.layouts[code].tag == NO_TAG {
                self.learn(code)?;
            }
            let layout = &self.progress.layouts[code];
            let step = Step { offset: UnitOffset(begin), depth: self.progress.depth, tag: layout.tag };
            match &layout.rest {
                Rest::Bytes(count) => at += count,
                Rest::Parts(parts) => {
                    for part in parts {
                        match part {
                            Part::Bytes(count) => at += count,
                            Part::Number => _ = unsigned(bytes, &mut at)?,
                            Part::Block => {
                                let count = unsigned(bytes, &mut at)? as usize;
                                at = at.checked_add(count)?;
                            }
                        }
                    }
                }
                Rest::Other => at = self.end_of(begin)?,
            }
            if at > bytes.len() {
                return None;
            }
            if layout.has_children {
                self.progress.depth += 1;
            }
            self.at = at;
            return Some(step);
        }
    }
}

impl Layout {
    const UNKNOWN: Layout = Layout { tag: NO_TAG, has_children: false, rest: Rest::Other };

    fn of(abbreviation: &Abbreviation, unit: &Unit<'_>) -> Layout {
        let (tag, has_children) = (abbreviation.tag(), abbreviation.has_children());
        let mut parts = vec![Part::Bytes(0)];
        for attribute in abbreviation.attributes() {
            let part = match attribute.size(&unit.header) {
                Some(size) => Some(Part::Bytes(size)),
                None => Part::of(attribute.form()),
            };
            match (parts.last_mut(), part) {
                (_, None) => return Layout { tag, has_children, rest: Rest::Other },
                (Some(Part::Bytes(before)), Some(Part::Bytes(more))) => *before += more,
                (_, Some(part)) => parts.push(part),
            }
        }
        let rest = match parts[..] {
            [Part::Bytes(count)] => Rest::Bytes(count),
            _ => Rest::Parts(parts),
        };
        Layout { tag, has_children, rest }
    }
}

impl Part {
    /// An attribute of no fixed size.
    fn of(form: DwForm) -> Option<Part> {
        match form {
            gimli::DW_FORM_udata | gimli::DW_FORM_sdata | gimli::DW_FORM_ref_udata => Some(Part::Number),
            gimli::DW_FORM_strx | gimli::DW_FORM_addrx => Some(Part::Number),
            gimli::DW_FORM_loclistx | gimli::DW_FORM_rnglistx => Some(Part::Number),
            gimli::DW_FORM_exprloc | gimli::DW_FORM_block => Some(Part::Block),
            _ => None,
        }
    }
}

/// Reads an unsigned number in LEB128, and goes behind it. Higher bits than there are do not count.
#[inline]
pub(crate) fn unsigned(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift < u64::BITS {
            number |= u64::from(byte & 0x7f) << shift;
        }
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use crate::dwarf::{Dwarf, testing};

    /// The entries of a unit, read one by one.
    fn by_definition(unit: &Unit<'_>) -> Vec<Step> {
        let mut entries = unit.entries_raw(None).unwrap();
        let mut steps = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            if let Some(abbreviation) = entries.read_abbreviation().unwrap() {
                steps.push(Step { offset, depth, tag: abbreviation.tag() });
                entries.skip_attributes(abbreviation.attributes()).unwrap();
            }
        }
        steps
    }

    #[test]
    fn all_entries_of_this_program_are_found() {
        let program = Program::current().unwrap();
        let dwarf = program.dwarf();
        let mut found = 0;
        testing::each_unit(&program, |offset, unit| {
            let table = program.table(&dwarf, offset).unwrap();
            let mut steps = Vec::new();
            let visit = |_: &Dwarf<'_>, step: Step, at: &Unit<'_>, here| {
                assert_eq!(at.entry(here).unwrap().tag(), step.tag);
                steps.push(step);
                Ok(())
            };
            table.for_each_entry(&dwarf, visit).unwrap();
            assert!(steps == by_definition(unit), "unit {offset:#x}");
            found += steps.len();
        });
        assert!(found > 10_000, "{found} entries");
    }

    #[test]
    fn numbers_have_seven_bits_in_each_byte() {
        for (bytes, expected) in
            [(&[0x05][..], Some(5)), (&[0xe5, 0x8e, 0x26], Some(624_485)), (&[0x80], None)]
        {
            assert_eq!(unsigned(bytes, &mut 0), expected);
        }
    }
}
