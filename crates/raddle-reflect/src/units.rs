//! Compilation units: the one that holds a code address, and the data kept of a parsed unit.

use std::sync::{Arc, OnceLock};

use gimli::{Abbreviations, DebugInfo};

use crate::dwarf::{Dwarf, Offset, Unit, slice};
use crate::entries::{Entries, Step};
use crate::lines::Lines;
use crate::statics::Statics;

/// The units by code and statics.
pub(crate) struct UnitIndex {
    /// By `begin`.
    ranges: Vec<CodeRange>,
}

#[derive(Clone, Copy)]
struct CodeRange {
    begin: u64,
    end: u64,
    unit: usize,
}

/// A parsed unit: its bytes, and offsets into them.
pub(crate) struct UnitTable {
    /// The position in `.debug_info`.
    pub(crate) offset: usize,
    bytes: Vec<u8>,
    abbreviations: Arc<Abbreviations>,
    bases: Bases,
    /// The functions that have code, by `begin`.
    functions: Vec<FunctionRange>,
    /// The ranges of entries of the outermost namespaces, which are crates, in order.
    crates: Vec<Namespace>,
    pub(crate) lines: OnceLock<Lines>,
    pub(crate) statics: OnceLock<Statics>,
}

/// The base of a unit's other attributes.
struct Bases {
    low_pc: u64,
    str_offsets: gimli::DebugStrOffsetsBase,
    addr: gimli::DebugAddrBase,
    loclists: gimli::DebugLocListsBase,
    rnglists: gimli::DebugRngListsBase,
}

impl Bases {
    fn read(dwarf: &Dwarf<'_>, bytes: &[u8], abbreviations: Arc<Abbreviations>) -> gimli::Result<Bases> {
        let unit = Unit::new_with_abbreviations(dwarf, header(bytes)?, abbreviations)?;
        Ok(Bases {
            low_pc: unit.low_pc,
            str_offsets: unit.str_offsets_base,
            addr: unit.addr_base,
            loclists: unit.loclists_base,
            rnglists: unit.rnglists_base,
        })
    }
}

/// The range of entries of an outermost namespace, and its name.
type Namespace = (Offset, Offset, String);

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
            "raddle" | "raddle_axioms" | "raddle_check" | "raddle_engine" | "raddle_intercept"
            | "raddle_reflect" | "raddle_report" => Some(Part::Raddle),
            _ => None,
        }
    }
}

impl UnitIndex {
    pub(crate) fn read(dwarf: &Dwarf<'_>) -> UnitIndex {
        let mut ranges = Vec::new();
        // rustc lists the code and the statics of all its units here. Units that other compilers leave out are not the
        // program's own.
        let mut headers = dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let unit = header.debug_info_offset().0;
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                push(&mut ranges, entry.range(), unit);
            }
        }
        if ranges.is_empty() {
            for offset in dwarf.unit_offsets() {
                let bytes = dwarf.unit_bytes(offset);
                // A unit that cannot be read holds no known code.
                let _ = code_of_unit(dwarf, &bytes, |range| push(&mut ranges, range, offset));
            }
        }
        ranges.sort_unstable_by_key(|r| r.begin);
        UnitIndex { ranges }
    }

    /// The unit that holds the code or static at `address`, as an offset into `.debug_info`.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|r| r.begin <= address);
        let range = self.ranges[..after].last()?;
        (address < range.end).then_some(range.unit)
    }
}

impl UnitTable {
    pub(crate) fn read(dwarf: &Dwarf<'_>, offset: usize) -> gimli::Result<UnitTable> {
        let bytes = dwarf.unit_bytes(offset);
        let abbreviations = Arc::new(header(&bytes)?.abbreviations(&dwarf.debug_abbrev)?);
        let bases = Bases::read(dwarf, &bytes, abbreviations.clone())?;
        let (functions, crates) = (Vec::new(), Vec::new());
        let (lines, statics) = (OnceLock::new(), OnceLock::new());
        let mut table = UnitTable { offset, bytes, abbreviations, bases, functions, crates, lines, statics };
        (table.functions, table.crates) = table.scan(dwarf)?;
        table.functions.sort_unstable_by_key(|f| f.begin);
        Ok(table)
    }

