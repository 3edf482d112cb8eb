//! Failures after they have left the engine: a data model, a versioned file, and renderers.
//!
//! | module | contents | may use |
//! |---|---|---|
//! | [`failure`] | the failure model | |
//! | [`file`](mod@file) | the failure file and its errors; the format is described in `FORMAT.md` | `failure` |
//! | [`graph`] | the execution graph: linear extension, cycles, RC11 axioms, repairs | `failure` |
//! | `narrative` | the view model: events in words, the interleaving as rows | `failure`, `graph` |
//! | `page` | painted and wrapped lines of text | |
//! | [`terminal`] | the report in the terminal | `failure`, `graph`, `narrative`, `page` |
//! | [`picture`] | drawings of the execution graph: text, Graphviz, SVG | `failure`, `graph`, `narrative`, `page` |
//!
//! `tests/layers.rs` checks the last column.
//!
//! **Invariant:** nothing here knows how an execution is produced. The engine's world arrives as [`Failure`]; every renderer
//! reads that one model.
#![forbid(unsafe_code)]

pub mod failure;
pub mod file;
pub mod graph;
mod narrative;
mod page;
pub mod picture;
pub mod terminal;

pub use failure::{Failure, Kind};
pub use file::FileError;
pub use page::Style;
pub use picture::{NoGraph, render_graph, to_dot, to_svg};
pub use terminal::{render, render_why};
