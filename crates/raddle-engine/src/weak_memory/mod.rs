//! Weak memory for sampled executions: the history of stores of each location, and which of them a read may see.
//!
//! Pure: threads, locations and values come in, values come out.

mod history;
mod memory;
mod table;

#[cfg(test)]
mod tests;

pub use memory::{Access, Memory, StoreId, Touched, Trust};
pub use table::Location;
