//! The options of Raddle: one table for the command line, the environment, the code and the documentation.
//!
//! | file | idea |
//! |---|---|
//! | `table` | the table, and the values that it stands for |
//! | `entry` | one line of it: names, help, default, how text becomes a value |
//! | `manifest` | settings in a `Cargo.toml` |
//! | `choices`, `strategy`, `suppression` | types of values |
//! | `parse` | numbers, durations, switches and paths as text |
//! | [`schedule`] | schedules as text |
//!
//! `cargo raddle` makes its flags and its help of the table and checks values by it before anything is built; the `raddle`
//! crate reads variables by it; tests in both compare their documentation with it. An option is therefore a line of
//! `table.rs`, a method of `raddle::Explorer`, and the place that reads its value.
//!
//! **Invariant:** this crate has no dependencies and knows neither the engine nor the command. What it says about a wrong value is
//! the end of a sentence, "... cannot be `x`; write ...".
#![forbid(unsafe_code)]

mod choices;
mod entry;
mod manifest;
mod parse;
pub mod schedule;
mod strategy;
mod suppression;
mod table;

pub use choices::{Allocation, Also, Backend, Explored, Isolation, Memory};
pub use entry::{Entry, environment, find};
pub use manifest::setting;
pub use parse::{columns, list, paths, switch};
pub use strategy::Strategy;
pub use suppression::Suppression;
pub use table::{OTHERS, SEARCH, Values, all};
