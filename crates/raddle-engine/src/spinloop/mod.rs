//! Spinloops: loops in which a thread only waits for others.
//!
//! | module | what it is |
//! |---|---|
//! | [`watch`] | detection where executions are interleavings: a thread that repeats its reads |
//! | `detect` | detection where executions follow a graph: a thread that returns to the same state |
//! | `liveness` | equality of the live states of a thread, by an analysis of its machine code |
//!
//! The model checker's assumptions about spinloops are in `model_checker::spin_assumptions`.

pub(crate) mod detect;
pub(crate) mod liveness;
pub mod watch;
