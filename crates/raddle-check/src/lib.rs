//! Decides whether a concurrent history is correct.
#![forbid(unsafe_code)]

mod check;
#[cfg(feature = "cli")]
pub mod cli;
mod contract;
mod engine;
pub mod explain;
pub mod format;
pub mod history;
pub mod model;
pub mod monitor;
mod partition;
pub mod stream;
mod timeline;
mod value;
pub mod verdict;
mod verifier;

pub use check::{Checker, check};
pub use contract::{Contract, Durability};
pub use engine::limits::{Exhausted, Limits};
pub use history::{History, Operation, Outcome};
pub use model::Model;
pub use stream::Stream;
pub use timeline::Ties;
pub use value::Value;
pub use verdict::{Report, Verdict};
pub use verifier::Verifier;
