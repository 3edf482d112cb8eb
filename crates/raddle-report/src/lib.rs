//! What a failure is, once it has left the engine: plain data, a versioned file, a page in the terminal.
//!
//! **Invariant:** nothing here knows how an execution is produced. The engine's world arrives as [`Failure`]; every
//! renderer (terminal, and later HTML, SARIF, the debugger) reads that one model.
#![forbid(unsafe_code)]

pub mod failure;

pub use failure::{Failure, Kind};
