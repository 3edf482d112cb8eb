//! Random programs over std's primitives, on which all strategies of Raddle and a brute force have to agree.
//!
//! [`program`] is a language for them, [`random`] makes some, [`interpret`] runs one on std, and [`source`] writes one as Rust. The [`oracle`]
//! knows what one may come to; it does not know Raddle. [`check`](mod@check) holds every strategy against it, [`shrink`] makes what differs small,
//! and [`fuzz`] does all that for many programs.
//!
//! [`fair`] is about programs that end under every fair schedule: no strategy may take one for broken.

pub mod atomic;
pub mod check;
pub mod fair;
pub mod fuzz;
pub mod generate;
pub mod interpret;
pub mod oracle;
pub mod program;
pub mod random;
mod repair;
pub mod shrink;
pub mod source;
pub mod world;

pub use program::{Op, Outcome, Program};
