//! Atomic accesses of graph-driven executions.

use super::refcounts::{count_abstractly, is_sole_reference};
use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::graph::event::{Access, NONE};
use crate::location_table::MemoryLocation;
use crate::model_checker::{Counting, Location, LockUse, Purpose};
use crate::op::{Caller, Int, Order, Rmw};
use crate::outcome::Outcome;
use crate::platform::global::GLOBAL;
use crate::semantics::enter;
use crate::site::Site;
use crate::trace::Action;

/// Values of the futex at which a thread parks: a wake-up is pending, or the thread is parked.
pub(super) const NOTIFIED: u32 = 1;
pub(super) const PARKED: u32 = u32::MAX;

/// An access to memory; returns the value that it reads.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    access: Access,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if size_of::<T>() == size_of::<usize>() && engine.is_count(location.addr()) {
                // A count that the user marked may not count all references.
                let alone = !engine.is_marked_count(location.addr()) && is_sole_reference(location.addr());
                let purpose = Purpose::Inspect { alone };
                if engine.counting(location.addr(), purpose) == Counting::Abstract {
                    return count_abstractly(engine, location, access, order, Site::RefCountDown);
                }
            }
            if size_of::<T>() == size_of::<u32>() && engine.is_shared_lock(location.addr()) {
                engine.locking(location.addr(), LockUse::Inspect);
            }
            access_and_check(engine, caller, location, access, order)
        })
    }
}

pub(super) unsafe fn access_and_check<T: Int>(
    engine: &mut Engine,
    caller: Caller,
    location: *mut T,
    access: Access,
    order: Order,
) -> T {
    // The registers are overwritten by the callbacks of other threads.
    engine.current().registers = GLOBAL.registers.get();
    let kind = if access.reads_only() { AccessKind::AtomicRead } else { AccessKind::AtomicWrite };
    engine.reach(location_of(location), kind);
    // SAFETY: the caller's.
    let read = unsafe { access_within(engine, caller.pc, location, access, order) };
    engine.accessed_along_graph(location_of(location), caller);
    read
}

/// [`access`] without the checks for freed memory and races.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access_within<T: Int>(
    engine: &mut Engine,
    pc: usize,
    location: *mut T,
    access: Access,
    order: Order,
) -> T {
    let thread = engine.current_id();
    if size_of::<T>() > size_of::<u64>() {
        engine.stop(Outcome::Unsupported { thread });
    }
    // SAFETY: the caller's.
    unsafe {
        let at = || {
            let value = Some(location.read_volatile().widen() as u64);
            Some(Location { address: location.addr(), size: size_of::<T>() as u8, value })
        };
        let (read, write) = engine.take_step(access, order, at, NONE, pc);
        let held = location.read_volatile();
        let read = T::narrow(read.into());
        let value = write.map(|value| T::narrow(value.into()));
        let newest = if matches!(access, Access::Store(_)) { value.unwrap_or(held) } else { held };
        if let Some(value) = value {
            engine.tell_debugger_before(|| action(location, access, order, read, newest));
            location.write_volatile(value);
        }
        engine.record(|| action(location, access, order, read, newest));
        read
    }
}

/// The action to record. The access read `read` when memory held `newest`; for a store, memory holds `newest` after it.
pub(super) fn action<T: Int>(location: *const T, access: Access, order: Order, read: T, newest: T) -> Action {
    let (address, size) = (location.addr(), size_of::<T>() as u8);
    let (value, newest) = (read.widen(), newest.widen());
    let written = || access.writes(value as u64, size).map_or(0, u128::from);
    match access {
        Access::Load | Access::AwaitGreater(_) | Access::AwaitNotEqual(_) => {
            Action::Load { address, size, order, value, newest }
        }
        Access::Store(value) => Action::Store { address, size, order, value: value.into(), newest },
        Access::Rmw(op, _) => Action::Rmw { address, size, order, op, read: value, written: written() },
        Access::RwLockUnlock(_) => {
            Action::Rmw { address, size, order, op: Rmw::Sub, read: value, written: written() }
        }
        Access::Cas { expected, new, .. } => {
            let (expected, new) = (expected.into(), new.into());
            Action::Cas { address, size, order, expected, new, read: value, newest }
        }
        // A lock is taken when it is free, so it reads the newest value.
        _ => {
            Action::Cas { address, size, order, expected: value, new: written(), read: value, newest: value }
        }
    }
}

#[inline(always)]
pub(super) fn location_of<T>(location: *const T) -> MemoryLocation {
    MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 }
}
