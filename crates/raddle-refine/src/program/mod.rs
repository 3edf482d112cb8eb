//! Rust programs made of a specification: drivers for batches of schemas, and tests to keep.

mod calls;
mod driver;
mod manifest;
mod standalone;

pub use driver::{Driver, Tester, driver};
pub use manifest::{Origin, manifest};
pub use standalone::{Kept, standalone};
