//! Other forms of a failure, for other programs: code scanners, CI services, trace viewers, issues.
//!
//! Behind the feature `export`, which the command enables: tests do not link this module.
//!
//! - [`sarif`](fn@sarif): SARIF 2.1.0, one thread flow for each thread.
//! - [`github`]: annotations and the step summary of GitHub Actions.
//! - [`junit`]: results of a test run as JUnit XML.
//! - [`mermaid`](fn@mermaid), [`sequence`](fn@sequence): sequence diagrams to paste into an issue.
//! - [`perfetto`](fn@perfetto): the trace format of Chrome and Perfetto.
//! - [`state`]: the objects at an event as a graph, in the language of Graphviz and as SVG.
//!
//! **Invariant:** every text that comes from the program under test is escaped for its format. Files are not written here.

pub mod github;
pub mod junit;
mod messages;
mod perfetto;
mod sarif;
mod scene;
pub mod state;
mod text;

pub use messages::{mermaid, sequence};
pub use perfetto::perfetto;
pub use sarif::sarif;
