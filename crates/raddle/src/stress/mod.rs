//! Small concurrent programs on real threads, millions of times a second, and beside them what memory models allow.
//!
//! [`Stress`] runs a program and counts its outcomes. A [`Litmus`] test grades them, and explores the same program exhaustively under
//! sequential consistency and under RC11, where it was built with instrumentation; [`#[raddle::litmus]`](macro@crate::litmus) is
//! the attribute for it. [`Waiting`] is a litmus test of whether an actor that waits sees a signal.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use std::time::Duration;
//! use raddle::stress::{Expect, Litmus};
//!
//! Litmus::new("store_buffering", || (AtomicU32::new(0), AtomicU32::new(0)))
//!     .actor(|(x, y)| { x.store(1, SeqCst); y.load(SeqCst) })
//!     .actor(|(x, y)| { y.store(1, SeqCst); x.load(SeqCst) })
//!     .outcome("0, 0", Expect::Forbidden, "no interleaving has it")
//!     .outcome("*", Expect::Acceptable, "an interleaving")
//!     .time(Duration::from_millis(50))
//!     .run();
//! ```

mod columns;
mod litmus;
mod waiting;

pub use litmus::Litmus;
#[doc(inline)]
pub use raddle_stress::{
    Ending, Expect, Grading, Outcomes, Placement, Report, Rule, Spin, Stress, Termination, Verdict, label,
    pause_point, report,
};
pub use waiting::Waiting;
