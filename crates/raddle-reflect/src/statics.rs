//! The types of statics, by unit: read when the first name with a field is needed.

use std::collections::HashMap;

use crate::dwarf::{Dwarf, Offset, reference};
use crate::types::fixed_address;
use crate::units::UnitTable;

/// The types of a unit's statics, by their addresses in the file.
pub(crate) type Statics = HashMap<u64, Offset>;

/// Reads the statics of a unit; one that cannot be read has none.
pub(crate) fn read(dwarf: &Dwarf<'_>, table: &UnitTable) -> Statics {
    let mut statics = Statics::new();
    // A damaged entry ends the list.
    let _ = table.for_each_entry(dwarf, |_, step, unit, here| {
        if step.tag == gimli::DW_TAG_variable {
            let entry = unit.entry(here)?;
            if let Some(address) = fixed_address(unit, &entry)
                && let Some(of) = reference(&entry, gimli::DW_AT_type)
            {
                statics.insert(address, of);
            }
        }
        Ok(())
    });
    statics
}
