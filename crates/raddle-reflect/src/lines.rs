//! The line table of one unit: where its sequences are. The rows of a sequence are read and made each time they are asked for, because
//! a large unit has a million rows, and few are of interest.

use std::ops::ControlFlow;

use gimli::{DebugLine, DebugLineOffset, IncompleteLineProgram};

use crate::dwarf::{Dwarf, Slice, Unit, slice};
use crate::entries::unsigned;
use crate::image::{u16_at, u32_at};

/// The sequences of a unit, by their first address. Their instructions stay in the file.
pub(crate) struct Lines {
    sequences: Vec<Sequence>,
    /// The header of the line program, as that of one without instructions.
    header: Vec<u8>,
    format: Format,
}

struct Sequence {
    begin: u64,
    /// Where its instructions are in the file.
    from: usize,
    until: usize,
}

/// A row of the table: the code from its address on belongs to a line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    address: u64,
    /// As the line program numbers it.
    file: u64,
    /// 0 for code that belongs to no line.
    line: u64,
}

/// What the header of a line program says of its instructions.
struct Format {
    min_instruction_length: u64,
    /// The first opcode that makes a row.
    opcode_base: u8,
    line_base: i64,
    line_range: u8,
    /// The number of operands of each opcode below.
    operands: Vec<u8>,
}

/// Instructions that make rows.
struct Instructions<'a> {
    bytes: &'a [u8],
    format: &'a Format,
}

/// A search for sequences, from piece to piece of a line program.
#[derive(Default)]
struct Scan {
    sequences: Vec<Sequence>,
    /// The first address of the current sequence, if it has been set.
    begin: Option<u64>,
    /// Where the current sequence begins.
    first: usize,
}

const SECTION: &str = ".debug_line";

/// The size of pieces in which a line program is read.
const PIECE: usize = 1 << 14;

// Opcodes.
const EXTENDED: u8 = 0;
const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

impl Lines {
    /// Finds the sequences of the line program at an offset. A damaged program has those before the damage.
    pub(crate) fn read(dwarf: &Dwarf<'_>, offset: usize) -> Option<Lines> {
        // The length, the version, in version 5 the sizes of addresses and segments, and the length of the rest of the header.
        const VERSION: usize = 4;
        let start = dwarf.image.part(SECTION, offset, 16);
        if start.len() < 16 || u32_at(&start, 0) >= 0xffff_fff0 {
            return None;
        }
        let end = VERSION + u32_at(&start, 0) as usize;
        let length = if u16_at(&start, VERSION) >= 5 { VERSION + 4 } else { VERSION + 2 };
        let begin = (length + 4 + u32_at(&start, length) as usize).min(end);
        let mut header = dwarf.image.part(SECTION, offset, begin);
        let without_instructions = (header.len() - VERSION) as u32;
        header[..VERSION].copy_from_slice(&without_instructions.to_le_bytes());
        let format = Format::of(&program(&header, 8).ok()?)?;
        let mut scan = Scan { first: offset + begin, ..Scan::default() };
        let (mut at, end) = (offset + begin, offset.saturating_add(end));
        let mut piece = PIECE;
        while at < end {
            let bytes = dwarf.image.part(SECTION, at, piece.min(end - at));
            let instructions = Instructions { bytes: &bytes, format: &format };
            let read = instructions.find_sequences(at, &mut scan);
            if read == 0 && (bytes.len() < piece || at + piece >= end) {
                break;
            }
            // An instruction that is longer, or damaged.
            piece = if read == 0 { 8 * piece } else { PIECE };
            at += read;
        }
        let mut sequences = scan.sequences;
        sequences.sort_unstable_by_key(|sequence| sequence.begin);
        Some(Lines { sequences, header, format })
    }

    /// The line program without its instructions.
    pub(crate) fn program(&self, address_size: u8) -> gimli::Result<IncompleteLineProgram<Slice<'_>>> {
        program(&self.header, address_size)
    }

    /// The file (as the line program numbers it) and line of the code at an address.
    pub(crate) fn find(&self, dwarf: &Dwarf<'_>, address: u64) -> Option<(u64, Option<u32>)> {
        let after = self.sequences.partition_point(|sequence| sequence.begin <= address);
        let sequence = self.sequences[..after].last()?;
        let mut found = None;
        let end = self.rows(dwarf, sequence, |row| {
            if row.address <= address {
                found = Some(row);
            }
        })?;
        let row = found.filter(|_| address < end)?;
        Some((row.file, (row.line != 0).then_some(row.line as u32)))
    }

    /// Makes the rows of a sequence. Returns its end. None if the program is damaged there.
    fn rows(&self, dwarf: &Dwarf<'_>, sequence: &Sequence, make: impl FnMut(Row)) -> Option<u64> {
        let bytes = dwarf.image.part(SECTION, sequence.from, sequence.until - sequence.from);
        Instructions { bytes: &bytes, format: &self.format }.rows(make)
    }
}

