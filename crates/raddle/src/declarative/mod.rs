//! Declarative tests: the operations of an object are listed, and scenarios, executions, verdicts and the smallest failure
//! follow.
//!
//! How a test runs: [`runner`] takes scenarios from [`persist`] (those that failed before), from the test itself, and from
//! [`generation`]; [`machine`] searches the executions of each on the engine; every execution ([`execution`]) leaves a
//! [`history`], which [`verify`] compares with the specification ([`spec`]) through `raddle-check`; [`minimise`] makes what
//! fails small.
//!
//! Types are erased where a test is built ([`operation`], [`calls`], [`value`]): everything behind that is compiled once.
//!
//! **Memory:** whatever a search must remember is allocated while the engine judges an execution. What was allocated before
//! the search is rolled back after each execution, so it may be read, but neither changed nor counted.

mod calls;
mod coverage;
mod declared;
mod execution;
pub mod generate;
mod generation;
mod history;
mod machine;
mod minimise;
mod mistakes;
mod model;
mod operation;
mod perform;
mod persist;
mod quiet;
mod runner;
mod scenario;
mod spec;
mod stress;
mod subject;
mod test;
#[cfg(test)]
mod tests;
mod value;
mod verify;

pub use calls::Arguments;
pub use coverage::{Coverage, Covered};
pub use declared::Declared;
pub use operation::Operation;
pub use scenario::{Call, Earlier, Scenario, call};
pub use spec::Spec;
pub use test::{Mode, Test};
