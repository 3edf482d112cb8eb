//! What exhaustive search is held against: programs, and an oracle that knows their executions from the axioms of the memory
//! models alone.
//!
//! A program is written once, over a [`Machine`]. On [`Real`] it runs on std's threads and atomics, under Raddle. On
//! [`Abstract`](oracle::Abstract) the [`oracle`] answers each of its accesses, and so enumerates every execution graph that the
//! axioms allow. [`check`](mod@check) holds one against the other.
//!
//! Litmus tests and random programs are data in the [`notation`]; [`program`] interprets them on any machine.
//!
//! The oracle knows nothing of Raddle; it is right or wrong by itself.

pub mod catalogue;
pub mod check;
pub mod machine;
pub mod oracle;
pub mod program;
pub mod programs;

pub use machine::{Atomic, Lock, Machine, Real, Test};
pub use notation::random;
pub use oracle::Model;
pub use program::{Interpret, Program};
