//! The functions at a code address: the one whose code it is, and those inlined into it there.

use std::ops::Range;
use std::sync::Arc;

use crate::dwarf::{Dwarf, Entry, Offset, Unit, number};
use crate::lines::file_path;
use crate::units::{Part, UnitTable};
use crate::{Frame, Program, names, paths};

/// A function's entry and an address in it.
pub(crate) struct At<'a, 'd> {
    pub(crate) program: &'a Program,
    pub(crate) dwarf: &'a Dwarf<'d>,
    pub(crate) table: &'a UnitTable,
    /// The function's entry, and those within it.
    pub(crate) function: Range<Offset>,
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

impl At<'_, '_> {
    /// The functions at the address with their lines, innermost first.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        let Ok(unit) = self.table.unit_with_lines(self.dwarf) else { return Vec::new() };
        let mut position = self.position();
        let mut frames = Vec::new();
        let compiled_in = self.table.compiled_in(self.dwarf);
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
        let file = match self.chain().iter().rev().find_map(|call| call.called_from) {
            // The code of the function itself is where its outermost inlined call is.
            Some((file, _)) => Some(file),
            None => self.position().map(|(file, _)| file),
        };
        let Ok(unit) = self.table.unit_with_lines(self.dwarf) else { return false };
        let compiled_in = self.table.compiled_in(self.dwarf);
        let path = file.and_then(|file| file_path(self.dwarf, &unit, file, compiled_in.as_deref()));
        path.is_some_and(|path| paths::is_fetched(&path))
    }

    /// Whether the code at the address comes from one line.
    pub(crate) fn has_line(&self) -> bool {
        self.position().is_some_and(|(_, line)| line.is_some())
    }

    /// The file (as the unit's line program numbers it) and line of the code at the address.
    fn position(&self) -> Option<(u64, Option<u32>)> {
        self.table.lines(self.dwarf)?.find(self.dwarf, self.address)
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
        let Range { start, end } = &self.function;
        let bytes = self.table.piece(self.dwarf, start.0, end.0 - start.0);
        let unit = &self.table.over(&bytes)?;
        let mut entries = unit.entries_raw(None)?;
        let mut entry = Entry::null();
        entries.read_entry(&mut entry)?;
        chain.push(self.call(self.dwarf, unit, &entry));
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
                gimli::DW_TAG_inlined_subroutine if self.dwarf.covers(unit, &entry, self.address) => {
                    chain.push(self.call(self.dwarf, unit, &entry));
                }
                gimli::DW_TAG_lexical_block if self.dwarf.covers(unit, &entry, self.address) => {}
                _ => outside = entry.depth(),
            }
        }
        Ok(())
    }

    fn call<'b>(&self, dwarf: &Dwarf<'b>, unit: &Unit<'b>, entry: &Entry<'b>) -> Call {
        let file = number(entry, gimli::DW_AT_call_file);
        let line = number(entry, gimli::DW_AT_call_line).map(|line| line as u32);
        let names = Names::of(self.program, dwarf, self.table, unit, entry, self.function.start, HOPS);
        let Names { linkage_name, name, part } = names;
        let mut call = Call { linkage_name, name, part, called_from: file.map(|file| (file, line)) };
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

/// A function's names, and whose it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    linkage_name: String,
    name: String,
    part: Option<Part>,
}

impl Names {
    /// Reads names from an entry, or from its declaration, perhaps in another unit. `offset` is that of a function's entry.
    fn of<'b>(
        program: &Program,
        dwarf: &Dwarf<'b>,
        table: &UnitTable,
        unit: &Unit<'b>,
        entry: &Entry<'b>,
        offset: Offset,
        hops: u32,
    ) -> Names {
        let text = |at| dwarf.text(unit, entry, at).unwrap_or_default();
        let mut names = Names {
            linkage_name: text(gimli::DW_AT_linkage_name),
            name: text(gimli::DW_AT_name),
            part: None,
        };
        // An unmangled function is identified by the position of its declaration only; an inlined call lies wherever it was
        // inlined.
        if entry.tag() == gimli::DW_TAG_subprogram {
            names.part = table.part(offset);
        }
        let Some(hops) = hops.checked_sub(1) else { return names };
        for at in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
            // A declaration that cannot be read leaves the names as they are.
            let more = match entry.attr_value(at) {
                Some(gimli::AttributeValue::UnitRef(offset)) => {
                    Names::at(program, dwarf, table, offset, hops)
                }
                Some(gimli::AttributeValue::DebugInfoRef(offset)) => {
                    Names::in_other_unit(program, dwarf, offset.0, hops)
                }
                _ => None,
            };
            if let Some(more) = more {
                names.complete(&more);
            }
        }
        names
    }

    /// The names of the function whose entry is at an offset. They are kept: most functions are inlined in many places.
    fn at(
        program: &Program,
        dwarf: &Dwarf<'_>,
        table: &UnitTable,
        offset: Offset,
        hops: u32,
    ) -> Option<Arc<Names>> {
        let place = table.offset + offset.0;
        if let Some(names) = program.names().get(&place) {
            return Some(names.clone());
        }
        let names = table.with_entry(dwarf, offset, |dwarf, unit, entry| {
            Arc::new(Names::of(program, dwarf, table, unit, entry, offset, hops))
        })?;
        program.names().insert(place, names.clone());
        Some(names)
    }

    fn in_other_unit(program: &Program, dwarf: &Dwarf<'_>, offset: usize, hops: u32) -> Option<Arc<Names>> {
        let units = program.unit_offsets(dwarf);
        let start = *units[..units.partition_point(|&unit| unit <= offset)].last()?;
        let table = program.table(dwarf, start)?;
        Names::at(program, dwarf, &table, gimli::UnitOffset(offset - start), hops)
    }

    fn complete(&mut self, more: &Names) {
        for (name, more) in [(&mut self.linkage_name, &more.linkage_name), (&mut self.name, &more.name)] {
            if name.is_empty() {
                name.clone_from(more);
            }
        }
        self.part = self.part.or(more.part);
    }
}

/// The crate that a function belongs to, by its name.
fn of_crate(path: &str) -> &str {
    names::owner(path).split("::").next().unwrap_or_default()
}
