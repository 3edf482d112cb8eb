//! What a failure is, once it has left the engine: plain data, a versioned file, a page in the terminal.
//!
//! **Invariant:** nothing here knows how an execution is produced. The engine's world arrives as [`Failure`]; every
//! renderer (terminal, and later HTML, SARIF, the debugger) reads that one model.
//!
//! - [`failure`]: the model.
//! - [`file`](mod@file): the failure file, its errors and its format (`FORMAT.md`).
//! - [`graph`]: the execution graph: what read what, what happened before what, and why that was possible.
//! - [`picture`]: the execution graph drawn, in the terminal, for Graphviz and as SVG.
//! - [`terminal`]: the page in the terminal.
#![forbid(unsafe_code)]

pub mod failure;
pub mod file;
pub mod graph;
pub mod picture;
pub mod terminal;

pub use failure::{Failure, Kind};
pub use file::FileError;
pub use picture::{NoGraph, render_graph, to_dot, to_svg};
pub use terminal::{Style, render, render_why};
