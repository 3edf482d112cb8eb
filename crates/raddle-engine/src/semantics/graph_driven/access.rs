//! Atomic accesses of an execution that follows a graph.

use super::refcounts::{count_apart, is_alone};
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

/// The word at which a thread parks: somebody has woken the thread, or will find it parked.
pub(super) const NOTIFIED: u32 = 1;
pub(super) const PARKED: u32 = u32::MAX;

/// An access to memory; returns what it reads.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if size_of::<T>() == size_of::<usize>() && engine.is_count(place.addr()) {
                // What the user marked may have other handles than those that are counted.
                let alone = !engine.is_marked_count(place.addr()) && is_alone(place.addr());
                let purpose = Purpose::Inspect { alone };
                if engine.counting(place.addr(), purpose) == Counting::Abstract {
                    return count_apart(engine, place, access, order, Site::RefCountDown);
                }
            }
            if size_of::<T>() == size_of::<u32>() && engine.is_shared_lock(place.addr()) {
                engine.locking(place.addr(), LockUse::Inspect);
            }
            access_and_check(engine, caller, place, access, order)
        })
    }
}

pub(super) unsafe fn access_and_check<T: Int>(
    engine: &mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    // Others call before this one goes round.
    engine.current().registers = GLOBAL.registers.get();
    let kind = if access.reads_only() { AccessKind::AtomicRead } else { AccessKind::AtomicWrite };
    engine.reach(place_of(place), kind);
    // SAFETY: the caller's.
    let read = unsafe { access_within(engine, caller.pc, place, access, order) };
    engine.accessed_along_graph(place_of(place), caller);
    read
}

/// [`access`] to memory that is there and that nothing races for.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access_within<T: Int>(
    engine: &mut Engine,
    pc: usize,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    let thread = engine.current_id();
    if size_of::<T>() > size_of::<u64>() {
        engine.stop(Outcome::Unsupported { thread });
    }
    // SAFETY: the caller's.
    unsafe {
        let location = || {
            let value = Some(place.read_volatile().widen() as u64);
            Some(Location { address: place.addr(), size: size_of::<T>() as u8, value })
        };
        let (read, write) = engine.take_step(access, order, location, NONE, pc);
        let held = place.read_volatile();
        if let Some(value) = write {
            place.write_volatile(T::narrow(value.into()));
        }
        let read = T::narrow(read.into());
        let newest = if matches!(access, Access::Store(_)) { place.read_volatile() } else { held };
        engine.record(|| action(place, access, order, read, newest));
        read
    }
}

/// What to record of an access that read `read`, when memory held `newest` (for a store: holds then).
pub(super) fn action<T: Int>(place: *const T, access: Access, order: Order, read: T, newest: T) -> Action {
    let (address, size) = (place.addr(), size_of::<T>() as u8);
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
        // A lock is taken when it is free, so nothing newer matters.
        _ => {
            Action::Cas { address, size, order, expected: value, new: written(), read: value, newest: value }
        }
    }
}

#[inline(always)]
pub(super) fn place_of<T>(location: *const T) -> MemoryLocation {
    MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 }
}
