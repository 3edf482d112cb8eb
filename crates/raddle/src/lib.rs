//! Finds concurrency bugs in unmodified Rust code and shows exactly how they happen.
//!
//! List the operations of a concurrent object, and let Raddle make up what threads call, and under which schedules, until the
//! results cannot be explained by any sequence of calls:
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//!
//! #[derive(Default)]
//! struct CounterTest(AtomicUsize);
//!
//! #[raddle::test]
//! impl CounterTest {
//!     #[operation]
//!     fn inc(&self) -> usize {
//!         self.0.fetch_add(1, SeqCst) + 1
//!     }
//!
//!     #[operation]
//!     fn get(&self) -> usize {
//!         self.0.load(SeqCst)
//!     }
//! }
//! ```
//!
//! [`#[raddle::test]`](macro@test) has all that can be said there; [`Test`] does the same without attributes.
//!
//! Or write a closure that uses threads, locks, channels, atomics, or any crate that does, and let Raddle run it under one
//! schedule after another:
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use std::sync::Arc;
//!
//! raddle::explore(|| {
//!     let x = Arc::new(AtomicU32::new(0));
//!     let other = std::thread::spawn({
//!         let x = x.clone();
//!         move || x.fetch_add(1, SeqCst)
//!     });
//!     x.fetch_add(1, SeqCst);
//!     other.join().unwrap();
//!     assert_eq!(x.load(SeqCst), 2);
//! });
//! ```
//!
//! Run such tests with `cargo raddle test`, which builds the program and all its dependencies so that Raddle sees every
//! atomic access. Under plain `cargo test` it sees only what goes through the C library (threads, blocking, sleeping), and
//! says so; where `CI` is set, such tests fail, because nobody would read that line
//! ([`Explorer::explored`]).
//!
//! Options are methods of [`Explorer`]; `RADDLE_*` variables override them ([`options`] has the table).
//!
//! ```
//! use raddle::{Explorer, Strategy};
//!
//! let report = Explorer::new().strategy(Strategy::Bounded(2)).executions(1000).run(|| {
//!     std::thread::spawn(|| 1).join().unwrap()
//! });
//! assert_eq!(report.outcomes.keys().collect::<Vec<_>>(), [&1]);
//! ```

#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    allow(dead_code, unused_imports, reason = "what explores is missing")
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod alternatives;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod build;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod canary;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod closure;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "declarative/unsupported.rs"
)]
mod declarative;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "unsupported/expected.rs"
)]
mod expected;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod explain;
mod explored;
mod explorer;
mod inspect;
pub mod monitor;
mod operation;
pub mod options;
mod output;
pub mod refine;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "unsupported/replay.rs"
)]
mod replay;
mod report;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "search/unsupported.rs"
)]
mod search;
pub mod stress;
mod suppress;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
mod suppressions;
mod symmetry;
pub mod teach;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))),
    path = "unsupported/try_run.rs"
)]
mod try_run;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
use raddle_engine as engine;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))))]
#[path = "unsupported/engine.rs"]
mod engine;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))))]
mod unsupported;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform)))]
#[doc(hidden)]
pub use canary::look_for_canary;
/// The paths of macros: `::core` names no crate in edition 2015, `::std` none where `no_std` is set.
#[doc(hidden)]
pub use core as __core;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use declarative::fuzz_regressions;
pub use declarative::generate::{self, Arbitrary, ThreadId};
pub use declarative::{
    Arguments, Call, Coverage, Earlier, Mode, Operation, Scenario, ScenarioCoverage, Spec, Test,
    TestDefinition, call,
};
#[doc(hidden)]
pub use expected::Expected;
pub use explorer::{Explorer, explore};
#[doc(hidden)]
pub use inspect::{ByDebug, ByFields, ByInspect, Showable};
pub use inspect::{Inspect, inspect};
pub use operation::operation;
pub use options::{Allocation, Also, Backend, Explored, Isolation, Memory, Strategy};
pub use raddle_check::{Contract, Relaxation};
pub use raddle_macros::{Arbitrary, litmus, test};
#[doc(inline)]
pub use raddle_monitor::step;
pub use raddle_report::{Failure, Kind};
pub use report::Report;
pub use search::reach::Reach;
pub use search::summary::SearchSummary;
pub use suppress::Suppressed;
pub use symmetry::symmetric;
