//! What intercepted calls do when a virtual thread makes them.
//!
//! Each function here is one kind of event: the point at which threads may change, the effect, the record. They are called
//! by `raddle-intercept`, which knows the C symbols; callers have checked that a virtual thread runs
//! ([`crate::execution::engine_of_virtual_thread`]).

mod along_graph;
mod atomics;
mod environment;
mod expanded;
mod futexes;
mod memory;
mod operations;
mod rwlocks;
pub mod signals;
mod spurious;
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

use crate::execution::Engine;
use crate::location_table::MemoryLocation;
use crate::platform::global::GLOBAL;

/// Runs the engine's part of an event: what it allocates is the engine's.
///
/// # Safety
/// As for the functions that use it.
#[inline(always)]
unsafe fn enter<T>(engine: *mut Engine, work: impl FnOnce(&mut Engine) -> T) -> T {
    GLOBAL.in_engine.set(true);
    GLOBAL.last_announced.set(0);
    // SAFETY: the caller's; the reference ends with the call.
    let result = work(unsafe { &mut *engine });
    GLOBAL.in_engine.set(false);
    result
}

#[inline(always)]
fn at<T>(place: *const T) -> MemoryLocation {
    MemoryLocation { address: place.addr(), size: size_of::<T>() as u8 }
}
