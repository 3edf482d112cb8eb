//! What intercepted calls do when a virtual thread makes them.
//!
//! Each function here is one kind of event: the point at which threads may change, the effect, the record. They are called
//! by `raddle-intercept`, which knows the C symbols; callers have checked that a virtual thread runs
//! ([`crate::global::engine_of_virtual_thread`]).

mod along_graph;
mod atomics;
mod futexes;
mod memory;
mod std_calls;
mod threads;
mod time;

pub use atomics::*;
pub use futexes::*;
pub use memory::*;
pub use std_calls::*;
pub use threads::*;
pub use time::*;

use crate::engine::Engine;
use crate::event::{Pending, Rmw};
use crate::global::GLOBAL;
use crate::memory::Place;
use crate::thread::ThreadId;
use crate::trace::Action;

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

/// Records something that has no effect on the execution, if a trace is wanted.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn note(engine: *mut Engine, action: impl FnOnce() -> Action) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.record(action)) };
}

/// The current thread is about to begin an operation: others may go first, so that what they have done by then comes
/// before it in real time.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn operation_begins(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.point(Pending::NOTHING)) };
}

/// Writes down what the current thread has seen of the first threads: how far each of them had come in what happened before
/// now. False if nobody keeps count.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn seen_of_threads(engine: *mut Engine, seen: &mut [u32]) -> bool {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let me = engine.current_id();
            let Some(memory) = &engine.memory else { return false };
            let clock = &memory.sync.view(me).clock;
            seen.iter_mut().enumerate().for_each(|(thread, time)| *time = clock.get(thread as ThreadId));
            true
        })
    }
}
