//! Named fields of the state in a monitor.

use std::cell::Cell;
use std::fmt::Debug;

use crate::step;

/// A field whose reads and writes are [marked](crate::step): the trace of a failure shows `Read count -> 0` and `Write count = 1`.
///
/// A field is no synchronisation of its own, and cannot be shared between threads; the state of a [`Monitor`](crate::Monitor) may have
/// fields.
///
/// ```
/// use raddle_monitor::Field;
///
/// let count = Field::new("count", 0);
/// count.set(count.get() + 1);
/// assert_eq!(count.get(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Field<T: Copy> {
    name: &'static str,
    value: Cell<T>,
}

impl<T: Copy + Debug> Field<T> {
    /// A field with this name and value.
    pub const fn new(name: &'static str, value: T) -> Field<T> {
        Field { name, value: Cell::new(value) }
    }

    /// Reads the field.
    #[inline]
    pub fn get(&self) -> T {
        step(format_args!("Read {}", self.name), || self.value.get())
    }

    /// Writes the field.
    #[inline]
    pub fn set(&self, value: T) {
        step(format_args!("Write {} = {value:?}", self.name), || self.value.set(value));
    }

    /// Writes what the function makes of the value: a read and a write, between which other threads may run.
    #[inline]
    pub fn update(&self, change: impl FnOnce(T) -> T) {
        self.set(change(self.get()));
    }
}
