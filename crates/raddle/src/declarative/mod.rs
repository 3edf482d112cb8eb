//! Declarative tests: from a list of the operations of an object to scenarios, executions, verdicts and the smallest failure.
//!
//! How a test runs: [`runner`] takes scenarios from [`persist`] (those that failed before), from the test itself, and from
//! [`generation`]. [`machine`] searches the executions of each on the engine, and [`stress`] makes some on real threads. Every
//! execution ([`execution`]) leaves a [`history`]. [`judge`] gives it to [`verify`], which encodes it ([`encode`]) for `raddle-check`
//! and compares it with the specification ([`spec`]). [`minimise`] makes a failing scenario small, and [`report`] describes it.
//!
//! Types are erased where a test is built ([`operation`], [`calls`], [`value`]): everything behind that is compiled once.
//!
//! **Invariant:** memory that a search writes and reads later is allocated while the engine judges an execution. Memory that was
//! allocated before the search is rolled back after each execution: it may be read, but not written.

mod calls;
mod coverage;
mod definition;
mod encode;
mod execution;
pub mod generate;
mod generation;
mod history;
mod judge;
mod machine;
mod minimise;
mod mistakes;
mod mode;
mod model;
mod operation;
mod perform;
mod persist;
mod real_time_orders;
mod reasons;
mod refinement;
mod report;
mod runner;
mod scenario;
mod spec;
mod stress;
pub(crate) mod subject;
mod test;
mod test_definition;
#[cfg(test)]
mod tests;
mod value;
mod verify;

pub use calls::Arguments;
pub use coverage::{Coverage, ScenarioCoverage};
pub use mode::Mode;
pub use operation::Operation;
#[cfg(fuzzing)]
pub use persist::fuzz_regressions;
pub use scenario::{Call, Earlier, Scenario, call};
pub use spec::Spec;
pub use test::Test;
pub use test_definition::TestDefinition;
