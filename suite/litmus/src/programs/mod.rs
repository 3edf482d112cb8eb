//! Programs with loops, arrays and locks.

pub mod attempts;
pub mod classics;
pub mod containers;
pub mod kernel;
pub mod locks;
pub mod structures;
pub mod synthetic;
pub mod waits;
