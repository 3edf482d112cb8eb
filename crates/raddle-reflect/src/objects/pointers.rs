//! Pointers: plain, counted and tagged ones, trait objects, functions.

use raddle_report::failure::{Datum, Pointer};

use super::layout::{Layout, Shape, Type};
use super::rules::Rule;
use super::scalars::word;
use super::walk::Walk;

/// The first address that can be that of an object: pointers below are null, or stand for nothing.
const FIRST: u64 = 4096;

impl Walk<'_> {
    /// A pointer to a value of a type.
    pub(super) fn pointer(&mut self, of: &Layout, to: Option<Type>, address: u64) -> Datum {
        let Some(to) = to else { return self.lead(address, 0, None) };
        let is_raw = of.name.starts_with('*');
        // A raw pointer to bytes may lead to anything.
        if is_raw && is_byte(&self.layout(to)) {
            return self.lead(address, 0, None);
        }
        self.pointer_to(to, address)
    }

    fn pointer_to(&mut self, to: Type, address: u64) -> Datum {
        let layout = self.layout(to);
        // The counts before a shared value are hidden.
        if layout.rule == Rule::Counted
            && let Some(data) = layout.counted()
        {
            // An empty `Weak` has all bits set.
            let target =
                if address < FIRST || address == u64::MAX { 0 } else { address.wrapping_add(data.offset) };
            return self.lead(target, 0, Some(data.of));
        }
        let tag = address & (layout.align.max(1) - 1);
        self.lead(address - tag, tag, Some(to))
    }

    /// A pointer whose pointee is the first generic argument of its type, with marks in the bits below its alignment.
    pub(super) fn tagged(&mut self, layout: &Layout, bytes: &[u8]) -> Option<Datum> {
        // Lifetimes are no types, so the first type is the target.
        let to = *layout.arguments.first()?;
        let at = layout.member("data")?.offset as usize;
        Some(self.pointer_to(to, word(bytes.get(at..)?.get(..8)?)))
    }

    /// A trait object: its table of methods says what it is.
    pub(super) fn dynamic(&mut self, layout: &Layout, bytes: &[u8]) -> Option<Datum> {
        let (data, table) = (layout.member("pointer")?, layout.member("vtable")?);
        let word_at = |offset: u64| Some(word(bytes.get(offset as usize..)?.get(..8)?));
        let (address, vtable) = (word_at(data.offset)?, word_at(table.offset)?);
        let Some(entity) = self.program.vtable(vtable) else { return Some(self.lead(address, 0, None)) };
        let of = self.layouts.intern(entity);
        let is_counted = match self.find_pointer(data.of) {
            Some((_, to)) => self.layout(to).rule == Rule::Counted,
            None => false,
        };
        // Two counts come before a shared value, and padding.
        let before = if is_counted { 16_u64.next_multiple_of(self.layout(of).align.max(1)) } else { 0 };
        let address = if address < FIRST { address } else { address.wrapping_add(before) };
        Some(self.lead(address, 0, Some(of)))
    }

    pub(super) fn function(&mut self, address: u64) -> Datum {
        match self.program.function(address.wrapping_add(1)) {
            Some(name) => Datum::Scalar(name),
            None => Datum::Pointer(Pointer { address, ..Pointer::default() }),
        }
    }

    fn lead(&mut self, address: u64, tag: u64, to: Option<Type>) -> Datum {
        if address < FIRST {
            return Datum::Pointer(Pointer { address, tag, ..Pointer::default() });
        }
        let layout = to.map(|to| self.layout(to));
        let pointer = self.targets.target(address, to, self.space, layout.as_deref());
        Datum::Pointer(Pointer { tag, ..pointer })
    }
}

fn is_byte(layout: &Layout) -> bool {
    layout.size == 1 && matches!(layout.shape, Shape::Unsigned)
}
