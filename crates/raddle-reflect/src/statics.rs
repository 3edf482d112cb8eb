//! The types of statics, by crate: found when a name with a field is first asked for.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{DebugInfo, DebugInfoOffset};

use crate::dwarf::{Dwarf, Entry, Offset, Slice, reference, slice};
use crate::types::fixed_address;
use crate::units::UnitTable;

/// The statics of one crate, by address.
pub(crate) type Statics = HashMap<u64, StaticType>;

#[derive(Clone)]
pub(crate) struct StaticType {
    pub(crate) table: Arc<UnitTable>,
    pub(crate) of: Offset,
}

/// The units of each crate: only those that can hold a static are ever searched.
pub(crate) fn units_by_crate(dwarf: &Dwarf<'_>) -> HashMap<String, Vec<usize>> {
    let mut crates: HashMap<String, Vec<usize>> = HashMap::new();
    let units = dwarf.all_units();
    let mut headers = DebugInfo::from(slice(&units)).units();
    while let Ok(Some(header)) = headers.next() {
        let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else { continue };
        let Some(name) = unit_name(dwarf, header) else { continue };
        // rustc names its units `src/lib.rs/@/my_crate.1c1bd0d9-cgu.0`.
        if let Some((_, name)) = name.rsplit_once("/@/")
            && let Some((name, _)) = name.split_once('.')
        {
            crates.entry(name.to_owned()).or_default().push(offset);
        }
    }
    crates
}

fn unit_name<'a>(dwarf: &Dwarf<'a>, header: gimli::UnitHeader<Slice<'a>>) -> Option<String> {
    let unit = dwarf.unit(header).ok()?;
    let root = unit.entry(unit.header.root_offset()).ok()?;
    dwarf.text(&unit, &root, gimli::DW_AT_name)
}

pub(crate) fn read(tables: &[Arc<UnitTable>]) -> Statics {
    let mut statics = Statics::new();
    for table in tables {
        // A unit that cannot be read has no names to give.
        let _ = read_unit(table, &mut statics);
    }
    statics
}

fn read_unit(table: &Arc<UnitTable>, statics: &mut Statics) -> gimli::Result<()> {
    let unit = table.unit()?;
    let mut entries = unit.entries_raw(None)?;
    let mut entry = Entry::null();
    while !entries.is_empty() {
        let mut ahead = entries.clone();
        let Some(abbreviation) = ahead.read_abbreviation()? else {
            entries = ahead;
            continue;
        };
        if abbreviation.tag() != gimli::DW_TAG_variable {
            ahead.skip_attributes(abbreviation.attributes())?;
            entries = ahead;
            continue;
        }
        entries.read_entry(&mut entry)?;
        if let Some(address) = fixed_address(&unit, &entry)
            && let Some(of) = reference(&entry, gimli::DW_AT_type)
        {
            statics.insert(address, StaticType { table: table.clone(), of });
        }
    }
    Ok(())
}
