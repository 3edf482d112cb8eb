//! Types: their sizes, and the field at an offset.

use gimli::AttributeValue;

use crate::dwarf::{Dwarf, Entry, Offset, Unit, number, reference};
use crate::units::UnitTable;

/// A unit opened for queries about its types.
pub(crate) struct Types<'a, 'd> {
    pub(crate) dwarf: &'a Dwarf<'d>,
    pub(crate) unit: &'a Unit<'d>,
    pub(crate) table: &'a UnitTable,
}

/// Depth limit: deeper than any type that a person wrote; damaged information may form circles.
const DEPTH: u32 = 24;

/// Number of pointers followed from a local: a reference to a handle to the object.
const POINTERS: u32 = 3;

/// Depth of the search for pointers inside a value: `Arc` keeps its own three members down.
const MEMBERS: u32 = 4;

impl<'d> Types<'_, 'd> {
    pub(crate) fn size(&self, of: Offset) -> Option<u64> {
        self.size_within(of, DEPTH)
    }

    /// The path to `offset` bytes into a value: `.field`, `[3]`, `.0.next`, or `+8` where the type does not tell. Empty
    /// for the value itself.
    pub(crate) fn path(&self, of: Offset, offset: u64) -> String {
        let mut path = String::new();
        self.push_path(of, offset, &mut path, DEPTH);
        path
    }

    /// The type that a pointer or reference points to.
    pub(crate) fn pointee(&self, of: Offset) -> Option<Offset> {
        let entry = self.unit.entry(of).ok()?;
        if entry.tag() != gimli::DW_TAG_pointer_type {
            return None;
        }
        reference(&entry, gimli::DW_AT_type)
    }

    /// The members of a structure with their offsets.
    pub(crate) fn members(&self, of: Offset) -> Vec<Member> {
        let mut members = Vec::new();
        self.for_children(of, |entry| {
            if entry.tag() == gimli::DW_TAG_member
                && let Some(offset) = number(entry, gimli::DW_AT_data_member_location)
                && let Some(of) = reference(entry, gimli::DW_AT_type)
            {
                members.push(Member { entry: entry.offset(), offset, of });
            }
        });
        members
    }

    /// The text of a member after a value: empty for the insides of the standard library's types, which nobody knows by
    /// name.
    pub(crate) fn member_name(&self, of: Offset, member: &Member) -> String {
        let name = |entry: Offset| {
            let entry = self.unit.entry(entry).ok()?;
            self.dwarf.text(self.unit, &entry, gimli::DW_AT_name)
        };
        let field = name(member.entry).unwrap_or_else(|| "?".to_owned());
        // The rest tells two atomics of one lock apart.
        if self.table.is_std(of) && !matches!(field.as_str(), "poison" | "writer_notify") {
            return String::new();
        }
        if name(of).is_some_and(|name| name.starts_with("CachePadded<")) {
            return String::new();
        }
        let index = field.strip_prefix("__").filter(|index| index.parse::<u32>().is_ok());
        format!(".{}", index.unwrap_or(&field))
    }

    /// The path from a value at `base` through its pointers to an address.
    ///
    /// `read` reads eight bytes of memory.
    pub(crate) fn path_via(
        &self,
        of: Offset,
        base: u64,
        address: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<String> {
        self.follow(of, base, address, read, POINTERS, MEMBERS)
    }

    /// The first value that a variable leads to which is no pointer: its address and its type.
    pub(crate) fn target(
        &self,
        of: Offset,
        base: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
        pointers: u32,
    ) -> Option<(u64, Offset)> {
        if let Some(to) = self.pointee(of) {
            return self.target(to, read(base)?, read, pointers.checked_sub(1)?);
        }
        // Handles of the standard library have one member of a size: the pointer.
        let is_handle = self.table.is_std(of) && self.size(of) == Some(8);
        let inner = is_handle.then(|| self.members(of)).and_then(|members| {
            let sized = members.into_iter().find(|member| self.size(member.of) == Some(8))?;
            let is_pointer = |of: Offset| self.pointee(of).is_some();
            let inside = self.members(sized.of).into_iter().any(|member| is_pointer(member.of));
            (is_pointer(sized.of) || inside).then_some(sized)
        });
        match inner {
            Some(member) => self.target(member.of, base.wrapping_add(member.offset), read, pointers),
            None => Some((base, of)),
        }
    }

    fn follow(
        &self,
        of: Offset,
        base: u64,
        address: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
        pointers: u32,
        members: u32,
    ) -> Option<String> {
        if let Some(to) = self.pointee(of) {
            let pointers = pointers.checked_sub(1)?;
            let target = read(base)?;
            let size = self.size(to)?;
            return match address.checked_sub(target) {
                Some(offset) if offset < size => Some(self.path(to, offset)),
                _ => self.follow(to, target, address, read, pointers, MEMBERS),
            };
        }
        if self.unit.entry(of).ok()?.tag() != gimli::DW_TAG_structure_type {
            return None;
        }
        let members = members.checked_sub(1)?;
        self.members(of).iter().find_map(|member| {
            let path =
                self.follow(member.of, base.wrapping_add(member.offset), address, read, pointers, members)?;
            Some(self.member_name(of, member) + &path)
        })
    }

    fn size_within(&self, of: Offset, depth: u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let entry = self.unit.entry(of).ok()?;
        if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(8),
            gimli::DW_TAG_array_type => {
                let element = reference(&entry, gimli::DW_AT_type)?;
                self.count(of)?.checked_mul(self.size_within(element, depth)?)
            }
            _ => self.size_within(reference(&entry, gimli::DW_AT_type)?, depth),
        }
    }

    fn push_path(&self, of: Offset, offset: u64, path: &mut String, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let Ok(entry) = self.unit.entry(of) else { return };
        match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                let inside = self.members(of).into_iter().find(|member| {
                    let size = self.size(member.of).unwrap_or(0);
                    offset.checked_sub(member.offset).is_some_and(|inside| inside < size)
                });
                if let Some(member) = inside {
                    path.push_str(&self.member_name(of, &member));
                    return self.push_path(member.of, offset - member.offset, path, depth);
                }
                if self.table.is_std(of) {
                    return;
                }
            }
            gimli::DW_TAG_array_type => {
                let element = reference(&entry, gimli::DW_AT_type);
                if let Some(element) = element
                    && let Some(size @ 1..) = self.size(element)
                {
                    path.push_str(&format!("[{}]", offset / size));
                    return self.push_path(element, offset % size, path, depth);
                }
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                if let Some(inner) = reference(&entry, gimli::DW_AT_type) {
                    return self.push_path(inner, offset, path, depth);
                }
            }
            _ => {}
        }
        if offset > 0 {
            path.push_str(&format!("+{offset}"));
        }
    }

    pub(crate) fn count(&self, array: Offset) -> Option<u64> {
        let mut count = None;
        self.for_children(array, |entry| {
            if entry.tag() == gimli::DW_TAG_subrange_type {
                count = number(entry, gimli::DW_AT_count)
                    .or_else(|| number(entry, gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1)));
            }
        });
        count
    }

    pub(crate) fn for_children(&self, of: Offset, mut each: impl FnMut(&Entry<'d>)) {
        let Ok(mut entries) = self.unit.entries_raw(Some(of)) else { return };
        let mut entry = Entry::null();
        if !matches!(entries.read_entry(&mut entry), Ok(true)) || !entry.has_children() {
            return;
        }
        while entries.next_depth() > 0 {
            match entries.read_entry(&mut entry) {
                Ok(true) if entry.depth() == 1 => each(&entry),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// A field of a structure.
pub(crate) struct Member {
    entry: Offset,
    pub(crate) offset: u64,
    pub(crate) of: Offset,
}

/// The fixed address in an expression such as `DW_OP_addr 0x1000`.
pub(crate) fn fixed_address(unit: &Unit<'_>, entry: &Entry<'_>) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
    let mut operations = expression.operations(unit.encoding());
    match (operations.next().ok()??, operations.next().ok()?) {
        (gimli::Operation::Address { address }, None) => Some(address),
        _ => None,
    }
}
