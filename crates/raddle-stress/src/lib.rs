//! A stress harness: small concurrent programs on real threads, millions of times a second.
//!
//! A program is a state and some actors, mostly two to eight. Each actor is called once on each instance of the state, by a thread of its own; what
//! the actors return, and how often, is the result:
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use std::time::Duration;
//! use raddle_stress::Stress;
//!
//! let outcomes = Stress::new(|| (AtomicU32::new(0), AtomicU32::new(0)))
//!     .actor(|(x, y)| { x.store(1, Relaxed); y.load(Relaxed) })
//!     .actor(|(x, y)| { y.store(1, Relaxed); x.load(Relaxed) })
//!     .time(Duration::from_millis(50))
//!     .run();
//! assert!(outcomes.executions > 0);
//! assert!(outcomes.counts.iter().all(|(results, _)| results.len() == 2));
//! ```
//!
//! [`Stress`] is the builder, [`Outcomes`] the result. The design is that of jcstress: [`session`] has the loop, [`rendezvous`] keeps
//! the threads together, [`placement`] decides on which processors they run, [`histogram`] counts, [`delay`] varies the timing.
//!
//! [`Grading`] says which outcomes are right, [`Report`] puts them beside what memory models allow, and [`report`] shows it as a table, JSON,
//! JUnit XML or a page. [`Termination`] tests whether an actor that waits sees a signal.
//!
//! **Invariant:** the crate knows no scheduler and no memory model. What models allow is told by others.

mod actor;
mod arena;
pub mod delay;
mod grade;
mod histogram;
mod outcomes;
pub mod placement;
mod quiet;
mod rendezvous;
pub mod report;
mod rng;
mod session;
mod stress;
#[cfg_attr(any(not(target_os = "linux"), raddle_unsupported_platform), path = "system_elsewhere.rs")]
mod system;
mod termination;

pub use delay::pause_point;
pub use grade::{Expect, Grading, Rule};
pub use outcomes::{Outcomes, label};
pub use placement::Placement;
pub use quiet::{install_quiet_hook, panic_message, quietly};
pub use rendezvous::Spin;
pub use report::{Report, Verdict};
pub use stress::Stress;
pub use termination::{Ending, Termination};
