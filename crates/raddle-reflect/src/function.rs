//! The functions at a code address: the one whose code it is, and those inlined into it there.

use crate::dwarf::{self, Dwarf, Entry, Offset, Unit};
use crate::lines::{Lines, file_path};
use crate::types::Types;
use crate::units::{Part, UnitTable};
use crate::{Frame, Program, names, paths};

/// A function's entry and an address in it.
pub(crate) struct At<'a, 'd> {
    pub(crate) program: &'a Program,
    pub(crate) dwarf: &'a Dwarf<'d>,
    pub(crate) unit: &'a Unit<'d>,
    pub(crate) table: &'a UnitTable,
    pub(crate) function: Offset,
    pub(crate) address: u64,
}

/// A function, inlined or not, and the position of the inlined call.
pub(crate) struct Call {
    linkage_name: String,
    /// The name in the debug information, with its generic arguments.
    pub(crate) name: String,
    /// File (as the unit's line program numbers it) and line, for an inlined function.
    called_from: Option<(u64, Option<u32>)>,
    part: Option<Part>,
}

impl Call {
    /// The full path, demangled.
    pub(crate) fn path(&self) -> String {
        if self.linkage_name.is_empty() { self.name.clone() } else { names::demangle(&self.linkage_name) }
    }
}

impl<'d> At<'_, 'd> {
    pub(crate) fn types(&self) -> Types<'_, 'd> {
        Types { dwarf: self.dwarf, unit: self.unit, table: self.table }
    }

    /// The functions at the address with their lines, innermost first.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        let Ok(unit) = self.table.unit_with_lines(self.dwarf) else { return Vec::new() };
        let mut position = self.position(&unit);
        let mut frames = Vec::new();
        let root = self.unit.entry(self.unit.header.root_offset()).ok();
        let compiled_in = root.and_then(|root| self.dwarf.text(self.unit, &root, gimli::DW_AT_comp_dir));
        let compiled_in = compiled_in.as_deref();
        for call in self.chain() {
            let path = call.path();
            let file = position.and_then(|(file, _)| file_path(self.dwarf, &unit, file, compiled_in));
            let dependency = file.as_deref().is_some_and(paths::is_fetched);
            let file =
                file.map(|file| paths::shorten(&file, compiled_in, self.program.running_in.as_deref()));
            frames.push(Frame {
                function: names::shorten(&path),
                // Code without a line was made by the compiler.
                internal: call.part.is_some() || file.as_ref().is_none_or(|(_, of_std)| *of_std),
                dependency,
                file: file.map(|(file, _)| file),
                line: position.and_then(|(_, line)| line),
            });
            position = call.called_from;
        }
        frames
    }

    /// Whether the code at the address was written in a dependency that cargo has fetched.
    pub(crate) fn is_of_registry(&self) -> bool {
        let Ok(unit) = self.table.unit_with_lines(self.dwarf) else { return false };
        let root = self.unit.entry(self.unit.header.root_offset()).ok();
        let compiled_in = root.and_then(|root| self.dwarf.text(self.unit, &root, gimli::DW_AT_comp_dir));
        let file = match self.chain().iter().rev().find_map(|call| call.called_from) {
            // The code of the function itself is where its outermost inlined call is.
            Some((file, _)) => Some(file),
            None => self.position(&unit).map(|(file, _)| file),
        };
        let path = file.and_then(|file| file_path(self.dwarf, &unit, file, compiled_in.as_deref()));
        path.is_some_and(|path| paths::is_fetched(&path))
    }

    /// Whether the code at the address comes from one line.
    pub(crate) fn has_line(&self) -> bool {
        let unit = self.table.unit_with_lines(self.dwarf);
        unit.is_ok_and(|unit| self.position(&unit).is_some_and(|(_, line)| line.is_some()))
    }

    /// The file (as the unit's line program numbers it) and line of the code at the address.
    fn position(&self, unit: &Unit<'_>) -> Option<(u64, Option<u32>)> {
        self.table.lines.get_or_init(|| Lines::read(unit)).find(unit, self.address)
    }

    /// The functions at the address, innermost first; the last is the one whose code it is.
    pub(crate) fn chain(&self) -> Vec<Call> {
        let mut chain = Vec::new();
        // Damaged information ends the list.
        let _ = self.read_chain(&mut chain);
        chain.reverse();
        chain
    }

    fn read_chain(&self, chain: &mut Vec<Call>) -> gimli::Result<()> {
        let mut entries = self.unit.entries_raw(Some(self.function))?;
        let mut entry = Entry::null();
        entries.read_entry(&mut entry)?;
        chain.push(self.call(&entry));
        if !entry.has_children() {
            return Ok(());
        }
        // The depth of a scope that does not hold the address: everything below it is stepped over.
        let mut outside = isize::MAX;
        while entries.next_depth() > 0 {
            if !entries.read_entry(&mut entry)? || entry.depth() > outside {
                continue;
            }
            outside = isize::MAX;
            match entry.tag() {
                gimli::DW_TAG_inlined_subroutine if self.dwarf.covers(self.unit, &entry, self.address) => {
                    chain.push(self.call(&entry));
                }
                gimli::DW_TAG_lexical_block if self.dwarf.covers(self.unit, &entry, self.address) => {}
                _ => outside = entry.depth(),
            }
        }
        Ok(())
    }

    fn call(&self, entry: &Entry<'d>) -> Call {
        let file = dwarf::number(entry, gimli::DW_AT_call_file);
        let line = dwarf::number(entry, gimli::DW_AT_call_line).map(|line| line as u32);
        let called_from = file.map(|file| (file, line));
        let mut call = Call { linkage_name: String::new(), name: String::new(), called_from, part: None };
        take_names(self.program, self.dwarf, self.table, self.unit, entry, &mut call, HOPS);
        // No namespace tells whose a function of precompiled code is: the name must do.
        if call.part.is_none() {
            call.part = Part::of_crate(of_crate(&call.path()));
        }
        call
    }
}

