//! The line table of one unit: where its sequences begin. The rows of a sequence are made each time they are asked for, because that of
//! a large unit has a million rows, and few are of interest.

use std::ops::ControlFlow;

use crate::dwarf::{Dwarf, Slice, Unit};
use crate::entries::unsigned;

/// The sequences of a unit, by their first address.
pub(crate) struct Lines {
    sequences: Vec<Sequence>,
}

struct Sequence {
    begin: u64,
    /// The offset of its first instruction in the line program.
    at: usize,
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

/// A line program: the instructions that make the rows.
struct LineProgram<'a> {
    instructions: &'a [u8],
    min_instruction_length: u64,
    /// The first opcode that makes a row.
    opcode_base: u8,
    line_base: i64,
    line_range: u8,
    /// The number of operands of each opcode below.
    operands: &'a [u8],
}

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
    /// Finds the sequences of a unit. A damaged program has those before the damage.
    pub(crate) fn read(unit: &Unit<'_>) -> Lines {
        let mut sequences = Vec::new();
        if let Some(program) = LineProgram::of(unit) {
            program.find_sequences(&mut sequences);
        }
        sequences.sort_unstable_by_key(|sequence| sequence.begin);
        Lines { sequences }
    }

    /// The file (as the line program numbers it) and line of the code at an address.
    pub(crate) fn find(&self, unit: &Unit<'_>, address: u64) -> Option<(u64, Option<u32>)> {
        let program = LineProgram::of(unit)?;
        let after = self.sequences.partition_point(|sequence| sequence.begin <= address);
        let sequence = self.sequences[..after].last()?;
        let mut found = None;
        let end = program.rows(sequence.at, |row| {
            if row.address <= address {
                found = Some(row);
            }
        })?;
        let row = found.filter(|_| address < end)?;
        Some((row.file, (row.line != 0).then_some(row.line as u32)))
    }
}

impl<'a> LineProgram<'a> {
    fn of(unit: &Unit<'a>) -> Option<LineProgram<'a>> {
        let header = unit.line_program.as_ref()?.header();
        let bytes = |slice: &Slice<'a>| slice.slice();
        (header.line_range() != 0 && header.opcode_base() != 0).then(|| LineProgram {
            instructions: bytes(&header.raw_program_buf()),
            min_instruction_length: header.minimum_instruction_length().into(),
            opcode_base: header.opcode_base(),
            line_base: header.line_base().into(),
            line_range: header.line_range(),
            operands: bytes(header.standard_opcode_lengths()),
        })
    }

    /// Steps through all instructions, and looks only at those that begin and end sequences.
    fn find_sequences(&self, sequences: &mut Vec<Sequence>) -> Option<()> {
        let (mut at, mut begin, mut first) = (0, None, 0);
        while at < self.instructions.len() {
            let opcode = self.byte(&mut at)?;
            match opcode {
                EXTENDED => {
                    let length = usize::try_from(self.number(&mut at)?).ok()?;
                    let end = at.checked_add(length)?;
                    match self.instructions.get(at) {
                        Some(&SET_ADDRESS) if begin.is_none() => begin = Some(self.address(at + 1, end)?),
                        Some(&END_SEQUENCE) => {
                            // Code that the linker dropped is left at address 0.
                            let begin = begin.take().filter(|&begin| begin != 0);
                            sequences.extend(begin.map(|begin| Sequence { begin, at: first }));
                            first = end;
                        }
                        _ => {}
                    }
                    at = end;
                }
                _ => self.skip_operands(opcode, &mut at)?,
            }
        }
        Some(())
    }

    /// Makes the rows of the sequence whose first instruction is at an offset. Returns its end. None if the program is damaged there.
    fn rows(&self, mut at: usize, mut make: impl FnMut(Row)) -> Option<u64> {
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
        let steps = |opcode: u8| u64::from((opcode - self.opcode_base) / self.line_range);
        let mut advance = |steps: u64| {
            row.address = row.address.wrapping_add(self.min_instruction_length.wrapping_mul(steps));
        };
        match opcode {
            opcode if opcode >= self.opcode_base => {
                advance(steps(opcode));
                let lines = self.line_base + i64::from((opcode - self.opcode_base) % self.line_range);
                row.line = row.line.wrapping_add_signed(lines);
                make(*row);
            }
            EXTENDED => {
                let length = usize::try_from(self.number(at)?).ok()?;
                let end = at.checked_add(length)?;
                match self.instructions.get(*at) {
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
            opcode if opcode >= self.opcode_base => {}
            FIXED_ADVANCE_PC => *at += 2,
            _ => {
                for _ in 0..*self.operands.get(usize::from(opcode) - 1)? {
                    self.number(at)?;
                }
            }
        }
        Some(())
    }

    #[inline]
    fn byte(&self, at: &mut usize) -> Option<u8> {
        let byte = *self.instructions.get(*at)?;
        *at += 1;
        Some(byte)
    }

    #[inline]
    fn number(&self, at: &mut usize) -> Option<u64> {
        unsigned(self.instructions, at)
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
        Some(u64::from_le_bytes(self.instructions.get(from..to)?.try_into().ok()?))
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
    use crate::units::UnitTable;

    /// The sequences of a unit with their rows and ends, by first address.
    type Table = Vec<(u64, Vec<Row>, u64)>;

    fn by_definition(unit: &Unit<'_>) -> Table {
        let mut table = Table::new();
        let mut rows = unit.line_program.clone().unwrap().rows();
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
        for &offset in program.unit_offsets(&dwarf) {
            let table = UnitTable::read(&dwarf, offset).unwrap();
            let unit = table.unit_with_lines(&dwarf).unwrap();
            let Some(instructions) = LineProgram::of(&unit) else { continue };
            let lines = Lines::read(&unit);
            let made: Table = lines
                .sequences
                .iter()
                .map(|sequence| {
                    let mut rows = Vec::new();
                    let end = instructions.rows(sequence.at, |row| rows.push(row)).unwrap();
                    (sequence.begin, rows, end)
                })
                .collect();
            assert!(made == by_definition(&unit), "unit {offset:#x}");
            found += made.len();
            for (begin, rows, end) in &made {
                assert_eq!(lines.find(&unit, *begin).map(|found| found.0), Some(rows[0].file));
                assert!(lines.find(&unit, *end).is_none_or(|_| made.iter().any(|other| other.0 == *end)));
            }
        }
        assert!(found > 1000, "{found} sequences");
    }

    #[test]
    fn signed_numbers_keep_their_sign() {
        for (instructions, expected) in
            [(&[0x7f][..], -1), (&[0x3f], 63), (&[0x40], -64), (&[0x80, 0x7f], -128), (&[0xff, 0], 127)]
        {
            let program = LineProgram {
                instructions,
                min_instruction_length: 1,
                opcode_base: 13,
                line_base: -5,
                line_range: 14,
                operands: &[],
            };
            assert_eq!(program.signed(&mut 0), Some(expected));
        }
    }
}
