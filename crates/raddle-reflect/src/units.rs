//! Compilation units: the one that holds a code address, and the data kept of a parsed unit.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{Abbreviations, AttributeValue, DebugInfo};

use crate::dwarf::{Dwarf, Entry, Offset, Unit, slice};
use crate::entries::{Entries, Progress, Step};
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

/// A unit: where its parts are in the file.
pub(crate) struct UnitTable {
    /// The position in `.debug_info`.
    pub(crate) offset: usize,
    length: usize,
    /// The header, as that of a unit without entries.
    header: Vec<u8>,
    abbreviations: Arc<Abbreviations>,
    bases: Bases,
    /// The functions that have code, by `begin`.
    functions: Vec<FunctionRange>,
    /// The ranges of entries of the outermost namespaces, which are crates, in order.
    crates: Vec<Namespace>,
    /// All bytes, if they were asked for.
    bytes: OnceLock<Vec<u8>>,
    lines: OnceLock<Option<Lines>>,
    pub(crate) statics: OnceLock<Statics>,
}

/// The bases of a unit's other attributes, and where its line program is.
#[derive(Default)]
struct Bases {
    low_pc: u64,
    str_offsets: Option<gimli::DebugStrOffsetsBase>,
    addr: Option<gimli::DebugAddrBase>,
    loclists: Option<gimli::DebugLocListsBase>,
    rnglists: Option<gimli::DebugRngListsBase>,
    lines: Option<usize>,
}

impl Bases {
    fn of(root: &Entry<'_>) -> Bases {
        let mut bases = Bases::default();
        for attribute in root.attrs() {
            match attribute.value() {
                AttributeValue::DebugLineRef(lines) => bases.lines = Some(lines.0),
                AttributeValue::DebugStrOffsetsBase(base) => bases.str_offsets = Some(base),
                AttributeValue::DebugAddrBase(base) => bases.addr = Some(base),
                AttributeValue::DebugLocListsBase(base) => bases.loclists = Some(base),
                AttributeValue::DebugRngListsBase(base) => bases.rnglists = Some(base),
                _ => {}
            }
        }
        bases
    }
}

/// The sizes of pieces in which a unit is read: entry by entry, and as a whole.
const ENTRY: usize = 256;
const PIECE: usize = 1 << 14;

/// The range of entries of an outermost namespace, and its name.
type Namespace = (Offset, Offset, String);

