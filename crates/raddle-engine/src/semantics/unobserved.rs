//! Accesses of trusted code that are no events: bookkeeping of `std::thread` and increments of reference counts. They take effect at
//! once, and their clocks are kept.

use super::{AtomicKind, AtomicOp, enter};
use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::isolate::heap;
use crate::location_table::MemoryLocation;
use crate::op::{Int, Order};
use crate::site::Site;
use crate::weak_memory::{Access, Trust};

/// Makes the access; returns the value that it reads.
///
/// # Safety
/// As for [`Semantics::atomic`](super::Semantics::atomic).
#[inline(always)]
pub(crate) unsafe fn access<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
    // SAFETY: the caller's.
    unsafe {
        reach(engine, op.location);
        let held = op.location.read_volatile();
        let written = op.written(held);
        if let Some(value) = written {
            op.location.write_volatile(value);
        }
        remember(engine, |engine| {
            let access = access_of(engine, op.site, op.location, op.order, held);
            match op.kind {
                AtomicKind::Load => _ = engine.remember_load(access),
                AtomicKind::Store(value) => _ = engine.remember_store(access, value.widen()),
                AtomicKind::Rmw(..) => {
                    engine.remember_rmw(access, written.unwrap_or(held).widen());
                }
                AtomicKind::Cas { expected, new, failure } => {
                    engine.remember_exchange(access, failure, [expected.widen(), new.widen()]);
                }
            }
        });
        held
    }
}

/// The current thread is about to make an access in trusted code: the memory must be there.
///
/// # Safety
/// As for [`access`].
#[inline(always)]
pub(crate) unsafe fn reach<T>(engine: *mut Engine, location: *const T) {
    if heap::is_freed(location.addr()) {
        let place = MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 };
        // SAFETY: the caller's.
        unsafe { enter(engine, |engine| _ = engine.reach(place, AccessKind::AtomicWrite)) };
    }
}

/// Keeps store histories and clocks, if anybody wants them.
///
/// # Safety
/// As for [`access`].
#[inline(always)]
pub(crate) unsafe fn remember(engine: *mut Engine, remember: impl FnOnce(&mut Engine)) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).remembers() {
            enter(engine, remember);
        }
    }
}

/// An access of the current thread, for its location's store history.
#[inline(always)]
pub(crate) fn access_of<T: Int>(
    engine: &Engine,
    site: Site,
    location: *const T,
    order: Order,
    held: T,
) -> Access {
    Access {
        thread: engine.current_id(),
        place: MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 },
        order,
        held: held.widen(),
        trust: match site {
            Site::Unknown | Site::Plumbing | Site::User | Site::Merged | Site::MarkedCount => Trust::Nothing,
            // The first access to a lock is made by code that is instrumented: what comes later and is not seen changes it.
            Site::RefCountUp | Site::RefCountDown | Site::WeakCountDown => Trust::Right,
            Site::ExpandedRmw | Site::MutexLock | Site::Std | Site::IsFinished => Trust::Right,
            Site::RwLockWait | Site::RwLockTry => Trust::Right,
            Site::ThreadBookkeeping | Site::ScopeEnd => Trust::Bookkeeping,
        },
    }
}