    /// The unit itself, without its line program: cheap to rebuild, so that the kept data need not borrow.
    pub(crate) fn unit(&self) -> gimli::Result<Unit<'_>> {
        Ok(Unit {
            header: header(&self.bytes)?,
            abbreviations: self.abbreviations.clone(),
            name: None,
            comp_dir: None,
            low_pc: self.bases.low_pc,
            str_offsets_base: self.bases.str_offsets,
            addr_base: self.bases.addr,
            loclists_base: self.bases.loclists,
            rnglists_base: self.bases.rnglists,
            line_program: None,
            dwo_id: None,
        })
    }

    /// The unit with its line program, whose list of files is long.
    pub(crate) fn unit_with_lines<'a>(&'a self, dwarf: &Dwarf<'a>) -> gimli::Result<Unit<'a>> {
        Unit::new_with_abbreviations(dwarf, header(&self.bytes)?, self.abbreviations.clone())
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

    /// The owner of an entry's namespace; none for the program's own.
    pub(crate) fn part(&self, entry: Offset) -> Option<Part> {
        Part::of_crate(self.crate_of(entry)?)
    }

    /// The crate whose namespace an entry lies in; none for entries outside of namespaces.
    pub(crate) fn crate_of(&self, entry: Offset) -> Option<&str> {
        let after = self.crates.partition_point(|(begin, _, _)| *begin <= entry);
        let (_, end, name) = self.crates[..after].last()?;
        (entry < *end).then_some(name)
    }

    /// All entries of the unit.
    pub(crate) fn entries<'u, 'd>(&'u self, unit: &'u Unit<'d>) -> Entries<'u, 'd> {
        Entries::new(unit, &self.bytes)
    }

    fn scan(&self, dwarf: &Dwarf<'_>) -> gimli::Result<(Vec<FunctionRange>, Vec<Namespace>)> {
        let (mut functions, mut crates) = (Vec::new(), Vec::new());
        let unit = self.unit()?;
        // The beginning of the current namespace.
        let mut namespace: Option<(Offset, String)> = None;
        for Step { offset, depth, tag } in self.entries(&unit) {
            if depth <= 1
                && let Some((begin, name)) = namespace.take()
            {
                crates.push((begin, offset, name));
            }
            match tag {
                gimli::DW_TAG_subprogram => {
                    let entry = unit.entry(offset)?;
                    let mut ranges = dwarf.die_ranges(&unit, &entry)?;
                    while let Ok(Some(range)) = ranges.next() {
                        if range.begin != 0 && range.begin < range.end {
                            let (begin, end) = (range.begin, range.end);
                            functions.push(FunctionRange { begin, end, entry: offset });
                        }
                    }
                }
                gimli::DW_TAG_namespace if depth == 1 => {
                    let name = dwarf.text(&unit, &unit.entry(offset)?, gimli::DW_AT_name);
                    namespace = name.map(|name| (offset, name));
                }
                _ => {}
            }
        }
        if let Some((begin, name)) = namespace {
            crates.push((begin, gimli::UnitOffset(self.bytes.len()), name));
        }
        Ok((functions, crates))
    }
}

fn code_of_unit(dwarf: &Dwarf<'_>, bytes: &[u8], mut each: impl FnMut(gimli::Range)) -> gimli::Result<()> {
    let unit = dwarf.unit(header(bytes)?)?;
    let mut ranges = dwarf.unit_ranges(&unit)?;
    while let Some(range) = ranges.next()? {
        each(range);
    }
    Ok(())
}

/// The header of a unit that stands alone.
fn header(bytes: &[u8]) -> gimli::Result<gimli::UnitHeader<crate::dwarf::Slice<'_>>> {
    DebugInfo::from(slice(bytes)).units().next()?.ok_or(gimli::Error::MissingUnitDie)
}

fn push(ranges: &mut Vec<CodeRange>, range: gimli::Range, unit: usize) {
    // Code that the linker dropped is left at address 0.
    if range.begin != 0 && range.begin < range.end {
        ranges.push(CodeRange { begin: range.begin, end: range.end, unit });
    }
}
