//! What intercepted calls do when a virtual thread makes them.
//!
//! Each function here is one kind of event: the point at which threads may change, the effect, the record. They are called
//! by `raddle-intercept`, which knows the C symbols; callers have checked that a virtual thread runs
//! ([`crate::global::engine_of_virtual_thread`]).

mod along_graph;
mod atomics;
mod environment;
mod expanded;
mod futexes;
mod memory;
mod operations;
mod rwlocks;
mod spurious;
mod std_calls;
mod threads;
mod time;

pub(crate) use along_graph::code_ended;
pub use atomics::*;
pub use environment::*;
pub(crate) use expanded::Expansion;
pub use futexes::*;
pub use memory::*;
pub use operations::*;
pub(crate) use rwlocks::Hold;
pub use std_calls::*;
pub use threads::*;
pub use time::*;

use crate::engine::Engine;
use crate::event::Rmw;
use crate::global::GLOBAL;
use crate::memory::Place;

/// Where in the program an atomic access comes from.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Where the call returns to.
    pub pc: usize,
    /// The frame pointer of the calling function.
    pub fp: usize,
}

/// An integer that instrumented code accesses atomically.
pub trait Int: Copy + Eq {
    /// Its value, widened.
    fn widen(self) -> u128;
    /// The value that was widened.
    fn narrow(wide: u128) -> Self;
    /// The result of a read-modify-write.
    fn apply(self, op: Rmw, operand: Self) -> Self;
}

macro_rules! int {
    ($($type:ty),*) => {$(
        impl Int for $type {
            #[inline(always)]
            fn widen(self) -> u128 {
                self as u128
            }

            #[inline(always)]
            fn narrow(wide: u128) -> $type {
                wide as $type
            }

            #[inline(always)]
            fn apply(self, op: Rmw, operand: $type) -> $type {
                match op {
                    Rmw::Swap => operand,
                    Rmw::Add => self.wrapping_add(operand),
                    Rmw::Sub => self.wrapping_sub(operand),
                    Rmw::And => self & operand,
                    Rmw::Or => self | operand,
                    Rmw::Xor => self ^ operand,
                    Rmw::Nand => !(self & operand),
                    Rmw::Min => self.min(operand),
                    Rmw::Max => self.max(operand),
                    Rmw::SignedMin => self.cast_signed().min(operand.cast_signed()).cast_unsigned(),
                    Rmw::SignedMax => self.cast_signed().max(operand.cast_signed()).cast_unsigned(),
                }
            }
        }
    )*};
}
int!(u8, u16, u32, u64, u128);

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
fn at<T>(place: *const T) -> Place {
    Place { address: place.addr(), size: size_of::<T>() as u8 }
}