/// Longest chain of references: from an inlined call to the abstract function, its declaration, and as far again;
/// damaged entries may form circles.
const HOPS: u32 = 4;

/// Reads a function's names from an entry, or from its declaration, perhaps in another unit.
fn take_names<'d>(
    program: &Program,
    dwarf: &Dwarf<'d>,
    table: &UnitTable,
    unit: &Unit<'d>,
    entry: &Entry<'d>,
    call: &mut Call,
    hops: u32,
) {
    for (name, at) in
        [(&mut call.linkage_name, gimli::DW_AT_linkage_name), (&mut call.name, gimli::DW_AT_name)]
    {
        if name.is_empty() {
            *name = dwarf.text(unit, entry, at).unwrap_or_default();
        }
    }
    // An unmangled function is identified by the position of its declaration only; an inlined call lies wherever it was
    // inlined.
    if entry.tag() == gimli::DW_TAG_subprogram {
        call.part = call.part.or_else(|| table.part(entry.offset()));
    }
    let Some(hops) = hops.checked_sub(1) else { return };
    for at in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
        match entry.attr_value(at) {
            Some(gimli::AttributeValue::UnitRef(offset)) => {
                if let Ok(entry) = unit.entry(offset) {
                    take_names(program, dwarf, table, unit, &entry, call, hops);
                }
            }
            Some(gimli::AttributeValue::DebugInfoRef(offset)) => {
                // A declaration that cannot be read leaves the name as it is.
                let _ = take_names_in_other_unit(program, offset.0, call, hops);
            }
            _ => {}
        }
    }
}

fn take_names_in_other_unit(program: &Program, offset: usize, call: &mut Call, hops: u32) -> Option<()> {
    let dwarf = program.dwarf();
    let units = program.unit_offsets(&dwarf);
    let start = *units[..units.partition_point(|&unit| unit <= offset)].last()?;
    let table = program.table(&dwarf, start)?;
    let unit = table.unit().ok()?;
    let entry = unit.entry(gimli::UnitOffset(offset - start)).ok()?;
    take_names(program, &dwarf, &table, &unit, &entry, call, hops);
    Some(())
}

/// The crate that a function belongs to, by its name.
fn of_crate(path: &str) -> &str {
    names::owner(path).split("::").next().unwrap_or_default()
}
