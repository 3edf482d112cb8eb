//! Objects: typed values in memory, from debug information alone.
//!
//! A [`Recorder`] is given roots (an address with a type), and looks at the memory of the program after each event: it follows
//! pointers from the roots, turns every object that it reaches into a [`Datum`](raddle_report::failure::Datum), and says what has
//! changed since it looked last.
//!
//! | module | idea |
//! |---|---|
//! | [`layout`] | types: sizes, members, variants |
//! | [`rules`] | which types are not shown member by member |
//! | [`walk`] | the value of an object: structures, enums, arrays |
//! | [`pointers`] | pointers, counted and tagged ones, trait objects |
//! | [`collections`] | strings, lists, maps |
//! | [`locks`] | locks and cells that are set once |
//! | [`scalars`] | numbers and characters as `Debug` prints them |
//! | [`names`] | types as a person writes them |
//! | [`roots`] | the variable that leads to a location |
//! | [`recorder`] | objects over time, and their changes |
//!
//! **Invariants:** memory is read through [`Space`] alone, which refuses what cannot be read; everything that is read may be
//! garbage, so every number that comes from memory is bounded before it is used. Nothing here knows what an event is.

mod collections;
mod layout;
mod locks;
mod names;
mod pointers;
mod recorder;
mod roots;
mod rules;
mod scalars;
mod table;
mod walk;

pub(crate) use self::layout::Entity;
pub use self::layout::Type;
pub use self::recorder::{Moment, Place, Recorder, Shown};
pub use self::roots::{Found, Owner, Variable};

/// The memory of the program under test, as far as it may be looked at.
pub trait Space {
    /// Reads the bytes at an address; false if not all of them can be read.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// The block of the heap that contains an address; none for memory that is no block, such as statics and stacks.
    fn block(&self, address: u64) -> Option<Block>;
}

/// A block of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address.
    pub start: u64,
    /// The size in bytes.
    pub size: u64,
    /// Whether the block is free.
    pub freed: bool,
}
