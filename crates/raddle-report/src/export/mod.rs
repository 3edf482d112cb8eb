//! Other forms of a failure, for other programs: code scanners, CI services, trace viewers, issues.
//!
//! Behind the features `ci` (the results for CI services) and `export` (all), which the command enables: tests do not link this module.
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
#[cfg(feature = "export")]
mod messages;
#[cfg(feature = "export")]
mod perfetto;
#[cfg(feature = "export")]
mod sarif;
mod scene;
#[cfg(feature = "export")]
pub mod state;
mod text;

#[cfg(feature = "export")]
pub use messages::{mermaid, sequence};
#[cfg(feature = "export")]
pub use perfetto::perfetto;
#[cfg(feature = "export")]
pub use sarif::sarif;
