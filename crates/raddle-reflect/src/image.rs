//! The program file: its table of sections, and the sections' bytes on request.
//!
//! Only the few needed fields are read from ELF, by hand: a general object reader would be a dependency of every user's
//! tests.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ReflectError;

pub(crate) struct Image {
    file: File,
    length: u64,
    sections: Vec<Section>,
    /// Whether the program may be loaded anywhere (`ET_DYN`).
    pub(crate) relocatable: bool,
}

struct Section {
    name: String,
    compressed: bool,
    in_file: bool,
    address: u64,
    offset: u64,
    size: u64,
}

impl Image {
    pub(crate) fn open(path: &Path) -> Result<Image, ReflectError> {
        let unreadable = |error| ReflectError::Unreadable { path: path.into(), error };
        let not_elf = || ReflectError::NotElf { path: path.into() };
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let read = |offset, size| read(&file, length, offset, size);
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).map_err(|_| not_elf())?;
        // Magic number, 64-bit class, little-endian.
        if header[..6] != *b"\x7fELF\x02\x01" {
            return Err(not_elf());
        }
        let relocatable = u16_at(&header, 0x10) == 3;
        let (offset, size) = (u64_at(&header, 0x28), u16_at(&header, 0x3a) as usize);
        let (count, names) = (u16_at(&header, 0x3c) as usize, u16_at(&header, 0x3e) as usize);
        if size < 64 && count > 0 {
            return Err(not_elf());
        }
        let table = read(offset, (size * count) as u64).map_err(unreadable)?;
        let headers: Vec<&[u8]> = table.chunks_exact(size.max(1)).collect();
        let names = match headers.get(names) {
            Some(h) => read(u64_at(h, 24), u64_at(h, 32)).map_err(unreadable)?,
            None => Vec::new(),
        };
        let sections = headers
            .iter()
            .map(|h| Section {
                name: text_at(&names, u32_at(h, 0) as usize).to_owned(),
                compressed: u64_at(h, 8) & 0x800 != 0,
                in_file: u32_at(h, 4) != 8,
                address: u64_at(h, 16),
                offset: u64_at(h, 24),
                size: u64_at(h, 32),
            })
            .collect();
        Ok(Image { file, length, sections, relocatable })
    }

    /// The bytes of a section: empty if there is none, or none that can be read uncompressed.
    pub(crate) fn section(&self, name: &str) -> Vec<u8> {
        self.part(name, 0, usize::MAX)
    }

    /// Some bytes of a section: fewer if it ends before.
    pub(crate) fn part(&self, name: &str, from: usize, length: usize) -> Vec<u8> {
        self.part_behind(&[], name, from, length)
    }

    /// Some bytes of a section, behind others.
    pub(crate) fn part_behind(&self, before: &[u8], name: &str, from: usize, length: usize) -> Vec<u8> {
        let section = self.sections.iter().find(|s| s.name == name && s.in_file && !s.compressed);
        let Some(section) = section else { return before.to_vec() };
        let length = section.size.saturating_sub(from as u64).min(length as u64);
        let offset = section.offset.saturating_add(from as u64);
        // What cannot be read is not there.
        read_behind(before, &self.file, self.length, offset, length).unwrap_or_else(|_| before.to_vec())
    }

    /// A section, piece by piece.
    pub(crate) fn pieces(&self, name: &str, length: usize) -> impl Iterator<Item = Vec<u8>> {
        (0..).map(move |index| self.part(name, index * length, length)).take_while(|piece| !piece.is_empty())
    }

    /// The bytes that the program has at an address before it runs.
    pub(crate) fn at<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let end = address.checked_add(N as u64)?;
        let holds =
            |s: &&Section| s.in_file && s.address != 0 && s.address <= address && end <= s.address + s.size;
        let section = self.sections.iter().find(holds)?;
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, section.offset + (address - section.address)).ok()?;
        Some(bytes)
    }

    /// The zero-terminated string at an offset of a section, without reading the section.
    pub(crate) fn text(&self, name: &str, from: usize) -> Option<String> {
        let mut text = Vec::new();
        loop {
            let more = self.part(name, from + text.len(), 256);
            if let Some(end) = more.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&more[..end]);
                return String::from_utf8(text).ok();
            }
            if more.is_empty() {
                return None;
            }
            text.extend_from_slice(&more);
        }
    }

    /// The GNU build id, or a hash of the code where the linker wrote none.
    pub(crate) fn build_id(&self) -> String {
        let note = self.section(".note.gnu.build-id");
        let id = gnu_build_id(&note).unwrap_or_default();
        if id.is_empty() {
            return format!("{:016x}", hash(&self.section(".text")));
        }
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The zero-terminated string that begins at an offset of a string table.
pub(crate) fn text_at(table: &[u8], at: usize) -> &str {
    let rest = table.get(at..).unwrap_or_default();
    let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

fn read(file: &File, length: u64, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    read_behind(&[], file, length, offset, size)
}

fn read_behind(before: &[u8], file: &File, length: u64, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    // A damaged header may name any size: never ask for more than there is.
    let size = size.min(length.saturating_sub(offset)) as usize;
    let mut bytes = vec![0; before.len() + size];
    bytes[..before.len()].copy_from_slice(before);
    file.read_exact_at(&mut bytes[before.len()..], offset)?;
    Ok(bytes)
}

fn gnu_build_id(note: &[u8]) -> Option<&[u8]> {
    let (name, size) = (u32_at(note.get(..12)?, 0) as usize, u32_at(note, 4) as usize);
    let start = 12 + name.next_multiple_of(4);
    note.get(start..start.checked_add(size)?)
}

/// FNV-1a over eight bytes at a time: stable, and fast enough for megabytes of code in an unoptimised build.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    for word in words {
        hash = (hash ^ u64_at(word, 0)).wrapping_mul(0x0100_0000_01b3);
        hash ^= hash >> 29;
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}
