//! Observational refinement: do calls that run at once return only what a consistency level allows?
//!
//! A [`Schema`] says which threads call what. Its [expected outcomes](outcomes) are computed once, from sequential runs of the object; a
//! back end then runs it concurrently, and every outcome that was not expected is a violation. This is what Violat does for
//! Java (Emmi and Enea, CAV 2019).
//!
//! **Invariant:** this crate knows neither the engine nor cargo.
#![forbid(unsafe_code)]

pub mod backend;
pub mod blame;
pub mod driver;
pub mod enumerate;
pub mod level;
pub mod literal;
#[cfg(feature = "native")]
pub mod native;
pub mod outcomes;
#[cfg(feature = "spec")]
pub mod program;
pub mod schema;
mod shown;
#[cfg(feature = "spec")]
pub mod spec;
mod subject;
pub mod table;
pub mod verdict;

pub use backend::{BackEnd, Observed};
pub use level::Level;
pub use literal::Literal;
pub use schema::{Invocation, Schema};
pub use shown::Shown;
#[cfg(feature = "spec")]
pub use spec::Spec;
pub use subject::{MethodPromise, Numbered, Subject, Visit};
pub use verdict::{Verdict, validate};
