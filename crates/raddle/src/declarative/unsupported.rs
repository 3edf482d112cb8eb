//! Declarative tests where nothing can be explored: what the author of a test writes, without what runs it.

mod calls;
mod coverage;
mod definition;
pub mod generate;
mod mode;
mod operation;
mod scenario;
mod spec;
pub(crate) mod subject;
mod test;
mod test_definition;
mod value;

pub use calls::Arguments;
pub use coverage::{Coverage, ScenarioCoverage};
pub use mode::Mode;
pub use operation::Operation;
pub use scenario::{Call, Earlier, Scenario, call};
pub use spec::Spec;
pub use test::Test;
pub use test_definition::TestDefinition;