struct FunctionRange {
    begin: u64,
    end: u64,
    /// The entry, and the end of those within it.
    entry: u32,
    until: u32,
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
                // A unit that cannot be read holds no known code.
                let Ok(table) = UnitTable::open(dwarf, offset) else { continue };
                table.with_root(dwarf, |dwarf, unit, root| {
                    let _ = dwarf.code_of(unit, root, |range| push(&mut ranges, range, offset));
                });
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
        let mut table = UnitTable::open(dwarf, offset)?;
        (table.functions, table.crates) = table.scan(dwarf)?;
        table.functions.sort_unstable_by_key(|f| f.begin);
        Ok(table)
    }

    /// Reads the header and the first entry only.
    fn open(dwarf: &Dwarf<'_>, offset: usize) -> gimli::Result<UnitTable> {
        let missing = gimli::Error::MissingUnitDie;
        let length = dwarf.unit_length(offset).ok_or(missing)?;
        let mut header = dwarf.image.part(INFO, offset, length.min(ENTRY));
        as_unit(&mut header).ok_or(missing)?;
        let parsed = parse(&header)?;
        let abbreviations = Arc::new(parsed.abbreviations(&dwarf.debug_abbrev)?);
        let size = parsed.root_offset().0;
        header.truncate(size);
        as_unit(&mut header).ok_or(missing)?;
        let mut table = UnitTable {
            offset,
            length,
            header,
            abbreviations,
            bases: Bases::default(),
            functions: Vec::new(),
            crates: Vec::new(),
            bytes: OnceLock::new(),
            lines: OnceLock::new(),
            statics: OnceLock::new(),
        };
        let mut bases = table.with_root(dwarf, |_, _, root| Bases::of(root)).ok_or(missing)?;
        std::mem::swap(&mut table.bases, &mut bases);
        let low_pc = table.with_root(dwarf, |dwarf, unit, root| {
            dwarf.attr_address(unit, root.attr_value(gimli::DW_AT_low_pc)?).ok().flatten()
        });
        table.bases.low_pc = low_pc.flatten().unwrap_or(0);
        Ok(table)
    }

    /// The unit itself, without its line program, and with all its bytes: for questions about types, which go everywhere.
    pub(crate) fn unit(&self, dwarf: &Dwarf<'_>) -> gimli::Result<Unit<'_>> {
        self.over(self.bytes.get_or_init(|| dwarf.image.part(INFO, self.offset, self.length)))
    }

    /// The unit without entries, with its line program, whose list of files is long.
    pub(crate) fn unit_with_lines(&self, dwarf: &Dwarf<'_>) -> gimli::Result<Unit<'_>> {
        let mut unit = self.over(&self.header)?;
        unit.line_program = match self.lines(dwarf) {
            Some(lines) => Some(lines.program(unit.header.address_size())?),
            None => None,
        };
        Ok(unit)
    }

    pub(crate) fn lines(&self, dwarf: &Dwarf<'_>) -> Option<&Lines> {
        self.lines.get_or_init(|| Lines::read(dwarf, self.bases.lines?)).as_ref()
    }

    /// The directory that the unit was compiled in.
    pub(crate) fn compiled_in(&self, dwarf: &Dwarf<'_>) -> Option<String> {
        self.with_root(dwarf, |dwarf, unit, root| dwarf.text(unit, root, gimli::DW_AT_comp_dir)).flatten()
    }

    fn with_root<T>(
        &self,
        dwarf: &Dwarf<'_>,
        ask: impl for<'b> FnOnce(&Dwarf<'b>, &Unit<'b>, &Entry<'b>) -> T,
    ) -> Option<T> {
        self.with_entry(dwarf, gimli::UnitOffset(self.header.len()), ask)
    }

    /// Asks about an entry, of which nothing else is read. The unit holds that entry only.
    pub(crate) fn with_entry<T>(
        &self,
        dwarf: &Dwarf<'_>,
        entry: Offset,
        ask: impl for<'b> FnOnce(&Dwarf<'b>, &Unit<'b>, &Entry<'b>) -> T,
    ) -> Option<T> {
        let mut length = ENTRY;
        loop {
            let bytes = self.piece(dwarf, entry.0, length);
            let unit = self.over(&bytes).ok()?;
            match unit.entry(gimli::UnitOffset(self.header.len())) {
                Ok(entry) => return Some(ask(dwarf, &unit, &entry)),
                // An entry that is longer, or damaged.
                Err(_) if entry.0 + length < self.length => length *= 8,
                Err(_) => return None,
            }
        }
    }

    /// Visits all entries in order, with a unit that holds the entry, and where in that unit. Damaged information ends them.
    pub(crate) fn for_each_entry(
        &self,
        dwarf: &Dwarf<'_>,
        mut visit: impl for<'b> FnMut(&Dwarf<'b>, Step, &Unit<'b>, Offset) -> gimli::Result<()>,
    ) -> gimli::Result<()> {
        let (mut from, mut length, mut progress) = (self.header.len(), PIECE, Progress::default());
        while from < self.length {
            let bytes = self.piece(dwarf, from, length);
            let unit = self.over(&bytes)?;
            let mut entries = Entries::new(&unit, &bytes, progress);
            for step in entries.by_ref() {
                let offset = gimli::UnitOffset(step.offset.0 - self.header.len() + from);
                visit(dwarf, Step { offset, ..step }, &unit, step.offset)?;
            }
            let read = entries.at - self.header.len();
            progress = entries.into_progress();
            if read == 0 && from + length >= self.length {
                return Ok(());
            }
            from += read;
            // An entry that is longer, or damaged.
            length = if read == 0 { 8 * length } else { PIECE };
        }
        Ok(())
    }

    /// Some bytes of the unit, as a unit of their own.
    pub(crate) fn piece(&self, dwarf: &Dwarf<'_>, from: usize, length: usize) -> Vec<u8> {
        let length = length.min(self.length.saturating_sub(from));
        let from = self.offset.saturating_add(from);
        let mut bytes = dwarf.image.part_behind(&self.header, INFO, from, length);
        as_unit(&mut bytes);
        bytes
    }

    /// The unit with some of its bytes, without its line program.
    pub(crate) fn over<'a>(&self, bytes: &'a [u8]) -> gimli::Result<Unit<'a>> {
        let header = parse(bytes)?;
        let (encoding, bases) = (header.encoding(), &self.bases);
        let main = gimli::DwarfFileType::Main;
        let str_offsets = || gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, main);
        let loclists = || gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, main);
        let rnglists = || gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, main);
        Ok(Unit {
            header,
            abbreviations: self.abbreviations.clone(),
            name: None,
            comp_dir: None,
            low_pc: bases.low_pc,
            str_offsets_base: bases.str_offsets.unwrap_or_else(str_offsets),
            addr_base: bases.addr.unwrap_or(gimli::DebugAddrBase(0)),
            loclists_base: bases.loclists.unwrap_or_else(loclists),
            rnglists_base: bases.rnglists.unwrap_or_else(rnglists),
            line_program: None,
            dwo_id: None,
        })
    }

    /// The range of entries of the function at an address.
    pub(crate) fn function(&self, address: u64) -> Option<Range<Offset>> {
        let after = self.functions.partition_point(|f| f.begin <= address);
        let function = self.functions[..after].last()?;
        let offset = |at: u32| gimli::UnitOffset(at as usize);
        (address < function.end).then(|| offset(function.entry)..offset(function.until))
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

    fn scan(&self, dwarf: &Dwarf<'_>) -> gimli::Result<(Vec<FunctionRange>, Vec<Namespace>)> {
        let (mut functions, mut crates) = (Vec::<FunctionRange>::new(), Vec::new());
        // The beginning of the current namespace.
        let mut namespace: Option<(Offset, String)> = None;
        // The functions whose ends were not seen: their depths, and where the list of functions ended before. The depth of the last one is by
        // itself, because it is looked at for each entry.
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut deepest = -1;
        self.for_each_entry(dwarf, |dwarf, Step { offset, depth, tag }, unit, here| {
            while depth <= deepest
                && let Some((_, from)) = open.pop()
            {
                functions[from..].iter_mut().for_each(|f| f.until = f.until.min(offset.0 as u32));
                deepest = open.last().map_or(-1, |function| function.0);
            }
            if depth <= 1
                && let Some((begin, name)) = namespace.take()
            {
                crates.push((begin, offset, name));
            }
            match tag {
                gimli::DW_TAG_subprogram => {
                    let entry = unit.entry(here)?;
                    let before = functions.len();
                    // Ranges before damage count.
                    let _ = dwarf.code_of(unit, &entry, |range| {
                        if range.begin != 0 && range.begin < range.end {
                            let (begin, end) = (range.begin, range.end);
                            let (entry, until) = (offset.0 as u32, self.length as u32);
                            functions.push(FunctionRange { begin, end, entry, until });
                        }
                    });
                    if functions.len() > before {
                        open.push((depth, before));
                        deepest = depth;
                    }
                }
                gimli::DW_TAG_namespace if depth == 1 => {
                    let name = dwarf.text(unit, &unit.entry(here)?, gimli::DW_AT_name);
                    namespace = name.map(|name| (offset, name));
                }
                _ => {}
            }
            Ok(())
        })?;
        if let Some((begin, name)) = namespace {
            crates.push((begin, gimli::UnitOffset(self.length), name));
        }
        Ok((functions, crates))
    }
}

const INFO: &str = ".debug_info";

/// The header of a unit that stands alone.
fn parse(bytes: &[u8]) -> gimli::Result<gimli::UnitHeader<crate::dwarf::Slice<'_>>> {
    DebugInfo::from(slice(bytes)).units().next()?.ok_or(gimli::Error::MissingUnitDie)
}

/// Sets the length that the header of a unit tells. None if there is no header.
fn as_unit(bytes: &mut [u8]) -> Option<()> {
    let length = bytes.len();
    match bytes.get(..4)? {
        // The 64-bit format, which is not in use.
        [0xff, 0xff, 0xff, 0xff] => {
            bytes.get_mut(4..12)?.copy_from_slice(&(length as u64 - 12).to_le_bytes());
        }
        _ => bytes[..4].copy_from_slice(&(length as u32 - 4).to_le_bytes()),
    }
    Some(())
}

fn push(ranges: &mut Vec<CodeRange>, range: gimli::Range, unit: usize) {
    // Code that the linker dropped is left at address 0.
    if range.begin != 0 && range.begin < range.end {
        ranges.push(CodeRange { begin: range.begin, end: range.end, unit });
    }
}