fn program(header: &[u8], address_size: u8) -> gimli::Result<IncompleteLineProgram<Slice<'_>>> {
    DebugLine::from(slice(header)).program(DebugLineOffset(0), address_size, None, None)
}

impl Format {
    fn of(program: &IncompleteLineProgram<Slice<'_>>) -> Option<Format> {
        let header = program.header();
        (header.line_range() != 0 && header.opcode_base() != 0).then(|| Format {
            min_instruction_length: header.minimum_instruction_length().into(),
            opcode_base: header.opcode_base(),
            line_base: header.line_base().into(),
            line_range: header.line_range(),
            operands: header.standard_opcode_lengths().slice().to_vec(),
        })
    }
}

impl Instructions<'_> {
    /// Steps through instructions, and looks only at those that begin and end sequences. Returns how many bytes it stepped over, perhaps beyond
    /// the end.
    fn find_sequences(&self, place: usize, scan: &mut Scan) -> usize {
        let mut done = 0;
        while done < self.bytes.len() {
            let Some(next) = self.find_in_instruction(done, place, scan) else { break };
            done = next;
        }
        done
    }

    /// Looks at one instruction, and returns its end. None if it is not all there.
    fn find_in_instruction(&self, mut at: usize, place: usize, scan: &mut Scan) -> Option<usize> {
        let opcode = self.byte(&mut at)?;
        if opcode != EXTENDED {
            self.skip_operands(opcode, &mut at)?;
            return Some(at);
        }
        let length = usize::try_from(self.number(&mut at)?).ok()?;
        let end = at.checked_add(length)?;
        if length > 0 {
            match *self.bytes.get(at)? {
                SET_ADDRESS if scan.begin.is_none() => scan.begin = Some(self.address(at + 1, end)?),
                END_SEQUENCE => {
                    // Code that the linker dropped is left at address 0.
                    let begin = scan.begin.take().filter(|&begin| begin != 0);
                    let (from, until) = (scan.first, place + end);
                    scan.sequences.extend(begin.map(|begin| Sequence { begin, from, until }));
                    scan.first = until;
                }
                _ => {}
            }
        }
        Some(end)
    }

    /// Makes the rows of a sequence. Returns its end. None if the program is damaged there.
    fn rows(&self, mut make: impl FnMut(Row)) -> Option<u64> {
        let mut at = 0;
        let mut row = Row { address: 0, file: 1, line: 1 };
        loop {
            match self.execute(&mut at, &mut row, &mut make)? {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(end) => return Some(end),
            }
        }
    }

    /// Executes an instruction. Breaks with the end of the sequence.
    fn execute(&self, at: &mut usize, row: &mut Row, make: &mut impl FnMut(Row)) -> Option<ControlFlow<u64>> {
        let opcode = self.byte(at)?;
        let steps = |opcode: u8| u64::from((opcode - self.format.opcode_base) / self.format.line_range);
        let mut advance = |steps: u64| {
            row.address = row.address.wrapping_add(self.format.min_instruction_length.wrapping_mul(steps));
        };
        match opcode {
            opcode if opcode >= self.format.opcode_base => {
                advance(steps(opcode));
                let lines = self.format.line_base
                    + i64::from((opcode - self.format.opcode_base) % self.format.line_range);
                row.line = row.line.wrapping_add_signed(lines);
                make(*row);
            }
            EXTENDED => {
                let length = usize::try_from(self.number(at)?).ok()?;
                let end = at.checked_add(length)?;
                match self.bytes.get(*at) {
                    Some(&END_SEQUENCE) => return Some(ControlFlow::Break(row.address)),
                    Some(&SET_ADDRESS) => row.address = self.address(*at + 1, end)?,
                    _ => {}
                }
                *at = end;
            }
            COPY => make(*row),
            ADVANCE_PC => advance(self.number(at)?),
            ADVANCE_LINE => row.line = row.line.wrapping_add_signed(self.signed(at)?),
            SET_FILE => row.file = self.number(at)?,
            CONST_ADD_PC => advance(steps(u8::MAX)),
            FIXED_ADVANCE_PC => {
                let [low, high] = [self.byte(at)?, self.byte(at)?];
                row.address = row.address.wrapping_add(u16::from_le_bytes([low, high]).into());
            }
            _ => self.skip_operands(opcode, at)?,
        }
        Some(ControlFlow::Continue(()))
    }

    #[inline]
    fn skip_operands(&self, opcode: u8, at: &mut usize) -> Option<()> {
        match opcode {
            opcode if opcode >= self.format.opcode_base => {}
            FIXED_ADVANCE_PC => *at += 2,
            _ => {
                for _ in 0..*self.format.operands.get(usize::from(opcode) - 1)? {
                    self.number(at)?;
                }
            }
        }
        Some(())
    }

    #[inline]
    fn byte(&self, at: &mut usize) -> Option<u8> {
        let byte = *self.bytes.get(*at)?;
        *at += 1;
        Some(byte)
    }

    #[inline]
    fn number(&self, at: &mut usize) -> Option<u64> {
        unsigned(self.bytes, at)
    }

    /// A signed number in LEB128: its highest bit is that of the sign.
    fn signed(&self, at: &mut usize) -> Option<i64> {
        let begin = *at;
        let number = self.number(at)?;
        let unused = 64_usize.saturating_sub(7 * (*at - begin));
        Some((number << unused) as i64 >> unused)
    }

    /// The address that an instruction sets.
    fn address(&self, from: usize, to: usize) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes.get(from..to)?.try_into().ok()?))
    }
}

