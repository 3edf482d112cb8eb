//! The interface for `raddle-intercept`: one function for each intercepted operation of a virtual thread.
//!
//! `raddle-intercept` knows the C symbols, and has checked that a virtual thread runs
//! ([`crate::execution::engine_of_virtual_thread`]).
//!
//! **Invariant:** functions here build the record of the operation and pass it to the [semantics](crate::semantics).
//! They decide nothing.

mod atomics;
mod environment;
mod futexes;
mod memory;
mod operations;
pub mod signals;
mod std_calls;
mod threads;
mod time;
mod time_stamp;

pub use atomics::*;
pub use environment::*;
pub use futexes::*;
pub use memory::*;
pub use operations::*;
pub use std_calls::*;
pub use threads::*;
pub use time::*;
