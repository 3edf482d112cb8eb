//! Specifications from source code: a type is found by its path, and its methods are read.

mod crates;
mod methods;
mod resolve;
mod write;

pub(crate) use self::crates::Crates;
pub(crate) use self::methods::extract;
pub(crate) use self::resolve::resolve;
pub(crate) use self::write::write;
