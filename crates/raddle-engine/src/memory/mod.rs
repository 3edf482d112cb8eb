//! Memory models: what happened before what, and which values a read may see.

pub mod clock;
pub mod sync;
