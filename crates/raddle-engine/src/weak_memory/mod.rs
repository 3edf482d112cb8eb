//! Weak memory of interleavings: the store history of each location, and the stores that a read may read from.
//!
//! **Invariant:** pure: threads, locations and values come in, values come out.

mod history;
mod memory;

#[cfg(test)]
mod tests;

pub use memory::{Access, Memory, StoreId, Touched, Trust};
