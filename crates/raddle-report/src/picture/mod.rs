//! Drawings of the execution graph: threads are columns, events are boxes, relations are arrows.
//!
//! - `model`: the contents of a drawing.
//! - `text`, `dot`, `svg`: the three renderers of that model.

mod dot;
mod model;
mod svg;
mod text;

use std::fmt;

use crate::failure::Failure;

use model::Picture;

pub use text::render_graph;

/// The execution graph of a failure in the language of Graphviz.
///
/// # Errors
/// If the failure has no execution graph.
pub fn to_dot(failure: &Failure) -> Result<String, NoGraph> {
    Picture::of(failure).map(|picture| dot::dot(&picture))
}

/// The execution graph of a failure as an SVG image.
///
/// # Errors
/// If the failure has no execution graph.
pub fn to_svg(failure: &Failure) -> Result<String, NoGraph> {
    Picture::of(failure).map(|picture| svg::svg(&picture))
}

/// The reason why a failure has no execution graph. The message is one sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoGraph {
    /// The failure was found on real threads, where nothing is recorded.
    NoTrace,
    /// The file does not record reads-from and modification order.
    NotRecorded,
}

impl fmt::Display for NoGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoGraph::NoTrace => {
                "the failure was found on real threads, where no execution is recorded: run `cargo raddle test` to search \
                 for one"
            }
            NoGraph::NotRecorded => {
                "the file has no execution graph, because it does not say which write each read saw: run the test again \
                 with this version and with `--memory rc11`"
            }
        })
    }
}

impl std::error::Error for NoGraph {}
