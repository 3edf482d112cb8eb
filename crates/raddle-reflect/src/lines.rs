//! The line table of one unit, kept as a sorted list of rows.

use crate::dwarf::{Dwarf, Unit};

pub(crate) struct Lines {
    /// By `begin`.
    sequences: Vec<Sequence>,
}

struct Sequence {
    begin: u64,
    end: u64,
    /// By address.
    rows: Vec<Row>,
}

struct Row {
    address: u64,
    file: u64,
    line: u32,
}

impl Lines {
    pub(crate) fn read(unit: &Unit<'_>) -> Lines {
        let mut sequences = Vec::new();
        if let Some(program) = unit.line_program.clone() {
            let mut rows = program.rows();
            let mut sequence = Vec::new();
            while let Ok(Some((_, row))) = rows.next_row() {
                if row.end_sequence() {
                    let rows: Vec<Row> = std::mem::take(&mut sequence);
                    // Code that the linker dropped is left at address 0.
                    if let Some(first) = rows.first()
                        && first.address != 0
                    {
                        sequences.push(Sequence { begin: first.address, end: row.address(), rows });
                    }
                    continue;
                }
                let line = row.line().map_or(0, |line| line.get() as u32);
                sequence.push(Row { address: row.address(), file: row.file_index(), line });
            }
        }
        sequences.sort_unstable_by_key(|s| s.begin);
        Lines { sequences }
    }

    /// The file (as the line program numbers it) and line of the code at an address.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, Option<u32>)> {
        let after = self.sequences.partition_point(|s| s.begin <= address);
        let sequence = self.sequences[..after].last().filter(|s| address < s.end)?;
        let after = sequence.rows.partition_point(|r| r.address <= address);
        let row = sequence.rows[..after].last()?;
        Some((row.file, (row.line != 0).then_some(row.line)))
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
