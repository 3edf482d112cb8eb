//! Memory models: what happened before what, and which values a read may see.
//!
//! Pure: threads, places and values come in, values come out; nothing here knows the engine.

pub mod clock;
mod history;
pub mod sync;
mod table;
pub mod weak;

#[cfg(test)]
mod tests;

pub use table::Place;
pub use weak::{Access, Memory, StoreId, Touched, Trust};

/// Which values a read may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Sequential consistency: the newest.
    #[default]
    Sc,
    /// Those that C++20 allows, as repaired in RC11: a read may see an older one.
    Rc11,
}
