//! Locals and parameters of a function that keeps its frame pointer.

use gimli::{AttributeValue, Operation};

use crate::dwarf::{Entry, Offset, reference};
use crate::types::Types;

/// A local or parameter that lives in the frame, or one of another function that a closure captures by reference.
pub(crate) struct Local {
    pub(crate) name: String,
    /// The offset from the frame pointer: of the local, or of the first pointer to it.
    offset: i64,
    /// The pointers to a captured local: each is followed, and the number of bytes added.
    pointers: Vec<u64>,
    pub(crate) of: Offset,
}

impl Local {
    /// The address. None if a pointer cannot be read.
    pub(crate) fn address(
        &self,
        frame_pointer: u64,
        mut read: impl FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        let begin = frame_pointer.wrapping_add_signed(self.offset);
        self.pointers.iter().try_fold(begin, |address, offset| Some(read(address)?.wrapping_add(*offset)))
    }

    /// Whether it lies in the frame itself.
    pub(crate) fn is_in_frame(&self) -> bool {
        self.pointers.is_empty()
    }
}

/// The locals in scope at a code address of a function, innermost scopes last.
///
/// Only those of the program's own functions that have an offset from the frame pointer, or a pointer to them has, as in
/// unoptimised code.
pub(crate) fn in_scope<'d>(types: &Types<'_, 'd>, function: Offset, address: u64) -> Vec<Local> {
    let mut locals = Vec::new();
    let Ok(mut entries) = types.unit.entries_raw(Some(function)) else { return locals };
    let mut entry = Entry::null();
    if !matches!(entries.read_entry(&mut entry), Ok(true)) || !based_on_frame_pointer(types, &entry) {
        return locals;
    }
    // The functions around the current entry, with their depths, and whether they are the standard library's: `dst` of
    // `atomic_store` would be a name for everything.
    let mut functions = vec![(0, is_of_std(types, &entry))];
    // The depth of a scope that does not hold the address: everything below it is stepped over.
    let mut outside = isize::MAX;
    while entries.next_depth() > 0 {
        match entries.read_entry(&mut entry) {
            Ok(true) if entry.depth() > outside => continue,
            Ok(true) => outside = isize::MAX,
            Ok(false) => continue,
            Err(_) => break,
        }
        while functions.last().is_some_and(|&(depth, _)| depth >= entry.depth()) {
            functions.pop();
        }
        match entry.tag() {
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                if !types.dwarf.covers(types.unit, &entry, address) {
                    outside = entry.depth();
                } else if entry.tag() == gimli::DW_TAG_inlined_subroutine {
                    functions.push((entry.depth(), is_of_std(types, &entry)));
                }
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                if functions.last().is_none_or(|(_, std)| !std) {
                    locals.extend(local(types, &entry));
                }
            }
            _ => outside = entry.depth(),
        }
    }
    locals
}

/// Whether a function was declared in the standard library's namespaces.
fn is_of_std<'d>(types: &Types<'_, 'd>, function: &Entry<'d>) -> bool {
    let declared = |entry: &Entry<'d>| {
        reference(entry, gimli::DW_AT_abstract_origin)
            .or_else(|| reference(entry, gimli::DW_AT_specification))
    };
    // An inlined call, which lies wherever it was inlined, refers to the function's abstract entry, and that to its
    // declaration.
    let inlined = function.tag() == gimli::DW_TAG_inlined_subroutine;
    let mut at = if inlined { declared(function) } else { Some(function.offset()) };
    for _ in 0..3 {
        let Some(offset) = at else { return false };
        if types.table.is_std(offset) {
            return true;
        }
        at = types.unit.entry(offset).ok().as_ref().and_then(declared);
    }
    false
}

fn based_on_frame_pointer(types: &Types<'_, '_>, function: &Entry<'_>) -> bool {
    let Some(AttributeValue::Exprloc(base)) = function.attr_value(gimli::DW_AT_frame_base) else {
        return false;
    };
    let mut operations = base.operations(types.unit.encoding());
    // rbp on x86-64, x29 on aarch64.
    matches!(operations.next(), Ok(Some(Operation::Register { register: gimli::Register(6 | 29) })))
}

fn local<'d>(types: &Types<'_, 'd>, entry: &Entry<'d>) -> Option<Local> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
    let mut operations = expression.operations(types.unit.encoding());
    let Operation::FrameOffset { mut offset } = operations.next().ok()?? else { return None };
    let mut pointers: Vec<u64> = Vec::new();
    while let Some(operation) = operations.next().ok()? {
        match (operation, pointers.last_mut()) {
            (Operation::Deref { space: false, .. }, _) => pointers.push(0),
            (Operation::PlusConstant { value }, Some(last)) => *last = last.wrapping_add(value),
            (Operation::PlusConstant { value }, None) => offset = offset.wrapping_add_unsigned(value),
            _ => return None,
        }
    }
    // A variable of an inlined function has its name and type where the function was written.
    let origin = reference(entry, gimli::DW_AT_abstract_origin);
    let origin = origin.and_then(|origin| types.unit.entry(origin).ok());
    let described = origin.as_ref().unwrap_or(entry);
    let mut name = types.dwarf.text(types.unit, described, gimli::DW_AT_name)?;
    if !pointers.is_empty() {
        // A closure that uses a field captures the field alone: `report__outcome`.
        name = name.replace("__", ".");
    }
    Some(Local { name, offset, pointers, of: reference(described, gimli::DW_AT_type)? })
}
