//! Programs with loops, arrays and locks.

pub mod classics;
pub mod locks;
pub mod structures;
