//! Decides whether a concurrent history is correct: linearizability and its relatives, with reasons.
//!
//! A [`History`] is what was observed: operations with the times of their calls and returns. A [`Model`] says what the
//! object does when operations run one after another. [`check`] looks for an order of the operations that explains what
//! was observed, and if there is none, says why:
//!
//! ```
//! use raddle_check::model::register::{Register, RegisterOp};
//! use raddle_check::{History, check, explain};
//!
//! let mut history = History::new();
//! let write = history.invoke(0, RegisterOp::Write(1.into()));
//! history.respond(write, 1.into());
//! let read = history.invoke(1, RegisterOp::Read);
//! history.respond(read, 7.into());
//!
//! let model = Register::default();
//! let report = check(&history, &model);
//! assert!(report.is_violation());
//! let story = explain::Story::new("history", "linearizable", &report, &history, &model, &[]);
//! assert!(explain::text::render(&story, false).contains("7 is seen, but was never added"));
//! ```
//!
//! - [`Checker`]: one history, with all options: [`Contract`], [`Ties`], [`Limits`].
//! - [`Verifier`]: a great many small histories of one model.
//! - [`Stream`]: a history while it happens.
//! - [`model`]: the trait, and the built-in models. [`format`](mod@format): histories in files.
//! - [`explain`]: reports as text, JSON and a page.
//!
//! **Invariant:** this crate knows histories and models, not where they come from: no engine, no threads under test.
#![forbid(unsafe_code)]

mod check;
#[cfg(feature = "cli")]
pub mod cli;
mod contract;
mod engine;
pub mod explain;
#[cfg(feature = "formats")]
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
pub use contract::{Contract, Cost, Domain, Durability, Measure, PathCost, Relaxation};
pub use engine::limits::{Exhausted, Limits};
pub use history::{History, Operation, Outcome};
pub use model::Model;
pub use stream::Stream;
pub use timeline::Ties;
pub use value::Value;
pub use verdict::{Report, Verdict};
pub use verifier::Verifier;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
