//! Compilation units: which one holds a code address, and what is kept of a unit once it has been looked at.

use std::sync::{Arc, OnceLock};

use gimli::{Abbreviations, DebugInfoOffset};

use crate::dwarf::{Dwarf, Entry, Offset, Unit, text};
use crate::lines::Lines;

/// Which unit holds which code.
pub(crate) struct UnitIndex {
    /// By `begin`; as `.debug_aranges` tells.
    ranges: Vec<CodeRange>,
    /// The code of units that `.debug_aranges` is silent about.
    others: OnceLock<Vec<CodeRange>>,
}

#[derive(Clone, Copy)]
struct CodeRange {
    begin: u64,
    end: u64,
    unit: usize,
}

/// What is kept of a unit. Offsets only: nothing borrows from the sections.
pub(crate) struct UnitTable {
    pub(crate) offset: usize,
    abbreviations: Arc<Abbreviations>,
    /// The functions that have code, by `begin`.
    functions: Vec<FunctionRange>,
    /// Where the entries of the standard library's and of Raddle's namespaces begin and end, in order.
    internal: Vec<(Offset, Offset, Part)>,
    pub(crate) lines: OnceLock<Lines>,
}

struct FunctionRange {
    begin: u64,
    end: u64,
    entry: Offset,
}

/// Code that is not the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Std,
    Raddle,
}

impl Part {
    pub(crate) fn of_crate(name: &str) -> Option<Part> {
        match name {
            "core" | "alloc" | "std" => Some(Part::Std),
            "raddle" | "raddle_engine" | "raddle_intercept" | "raddle_reflect" | "raddle_report"
            | "raddle_check" | "corosensei" => Some(Part::Raddle),
            _ => None,
        }
    }
}

impl UnitIndex {
    pub(crate) fn read(dwarf: &Dwarf<'_>) -> UnitIndex {
        let mut ranges = Vec::new();
        let mut headers = dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let unit = header.debug_info_offset().0;
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                push(&mut ranges, entry.range(), unit);
            }
        }
        ranges.sort_unstable_by_key(|r| r.begin);
        UnitIndex { ranges, others: OnceLock::new() }
    }

    /// The unit that holds the code at `address`, as an offset into `.debug_info`.
    pub(crate) fn find(&self, dwarf: &Dwarf<'_>, address: u64) -> Option<usize> {
        find(&self.ranges, address)
            .or_else(|| find(self.others.get_or_init(|| self.read_others(dwarf)), address))
    }

    fn read_others(&self, dwarf: &Dwarf<'_>) -> Vec<CodeRange> {
        let mut known: Vec<usize> = self.ranges.iter().map(|r| r.unit).collect();
        known.sort_unstable();
        known.dedup();
        let mut ranges = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else { continue };
            if known.binary_search(&offset).is_ok() {
                continue;
            }
            let Ok(unit) = dwarf.unit(header) else { continue };
            let Ok(mut found) = dwarf.unit_ranges(&unit) else { continue };
            while let Ok(Some(range)) = found.next() {
                push(&mut ranges, range, offset);
            }
        }
        ranges.sort_unstable_by_key(|r| r.begin);
        ranges
    }
}

impl UnitTable {
    pub(crate) fn read(dwarf: &Dwarf<'_>, offset: usize) -> gimli::Result<UnitTable> {
        let header = dwarf.unit_header(DebugInfoOffset(offset))?;
        let abbreviations = Arc::new(header.abbreviations(&dwarf.debug_abbrev)?);
        let mut table = UnitTable {
            offset,
            abbreviations,
            functions: Vec::new(),
            internal: Vec::new(),
            lines: OnceLock::new(),
        };
        let unit = table.unit(dwarf)?;
        table.scan(dwarf, &unit)?;
        table.functions.sort_unstable_by_key(|f| f.begin);
        Ok(table)
    }

    /// The unit itself: cheap to make again, so that nothing has to borrow from the sections.
    pub(crate) fn unit<'a>(&self, dwarf: &Dwarf<'a>) -> gimli::Result<Unit<'a>> {
        let header = dwarf.unit_header(DebugInfoOffset(self.offset))?;
        Unit::new_with_abbreviations(dwarf, header, self.abbreviations.clone())
    }

    pub(crate) fn function(&self, address: u64) -> Option<Offset> {
        let after = self.functions.partition_point(|f| f.begin <= address);
        let function = self.functions[..after].last()?;
        (address < function.end).then_some(function.entry)
    }

    /// Whether an entry (a type, say) lies in the standard library's namespaces.
    pub(crate) fn is_std(&self, entry: Offset) -> bool {
        self.part(entry) == Some(Part::Std)
    }

    /// Whose namespaces an entry lies in; none for the program's own.
    pub(crate) fn part(&self, entry: Offset) -> Option<Part> {
        let after = self.internal.partition_point(|(begin, _, _)| *begin <= entry);
        let (_, end, part) = self.internal[..after].last()?;
        (entry < *end).then_some(*part)
    }

    fn scan<'a>(&mut self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<()> {
        let mut entry = Entry::null();
        let mut entries = unit.entries_raw(None)?;
        // Where the namespace that is being read began, if it is to be kept.
        let mut namespace: Option<(Offset, Part)> = None;
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            if depth <= 1
                && let Some((begin, part)) = namespace.take()
            {
                self.internal.push((begin, offset, part));
            }
            // Look at the abbreviation first: most entries are only stepped over.
            let mut ahead = entries.clone();
            let Some(abbreviation) = ahead.read_abbreviation()? else {
                entries = ahead;
                continue;
            };
            match abbreviation.tag() {
                gimli::DW_TAG_subprogram => {
                    entries.read_entry(&mut entry)?;
                    let mut ranges = dwarf.die_ranges(unit, &entry)?;
                    while let Ok(Some(range)) = ranges.next() {
                        if range.begin != 0 && range.begin < range.end {
                            let (begin, end) = (range.begin, range.end);
                            self.functions.push(FunctionRange { begin, end, entry: offset });
                        }
                    }
                }
                gimli::DW_TAG_namespace if depth == 1 => {
                    entries.read_entry(&mut entry)?;
                    let name = text(dwarf, unit, &entry, gimli::DW_AT_name);
                    namespace = name.and_then(Part::of_crate).map(|part| (offset, part));
                }
                _ => {
                    ahead.skip_attributes(abbreviation.attributes())?;
                    entries = ahead;
                }
            }
        }
        if let Some((begin, part)) = namespace {
            self.internal.push((begin, entries.next_offset(), part));
        }
        Ok(())
    }
}

fn push(ranges: &mut Vec<CodeRange>, range: gimli::Range, unit: usize) {
    // Code that the linker dropped is left at address 0.
    if range.begin != 0 && range.begin < range.end {
        ranges.push(CodeRange { begin: range.begin, end: range.end, unit });
    }
}

fn find(ranges: &[CodeRange], address: u64) -> Option<usize> {
    let after = ranges.partition_point(|r| r.begin <= address);
    let range = ranges[..after].last()?;
    (address < range.end).then_some(range.unit)
}
