//! Programs with loops, arrays and locks.

pub mod classics;
pub mod containers;
pub mod locks;
pub mod structures;
pub mod synthetic;
