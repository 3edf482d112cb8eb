//! The parts of a program file that say which function calls which: code, symbols and the addresses that the loader fills in.

use std::collections::HashMap;
use std::ops::Range;

/// A program file of x86-64 Linux. What is damaged is missing: nothing here fails.
pub(super) struct Elf {
    bytes: Vec<u8>,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    kind: u32,
    address: u64,
    /// Its bytes in the file.
    range: Range<usize>,
}

/// A function of the symbol table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    pub(super) code: Range<u64>,
    /// The name that the linker knows.
    pub(super) symbol: String,
}

/// What the loader writes to an address.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filled {
    /// The address of a function of a shared library.
    Imported(String),
    /// An address of the program.
    Own(u64),
}

impl Elf {
    /// A file that was read; none if it is no ELF file of 64 bits.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Elf> {
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let (table, size) = (number(&bytes, 0x28, 8)? as usize, number(&bytes, 0x3a, 2)? as usize);
        let (count, names) = (number(&bytes, 0x3c, 2)? as usize, number(&bytes, 0x3e, 2)? as usize);
        let header = |index: usize| table.checked_add(index.checked_mul(size)?);
        let names = range(&bytes, header(names)?)?;
        let section = |at: usize| {
            Some(Section {
                name: text(&bytes[names.clone()], number(&bytes, at, 4)? as usize).to_owned(),
                kind: number(&bytes, at + 4, 4)? as u32,
                address: number(&bytes, at + 16, 8)?,
                range: range(&bytes, at).unwrap_or(0..0),
            })
        };
        let sections = (0..count).filter_map(|index| section(header(index)?)).collect();
        Some(Elf { bytes, sections })
    }

    /// The bytes of a section; empty if there is none.
    pub(super) fn section(&self, name: &str) -> &[u8] {
        self.find(name).map_or(&[], |section| &self.bytes[section.range.clone()])
    }

    fn find(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.kind != NO_BITS)
    }

    /// The bytes at addresses of the program, as far as they are in one section.
    pub(super) fn code(&self, at: &Range<u64>) -> &[u8] {
        let holds = |section: &&Section| {
            let end = section.address + section.range.len() as u64;
            section.address != 0 && section.kind != NO_BITS && (section.address..end).contains(&at.start)
        };
        let Some(section) = self.sections.iter().find(holds) else { return &[] };
        let bytes = &self.bytes[section.range.clone()];
        let start = (at.start - section.address) as usize;
        &bytes[start..bytes.len().min(start + (at.end - at.start) as usize)]
    }

    /// Whether an address is in one of the tables of jumps into shared libraries.
    pub(super) fn is_linkage_table(&self, address: u64) -> bool {
        self.sections.iter().any(|section| {
            let end = section.address + section.range.len() as u64;
            section.name.starts_with(".plt") && (section.address..end).contains(&address)
        })
    }

    /// The functions, by address; of those at one address, the first.
    pub(super) fn functions(&self) -> Vec<Function> {
        const FUNCTION: u8 = 2;
        const INDIRECT_FUNCTION: u8 = 10;
        let names = self.section(".strtab");
        let symbols = self.section(".symtab").chunks_exact(SYMBOL).filter_map(|symbol| {
            let is_function = matches!(symbol[4] & 0xf, FUNCTION | INDIRECT_FUNCTION);
            let (defined, address) = (number(symbol, 6, 2)? != 0, number(symbol, 8, 8)?);
            let code = address..address.checked_add(number(symbol, 16, 8)?)?;
            let named = text(names, number(symbol, 0, 4)? as usize);
            (is_function && defined && address != 0).then(|| Function { code, symbol: named.to_owned() })
        });
        let mut functions: Vec<Function> = symbols.collect();
        functions.sort_by_key(|function| function.code.start);
        functions.dedup_by_key(|function| function.code.start);
        functions
    }

    /// What the loader writes, by the address that it writes to.
    pub(super) fn filled(&self) -> HashMap<u64, Filled> {
        const GLOBAL: u64 = 6;
        const JUMP: u64 = 7;
        const RELATIVE: u64 = 8;
        let (names, symbols) = (self.section(".dynstr"), self.section(".dynsym"));
        let entries =
            [".rela.dyn", ".rela.plt"].into_iter().flat_map(|name| self.section(name).chunks_exact(24));
        let fill = |entry: &[u8]| {
            let (at, info, addend) = (number(entry, 0, 8)?, number(entry, 8, 8)?, number(entry, 16, 8)?);
            match info & 0xffff_ffff {
                GLOBAL | JUMP => {
                    let symbol = symbols.get((info >> 32) as usize * SYMBOL..)?;
                    let value = number(symbol, 8, 8)?;
                    let name = text(names, number(symbol, 0, 4)? as usize).to_owned();
                    Some((at, if value == 0 { Filled::Imported(name) } else { Filled::Own(value) }))
                }
                RELATIVE => Some((at, Filled::Own(addend))),
                _ => None,
            }
        };
        entries.filter_map(fill).collect()
    }

    /// Whether the loader places the program where it likes.
    pub(super) fn is_relocatable(&self) -> bool {
        number(&self.bytes, 0x10, 2) == Some(3)
    }
}

/// The kind of a section that has no bytes in the file.
const NO_BITS: u32 = 8;

/// The size of a symbol.
const SYMBOL: usize = 24;

/// The bytes of the section with the header at this position.
fn range(bytes: &[u8], header: usize) -> Option<Range<usize>> {
    let start = number(bytes, header.checked_add(24)?, 8)? as usize;
    let end = start.checked_add(number(bytes, header.checked_add(32)?, 8)? as usize)?;
    (end <= bytes.len()).then_some(start..end)
}

/// The number of `size` bytes at a position, little-endian.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The zero-terminated text at a position of a string table.
fn text(table: &[u8], at: usize) -> &str {
    let rest = table.get(at..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let elf = Elf::parse(std::fs::read("/proc/self/exe").unwrap()).unwrap();
        let functions = elf.functions();
        let this =
            functions.iter().find(|function| function.symbol.contains("this_program_is_read")).unwrap();
        assert!(!elf.code(&this.code).is_empty());
        let filled = elf.filled();
        assert!(filled.values().any(|filled| *filled == Filled::Imported("abort".to_owned())), "{filled:?}");
    }

    #[test]
    fn damaged_files_are_read_as_far_as_they_go() {
        assert!(Elf::parse(Vec::new()).is_none());
        assert!(Elf::parse(b"#!/bin/sh".to_vec()).is_none());
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        for length in [64, 100, 5000, bytes.len() / 2] {
            if let Some(elf) = Elf::parse(bytes[..length].to_vec()) {
                elf.functions();
                elf.filled();
            }
        }
    }
}
