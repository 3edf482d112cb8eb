//! Every execution of a test, by the definition: all graphs of events, reads-from and coherence that the axioms of a memory
//! model allow.
//!
//! - [`relation`]: sets of pairs of events, and the algebra that axioms are written in.
//! - [`graph`]: events, program order, reads-from, coherence.
//! - [`models`]: the axioms.
//! - [`threads`]: what a thread does next, given what its accesses returned.
//! - [`enumerate`]: all graphs.

pub mod enumerate;
pub mod graph;
pub mod models;
pub mod relation;
pub mod threads;

pub use enumerate::{Executions, Method, executions, executions_by};
pub use models::Model;
pub use threads::Abstract;
