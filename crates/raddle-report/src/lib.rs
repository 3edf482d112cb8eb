//! Failures after they have left the engine: a data model, a versioned file, and renderers.
//!
//! | module | contents | may use |
//! |---|---|---|
//! | [`failure`] | the failure model | |
//! | [`file`](mod@file) | the failure file and its errors; the format is described in `FORMAT.md` | `failure` |
//! | [`graph`] | the execution graph: linear extension, cycles, RC11 axioms, repairs | `failure` |
//! | `narrative` | the view model: events in words, the interleaving as rows | `failure`, `graph` |
//! | `page` | painted and wrapped lines of text; text in XML | |
//! | [`terminal`] | the report in the terminal | `failure`, `graph`, `narrative`, `page` |
//! | `picture` | drawings of the execution graph: text, Graphviz, SVG; with the feature `picture` | `failure`, `graph`, `narrative`, `page` |
//! | `html` | the report as a page for browsers; with the feature `html` | all of the above |
//! | `query` | questions about a failure and their answers, described in `QUERY.md`; with the feature `query` | `failure`, `graph`, `narrative`, `page` |
//! | `export` | other formats, behind the feature of that name: SARIF, annotations, JUnit, diagrams, traces | `failure`, `narrative`, `page` |
//!
//! `tests/layers.rs` checks the last column.
//!
//! **Invariant:** nothing here knows how an execution is produced. The engine's world arrives as [`Failure`]; every renderer
//! reads that one model.
#![forbid(unsafe_code)]

#[cfg(feature = "ci")]
pub mod export;
pub mod failure;
pub mod file;
pub mod graph;
#[cfg(feature = "html")]
pub mod html;
mod narrative;
mod page;
#[cfg(feature = "picture")]
pub mod picture;
#[cfg(feature = "query")]
pub mod query;
pub mod terminal;

pub use failure::{Failure, Kind};
pub use file::FileError;
pub use page::Style;
#[cfg(feature = "picture")]
pub use picture::{NoGraph, render_graph, to_dot, to_svg};
pub use terminal::{deadlock_sentence, render, render_log, render_numbered, render_why};