/// The full path of a file of the unit's line program, which was compiled in some directory.
pub(crate) fn file_path<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    file: u64,
    compiled_in: Option<&str>,
) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let entry = header.file(file)?;
    let mut path = compiled_in.unwrap_or_default().to_owned();
    // In DWARF 4 directory 0 is the compilation directory itself and has no entry.
    if let Some(directory) = entry.directory(header)
        && let Some(directory) = dwarf.string(unit, directory)
    {
        join(&mut path, &directory);
    }
    join(&mut path, &dwarf.string(unit, entry.path_name())?);
    Some(path)
}

fn join(path: &mut String, next: &str) {
    if next.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(next);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use crate::dwarf::testing;

    /// The sequences of a unit with their rows and ends, by first address.
    type Table = Vec<(u64, Vec<Row>, u64)>;

    fn by_definition(program: IncompleteLineProgram<Slice<'_>>) -> Table {
        let mut table = Table::new();
        let mut rows = program.rows();
        let mut sequence = Vec::new();
        while let Some((_, row)) = rows.next_row().unwrap() {
            if row.end_sequence() {
                let rows = std::mem::take(&mut sequence);
                table.push((rows.first().map_or(0, |row: &Row| row.address), rows, row.address()));
            } else {
                let line = row.line().map_or(0, |line| line.get());
                sequence.push(Row { address: row.address(), file: row.file_index(), line });
            }
        }
        table.retain(|sequence| sequence.0 != 0);
        table.sort_by_key(|sequence| sequence.0);
        table
    }

    #[test]
    fn all_rows_of_this_program_are_made() {
        let program = Program::current().unwrap();
        let dwarf = program.dwarf();
        let mut found = 0;
        testing::each_unit(&program, |offset, unit| {
            let Some(expected) = unit.line_program.clone() else { return };
            let table = program.table(&dwarf, offset).unwrap();
            let lines = table.lines(&dwarf).unwrap();
            let made: Table = lines
                .sequences
                .iter()
                .map(|sequence| {
                    let mut rows = Vec::new();
                    let end = lines.rows(&dwarf, sequence, |row| rows.push(row)).unwrap();
                    (sequence.begin, rows, end)
                })
                .collect();
            assert!(made == by_definition(expected), "unit {offset:#x}");
            found += made.len();
            for (begin, rows, end) in &made {
                assert_eq!(lines.find(&dwarf, *begin).map(|found| found.0), Some(rows[0].file));
                assert!(lines.find(&dwarf, *end).is_none_or(|_| made.iter().any(|other| other.0 == *end)));
            }
        });
        assert!(found > 1000, "{found} sequences");
    }

    #[test]
    fn signed_numbers_keep_their_sign() {
        for (instructions, expected) in
            [(&[0x7f][..], -1), (&[0x3f], 63), (&[0x40], -64), (&[0x80, 0x7f], -128), (&[0xff, 0], 127)]
        {
            let format = Format {
                min_instruction_length: 1,
                opcode_base: 13,
                line_base: -5,
                line_range: 14,
                operands: Vec::new(),
            };
            assert_eq!(Instructions { bytes: instructions, format: &format }.signed(&mut 0), Some(expected));
        }
    }
}
